//! The rules of a life, where they are not the bundled ones.

use std::collections::BTreeMap;

use wloop_core::rules::config::{Config, WorkflowOverlay};

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
