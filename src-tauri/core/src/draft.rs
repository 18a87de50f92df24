//! A draft's decision against its delivery (spec 15.3): the gate alone decides; the draft's post only tells how far delivery got.

use crate::gate::GateStatus;
use crate::github::material::visible;
use crate::id::SessionId;
use crate::post::{self, NoStep, PostEvent};
use crate::words::words;

pub mod outbox;

/// The most drafts that one turn proposes (MCP-08).
pub const DRAFTS_PER_TURN: usize = 20;

/// The longest purpose, in characters.
pub const PURPOSE_LIMIT: usize = 40;

/// How many characters of a draft's first line its gate shows; the card shows all of it.
const FIRST_LINE: usize = 100;

/// How a draft is delivered (DRAFT-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delivery {
    /// A comment on a pull request.
    Comment,
    /// A message in a conversation.
    Message,
    /// A reaction to something.
    Reaction,
    /// Another text for what was sent before.
    Edit,
    /// The removal of what was sent before.
    Deletion,
}

words!(Delivery {
    Comment = "comment",
    Message = "message",
    Reaction = "reaction",
    Edit = "edit",
    Deletion = "deletion",
});

/// Who proposed a draft; `draft.proposer` of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposer {
    /// The person wrote it.
    Person,
    /// A session, in a turn of this intent.
    Intent(String),
    /// A workflow.
    Workflow(String),
    /// A plugin's own rule, as `plugin.rule`.
    Rule(String),
}

impl Proposer {
    /// The word in rows.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Intent(_) => "session",
            Self::Workflow(_) => "workflow",
            Self::Rule(_) => "rule",
        }
    }

    /// What `draft.proposer` reads as: `workflow:<name>`, `intent:<name>` or `rule:<plugin>.<rule>`; empty for the person (APPR-31).
    #[must_use]
    pub fn fact(&self) -> String {
        match self {
            Self::Person => String::new(),
            Self::Intent(name) => format!("intent:{name}"),
            Self::Workflow(name) => format!("workflow:{name}"),
            Self::Rule(name) => format!("rule:{name}"),
        }
    }

    /// The intent, workflow or rule; empty for the person.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Person => "",
            Self::Intent(name) | Self::Workflow(name) | Self::Rule(name) => name,
        }
    }
}

/// Why a draft is not proposed. The first word is the one that an agent reads (MCP-14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotProposed {
    /// A delivery that the provider does not take (APPR-30).
    #[error("delivery: github takes comments only, so a draft is no {}; write a comment instead", .0.as_str())]
    Delivery(Delivery),
    /// An effect that the unit's provider does not know (EFF-12).
    #[error("effects: `{given}` is no effect of a draft on {provider}; there is `{known}`")]
    UnknownEffect {
        /// What was given.
        given: String,
        /// The provider.
        provider: String,
        /// What there is.
        known: String,
    },
    /// An effect that the intent does not allow (EFF-11).
    #[error("effects: a draft of the intent `{intent}` may not declare `{effect}`; leave it out")]
    EffectNotAllowed {
        /// The intent.
        intent: String,
        /// The effect.
        effect: String,
    },
    /// An effect on another unit than the turn's (AGENT-11).
    #[error("effects: a draft on another unit than its turn's declares no effect; leave `effects` out")]
    EffectElsewhere,
    /// The pull request has ended.
    #[error("ended: {0} is closed or merged and takes no draft of an agent")]
    Ended(String),
    /// Its conversation is locked.
    #[error("locked: the conversation of {0} is locked; nothing can be written there")]
    Locked(String),
}

/// Whether a delivery posts something that others see; a reaction does not count (APPR-53, APPR-56).
#[must_use]
pub fn posts(delivery: Delivery) -> bool {
    match delivery {
        Delivery::Comment | Delivery::Message | Delivery::Edit | Delivery::Deletion => true,
        Delivery::Reaction => false,
    }
}

/// The effects that a draft on a provider's unit can declare (EFF-12); none of a provider that is not known.
#[must_use]
pub fn effects_of(provider: &str) -> &'static [&'static str] {
    match provider {
        "github" => &["pr.nudged"],
        _ => &[],
    }
}

/// The delivery that GitHub makes of the one asked for: whatever is a text becomes a comment (APPR-29, APPR-30).
///
/// # Errors
/// [`NotProposed::Delivery`] for what changes something that is there.
pub fn on_github(asked: Delivery) -> Result<Delivery, NotProposed> {
    match asked {
        Delivery::Comment | Delivery::Message => Ok(Delivery::Comment),
        Delivery::Reaction | Delivery::Edit | Delivery::Deletion => Err(NotProposed::Delivery(asked)),
    }
}

/// Checks the effects that a draft declares. `intent` names the intent of an agent's draft with the effects it allows, and
/// `elsewhere` says that the draft is for another unit than its turn's (EFF-11, EFF-12, AGENT-11).
///
/// # Errors
/// The first effect that may not stand, with the reason.
pub fn check_effects(
    effects: &[String],
    provider: &str,
    intent: Option<(&str, &[String])>,
    elsewhere: bool,
) -> Result<(), NotProposed> {
    for effect in effects {
        let known = effects_of(provider);
        if !known.contains(&effect.as_str()) {
            return Err(NotProposed::UnknownEffect {
                given: effect.clone(),
                provider: provider.to_owned(),
                known: known.join("`, `"),
            });
        }
        if elsewhere {
            return Err(NotProposed::EffectElsewhere);
        }
        if let Some((intent, allowed)) = intent
            && !allowed.contains(effect)
        {
            return Err(NotProposed::EffectNotAllowed { intent: intent.to_owned(), effect: effect.clone() });
        }
    }
    Ok(())
}

