//! N-API bridge
