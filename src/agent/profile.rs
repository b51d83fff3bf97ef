//! What an agent of the family is: the root, or a kind of child. Its runs share it.

use std::cell::Cell;
use std::sync::Arc;

use crate::permission::Policy;
use crate::tools::ToolSet;
use crate::types::Usage;

/// One agent, or one kind of child.
pub(super) struct Profile {
    /// The name that model events carry.
    pub model_name: String,
    pub tools: ToolSet,
    /// Absent where the host is asked for each decision.
    pub policy: Option<Arc<Policy>>,
}

/// The tokens that a run may use, together with the children that it starts and the runs that follow from those.
#[derive(Default)]
pub(super) struct Budget {
    limit: Option<f64>,
    used: Cell<f64>,
}

impl Budget {
    pub fn new(limit: Option<f64>) -> Budget {
        Budget { limit, used: Cell::new(0.0) }
    }

    pub fn spend(&self, usage: Usage) {
        self.used.set(self.used.get() + usage.total());
    }

    /// How many tokens were used and may be, once it is more.
    pub fn exceeded(&self) -> Option<(f64, f64)> {
        let limit = self.limit?;
        let used = self.used.get();
        (used > limit).then_some((used, limit))
    }
}
