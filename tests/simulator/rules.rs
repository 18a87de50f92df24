//! What differs from life to life: its rules, and what an agent asks before it starts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use wloop_core::rules::config::{Config, WorkflowOverlay};
use wloop_core::stops::BlockKind;
use wloop_daemon::input::{AgentEvent, TurnEnd};

use crate::life::{Broken, Held};

/// In some lives a rule decides what becomes of an agent's draft: it goes at once, after a while, or never.
pub(crate) fn drafts_by_rule(seed: u64) -> Held<BTreeMap<String, WorkflowOverlay>> {
    let mode = match seed % 8 {
        3 => "mode = 'send'",
        5 => "mode = 'delay'\nwindow = '20m'",
        6 => "mode = 'dry_run'",
        _ => return Ok(BTreeMap::new()),
    };
    let text = format!(
        "[[workflows.review.gates.approval.rule]]\nwhen = 'gate.kind == \"plan\"'\nmode = 'delay'\nwindow = '60s'\n\
         [[workflows.review.gates.approval.rule]]\nwhen = 'draft.delivery == \"comment\"'\n{mode}\n"
    );
    let config = Config::parse("config.toml", &text);
    config.map(|config| config.workflows).map_err(|faults| Broken(format!("the rules of a life do not load: {faults:?}")))
}

/// An agent that does not start until a question of its own is answered.
pub(crate) fn blocked(kind: BlockKind) -> AgentEvent {
    AgentEvent::Ended(TurnEnd::Blocked { kind, folder: String::new(), words: "may I?".to_owned() })
}

/// When every life begins.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(1_796_000_000).unwrap_or(Timestamp::UNIX_EPOCH)
}
