//! Writing the person's trust to an agent's own home (RUN-31). It is the same whoever does it how often: what is there already is
//! left alone.

use std::path::Path;

use wloop_core::id::GateId;
use wloop_core::rules::config::Preset;

use super::{Outside, read, record, rounds};
use crate::edge::crash_point;
use crate::input::Done;

/// Writes what a trust gate was approved for, and tells the ledger.
pub(super) async fn write(outside: &Outside, gate: GateId) {
    crash_point!("K26");
    let Some(Some(block)) = read(outside, |reads| reads.block(gate)) else { return };
    let written = match rounds::agent_config(outside, &block.agent) {
        Ok(config) => trust_home(&config.preset, &block.homes, Path::new(&block.folder)),
        Err(why) => Err(why),
    };
    crash_point!("K26b");
    if written.is_err() {
        crash_point!("K20b");
    }
    record(outside, Done::Trusted { gate, written }).await;
}

/// The one place where an agent's home is written: the entry of table R1 for this folder. An empty folder has none, and the presets
/// `command` and `acp` have no home of their own: their trust stands with wloop alone.
fn trust_home(preset: &str, _homes: &[String], folder: &Path) -> Result<(), String> {
    let known = Preset::ALL.iter().find(|(word, _)| *word == preset).map(|(_, preset)| *preset);
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    match known {
        None | Some(Preset::Acp | Preset::Command) => Ok(()),
        // Headless, these ask nothing that wloop starts so far; their homes are written once they can be.
        Some(Preset::ClaudeCode | Preset::Codex | Preset::Gemini) => Ok(()),
    }
}
