//! How things ended, and what they used: the words of the public API.

use serde::{Deserialize, Serialize};

/// The lifecycle events that hooks can be registered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookName {
    #[serde(rename = "run:start")]
    RunStart,
    #[serde(rename = "run:end")]
    RunEnd,
    #[serde(rename = "tool:start")]
    ToolStart,
    #[serde(rename = "tool:end")]
    ToolEnd,
    #[serde(rename = "compact:start")]
    CompactStart,
    #[serde(rename = "compact:end")]
    CompactEnd,
}

impl HookName {
    pub const ALL: [HookName; 6] = [
        HookName::RunStart,
        HookName::RunEnd,
        HookName::ToolStart,
        HookName::ToolEnd,
        HookName::CompactStart,
        HookName::CompactEnd,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            HookName::RunStart => "run:start",
            HookName::RunEnd => "run:end",
            HookName::ToolStart => "tool:start",
            HookName::ToolEnd => "tool:end",
            HookName::CompactStart => "compact:start",
            HookName::CompactEnd => "compact:end",
        }
    }

    pub fn parse(name: &str) -> Option<HookName> {
        HookName::ALL.into_iter().find(|event| event.as_str() == name)
    }
}

/// How what a hook watched ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookStatus {
    Completed,
    Failed,
    Cancelled,
    MaxTurns,
}

/// What permission says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    Deny,
    Ask,
}

/// Why one turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Stop,
    ToolUse,
    MaxTokens,
}

/// Why a whole run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStopReason {
    Stop,
    Aborted,
    MaxTurns,
}

/// Tokens. Numbers of JS: counts of a provider may be fractions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    #[serde(serialize_with = "whole")]
    pub input_tokens: f64,
    #[serde(serialize_with = "whole")]
    pub output_tokens: f64,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "maybe_whole")]
    pub cache_read_tokens: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "maybe_whole")]
    pub cache_creation_tokens: Option<f64>,
}

impl Usage {
    pub fn add(&mut self, other: Usage) {
        fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
            match (a, b) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
            }
        }
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_tokens = sum(self.cache_read_tokens, other.cache_read_tokens);
        self.cache_creation_tokens = sum(self.cache_creation_tokens, other.cache_creation_tokens);
    }

    /// Input and output together.
    pub fn total(&self) -> f64 {
        self.input_tokens + self.output_tokens
    }
}

/// `12`, not `12.0`: what JS would write.
fn whole<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

fn maybe_whole<S: serde::Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => whole(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Which stage of a compaction, as hooks and events name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionKind {
    /// Old tool results become references.
    Micro,
    /// Old turns are summarised.
    Auto,
    /// The host asked for it.
    Manual,
}
