//! The kinds of the record (spec 7.1). A code path that records another does not compile (EVT-05).

use crate::words::words;

/// What an event is to the person (EVT-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventClass {
    /// Something left in the person's name.
    Posted,
    /// A decision.
    Decided,
    /// A change by hand or rule.
    Done,
    /// The outside moved.
    Moved,
    /// Upkeep.
    Inner,
}

words!(EventClass { Posted = "posted", Decided = "decided", Done = "done", Moved = "moved", Inner = "inner" });

macro_rules! kinds {
    ($($variant:ident = $word:literal $class:ident, $doc:literal;)*) => {
        /// The kind of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum EventKind {
            $(#[doc = $doc] $variant),*
        }

        words!(EventKind { $($variant = $word),* });

        impl EventKind {
            /// Its class (EVT-04).
            #[must_use]
            pub fn class(self) -> EventClass {
                match self {
                    $(Self::$variant => EventClass::$class),*
                }
            }
        }
    };
}

kinds! {
    TaskCreated = "task_created" Done, "A task was made.";
    TaskEnded = "task_ended" Done, "A task ended.";
    PrGone = "pr_gone" Moved, "A pull request cannot be seen any more.";
    PostSending = "post_sending" Inner, "An attempt was committed.";
    PostSent = "post_sent" Posted, "A post reached the provider.";
    PostFailed = "post_failed" Done, "A post was not made.";
    PostDoubtful = "post_doubtful" Done, "It cannot be told whether a post was made.";
    PostSettled = "post_settled" Decided, "The person settled a failed or doubtful post.";
    DraftProposed = "draft_proposed" Done, "A draft was proposed.";
    DraftEdited = "draft_edited" Done, "The person edited a draft.";
    DraftSent = "draft_sent" Posted, "A draft reached the provider.";
    DraftFailed = "draft_failed" Done, "A draft was not sent, or it cannot be told.";
    DraftDropped = "draft_dropped" Done, "A draft was refused, withdrawn or discarded.";
    Nudged = "nudged" Posted, "Somebody was reminded in the person's name.";
    ConsequenceRan = "consequence_ran" Inner, "What a gate released was carried out.";
    ConsequenceFailed = "consequence_failed" Done, "What a gate released failed.";
    ConsequenceUnknown = "consequence_unknown" Done, "The daemon stopped inside what a gate released.";
    ConsequenceSeen = "consequence_seen" Decided, "The person has looked after a consequence that failed or is unknown.";
    ConsequenceRetried = "consequence_retried" Decided, "The person runs a failed consequence again.";
    Paused = "paused" Decided, "The person pauses all rounds.";
    Resumed = "resumed" Decided, "All rounds go on.";
    UnitPaused = "unit_paused" Done, "The person pauses the rounds of a unit.";
    UnitResumed = "unit_resumed" Done, "The rounds of a unit go on.";
    UnitMuted = "unit_muted" Done, "Rounds of a unit, or all, are not announced.";
    UnitUnmuted = "unit_unmuted" Done, "Rounds of a unit, or all, are announced again.";
    TrustWritten = "trust_written" Decided, "An agent is trusted in a repository.";
    BlockRecorded = "block_recorded" Moved, "An agent does not start in a repository.";
    BlockLifted = "block_lifted" Moved, "What kept an agent from starting is gone.";
    RoundDeferred = "round_deferred" Moved, "A released round has to wait.";
    RoundGone = "round_gone" Moved, "A planned round left the plan.";
    GateOpened = "gate_opened" Moved, "A gate opened.";
    GateDecided = "gate_decided" Decided, "A gate was resolved.";
    GateSuperseded = "gate_superseded" Moved, "A gate's subject is gone.";
    RoundPosted = "round_posted" Posted, "A round posted in the person's name.";
    RoundPlanned = "round_planned" Moved, "A rule planned a round.";
    RoundCapped = "round_capped" Moved, "The daily cap holds a round.";
    RoundSent = "round_sent" Decided, "The person sent a round.";
    GuidanceKept = "guidance_kept" Decided, "Guidance is kept for the next round.";
    TurnStarting = "turn_starting" Moved, "A turn's row and pins were written.";
    TurnSent = "turn_sent" Moved, "The prompt was given.";
    TurnStarted = "turn_started" Moved, "The agent took it up.";
    TurnAsked = "turn_asked" Moved, "The turn stopped and asks.";
    TurnRecorded = "turn_recorded" Moved, "The turn recorded its outcome.";
    TurnFailed = "turn_failed" Moved, "The turn failed.";
    TurnDismissed = "turn_dismissed" Moved, "The turn was ended.";
    TurnUnrecorded = "turn_unrecorded" Moved, "The agent ended without a record.";
    SessionOpened = "session_opened" Inner, "An agent's own hooks told of a session.";
    SessionClosed = "session_closed" Done, "The person closed a session.";
    UnitSituation = "unit_situation" Moved, "A unit entered or left what is watched.";
    ProfileLoaded = "profile_loaded" Done, "A profile was loaded.";
    HealthChanged = "health_changed" Inner, "A check of health changed.";
    DaemonStarted = "daemon_started" Inner, "The daemon started.";
    DaemonStopped = "daemon_stopped" Inner, "The daemon stopped in order.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_word_and_one_class() {
        // EVT-04, EVT-05
        let mut words: Vec<&str> = EventKind::ALL.iter().map(|(_, word)| *word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), EventKind::ALL.len());
        assert_eq!(EventKind::from_word("post_sent").map(EventKind::class), Some(EventClass::Posted));
        assert_eq!(EventKind::from_word("posted"), None);
    }
}
