//! Damage of every kind to a log, through the store.
