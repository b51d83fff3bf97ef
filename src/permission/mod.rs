//! permission
