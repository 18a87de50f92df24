//! How much a caller may still ask, per kind of request.

use crate::model::{Quota, State};

/// GitHub counts by the hour.
const WINDOW: i64 = 3_600;

fn limit(resource: &str) -> u64 {
    if resource == "search" { 30 } else { 5_000 }
}

impl State {
    /// The quota of `core`, `graphql` or `search` as it stands now.
    pub(crate) fn quota(&self, resource: &str) -> Quota {
        let now = self.now().as_second();
        self.quotas.get(resource).copied().filter(|quota| quota.reset > now).unwrap_or(Quota {
            limit: limit(resource),
            used: 0,
            reset: now + WINDOW,
        })
    }

    /// Counts one request, or says that none is left.
    pub(crate) fn spend(&mut self, resource: &'static str) -> bool {
        let mut quota = self.quota(resource);
        let left = quota.remaining() > 0;
        quota.used += u64::from(left);
        self.quotas.insert(resource, quota);
        left
    }

    pub(crate) fn refund(&mut self, resource: &'static str) {
        if let Some(quota) = self.quotas.get_mut(resource) {
            quota.used = quota.used.saturating_sub(1);
        }
    }

    pub(crate) fn set_remaining(&mut self, resource: &'static str, remaining: u64) {
        let mut quota = self.quota(resource);
        quota.used = quota.limit.saturating_sub(remaining);
        self.quotas.insert(resource, quota);
    }
}
