//! Permission: for now, the redaction of what may be shown of a call. Policies and the gate come with permissions.

pub mod redact;