/// What a draft's gate asks: `Comment on acme/api#7: the first line`. The rest of the text is on its card.
#[must_use]
pub fn words_of(label: &str, text: &str) -> String {
    format!("Comment on {label}: {}", first_line(text))
}

/// The first line of a text that says something, cut where it is long, with characters that draw nothing made visible.
#[must_use]
pub fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = visible(line);
    let cut: String = line.chars().take(FIRST_LINE).collect();
    if cut.len() < line.len() { format!("{}…", cut.trim_end()) } else { cut }
}

/// Whether the person may resolve a draft's gate through the session `via`: never through the one that proposed the draft, edited or
/// not (RES-12, API-04).
#[must_use]
pub fn may_resolve(proposed_by: Option<SessionId>, via: Option<SessionId>) -> bool {
    via.is_none() || via != proposed_by
}

/// What a draft's post does when the draft's gate closes with `status` (D3, D4, D6, D7).
///
/// # Errors
/// [`NoStep`] when the draft is not held any more, so that running the consequence again queues nothing twice (CONS-05).
pub fn on_gate(delivery: post::Delivery, status: GateStatus) -> Result<post::Delivery, NoStep> {
    match status {
        GateStatus::Approved => delivery.step(PostEvent::Release),
        GateStatus::Rejected | GateStatus::Dismissed | GateStatus::Superseded | GateStatus::Answered => {
            delivery.step(PostEvent::Drop)
        }
        GateStatus::Open => Err(NoStep { from: delivery.state }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::PostState;

    #[test]
    fn only_an_approval_queues_a_draft_and_only_once() {
        // DRAFT-06, DRAFT-07, CONS-05
        let held = post::Delivery::new(PostState::Held);
        for (status, _) in GateStatus::ALL {
            let after = on_gate(held, status).map(|d| d.state);
            match status {
                GateStatus::Approved => assert_eq!(after, Ok(PostState::Queued)),
                GateStatus::Open => assert!(after.is_err()),
                GateStatus::Rejected | GateStatus::Answered | GateStatus::Dismissed | GateStatus::Superseded => {
                    assert_eq!(after, Ok(PostState::Dropped));
                }
            }
        }
        for state in [PostState::Queued, PostState::Sending, PostState::Sent] {
            assert!(on_gate(post::Delivery::new(state), GateStatus::Approved).is_err(), "{state}");
        }
    }

    #[test]
    fn github_makes_a_comment_of_every_text_and_refuses_the_rest() {
        // APPR-29, APPR-30
        for (delivery, word) in Delivery::ALL {
            let made = on_github(*delivery);
            match delivery {
                Delivery::Comment | Delivery::Message => assert_eq!(made, Ok(Delivery::Comment)),
                Delivery::Reaction | Delivery::Edit | Delivery::Deletion => {
                    assert!(made.unwrap_err().to_string().contains(word), "{word}");
                }
            }
        }
    }

    #[test]
    fn an_effect_is_known_allowed_and_on_its_own_unit() {
        // EFF-11, EFF-12, AGENT-11
        let nudged = vec!["pr.nudged".to_owned()];
        let allowed = ["pr.nudged".to_owned()];
        assert_eq!(check_effects(&[], "github", Some(("review", &[])), true), Ok(()));
        assert_eq!(check_effects(&nudged, "github", None, false), Ok(()));
        assert_eq!(check_effects(&nudged, "github", Some(("nudge", &allowed)), false), Ok(()));
        assert_eq!(check_effects(&nudged, "github", Some(("nudge", &allowed)), true), Err(NotProposed::EffectElsewhere));
        let refused = check_effects(&nudged, "github", Some(("review", &[])), false).unwrap_err();
        assert!(refused.to_string().contains("`review`"), "{refused}");
        let refused = check_effects(&nudged, "slack", None, false).unwrap_err();
        assert!(refused.to_string().contains("`pr.nudged`"), "{refused}");
        assert!(check_effects(&["unit.closed".to_owned()], "github", None, false).is_err());
    }

    #[test]
    fn a_gate_names_the_unit_and_the_first_line() {
        assert_eq!(words_of("acme/api#7", "\n  Thanks!\nMore"), "Comment on acme/api#7: Thanks!");
        let long = "x".repeat(300);
        let cut = first_line(&long);
        assert!(cut.ends_with('…') && cut.chars().count() == FIRST_LINE + 1);
        assert!(!first_line("a\u{202e}b").contains('\u{202e}'));
    }

    #[test]
    fn nobody_resolves_through_the_session_that_proposed() {
        // RES-12, API-04
        let id = |n: u8| format!("{n:032x}").parse::<SessionId>().unwrap();
        assert!(may_resolve(Some(id(1)), None) && may_resolve(None, None) && may_resolve(None, Some(id(1))));
        assert!(may_resolve(Some(id(1)), Some(id(2))));
        assert!(!may_resolve(Some(id(1)), Some(id(1))));
    }
}
