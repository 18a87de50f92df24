//! Whether a unit's workspace is in somebody's hands, so that no round is given to an agent in it (ROUND-26). What git and the
//! sessions say comes in as values.

use jiff::{SignedDuration, Timestamp};

/// How long after the person typed into a session on its workspace a unit stays busy.
pub const TYPED: SignedDuration = SignedDuration::from_mins(15);

/// What git left unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// A merge.
    Merge,
    /// A rebase.
    Rebase,
    /// Another program writes the index, or died while it did.
    IndexLock,
}

/// How an author workspace's branch stands to the commit that a round is pinned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Branch {
    /// It is there.
    #[default]
    AtHead,
    /// It is behind and can be moved forward.
    Behind,
    /// It has something of its own.
    Apart,
}

/// A workspace as a round finds it; the default is one that nobody works in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workplace {
    /// Whether it holds the author's work; else it is a review's.
    pub author: bool,
    /// When the person last typed into a driven session on it.
    pub typed_at: Option<Timestamp>,
    /// What git left unfinished in it.
    pub unfinished: Option<Unfinished>,
    /// How many files are modified.
    pub modified: u64,
    /// Where its branch is.
    pub branch: Branch,
}

impl Workplace {
    /// Why the unit is busy, in words; `None` when it is not.
    #[must_use]
    pub fn busy(&self, now: Timestamp) -> Option<String> {
        if self.typed_at.is_some_and(|at| now.duration_since(at) < TYPED) {
            return Some("you work in its workspace: a session on it was typed into a moment ago".to_owned());
        }
        match self.unfinished {
            Some(Unfinished::Merge) => return Some("its workspace has an unfinished merge".to_owned()),
            Some(Unfinished::Rebase) => return Some("its workspace has an unfinished rebase".to_owned()),
            Some(Unfinished::IndexLock) => return Some("git is at work in its workspace: `index.lock` is there".to_owned()),
            None => {}
        }
        // In a review's workspace nothing is of the person, and what an agent left there is no reason to wait.
        if !self.author {
            return None;
        }
        match (self.modified, self.branch) {
            (1, _) => Some("its workspace has 1 modified file".to_owned()),
            (2.., _) => Some(format!("its workspace has {} modified files", self.modified)),
            (0, Branch::Apart) => Some("its workspace's branch has commits that the pull request lacks".to_owned()),
            (0, Branch::AtHead | Branch::Behind) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_in_somebodys_hands_is_busy() {
        // ROUND-26
        let now: Timestamp = "2026-11-30T10:00:00Z".parse().unwrap();
        let author = Workplace { author: true, ..Workplace::default() };
        let review = Workplace::default();
        for idle in [&author, &review] {
            assert_eq!(idle.busy(now), None);
            let typed = |minutes| Workplace { typed_at: Some(now - SignedDuration::from_mins(minutes)), ..(*idle).clone() };
            assert!(typed(14).busy(now).is_some() && typed(15).busy(now).is_none());
            for unfinished in [Unfinished::Merge, Unfinished::Rebase, Unfinished::IndexLock] {
                assert!(Workplace { unfinished: Some(unfinished), ..(*idle).clone() }.busy(now).is_some(), "{unfinished:?}");
            }
        }
        assert_eq!(Workplace { modified: 1, ..author }.busy(now).unwrap(), "its workspace has 1 modified file");
        assert_eq!(Workplace { modified: 3, ..author }.busy(now).unwrap(), "its workspace has 3 modified files");
        assert!(Workplace { branch: Branch::Apart, ..author }.busy(now).is_some());
        assert_eq!(Workplace { branch: Branch::Behind, ..author }.busy(now), None, "it can be moved forward");
        assert_eq!(
            Workplace { modified: 3, branch: Branch::Apart, ..review }.busy(now),
            None,
            "a review changes nothing of yours"
        );
    }
}
