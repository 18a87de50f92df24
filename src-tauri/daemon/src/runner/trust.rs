//! Writing the person's trust to an agent's own home (RUN-31). It is the same whoever does it how often: what is there already is
//! left alone.

use std::collections::BTreeMap;
use std::path::Path;

use wloop_agents::home::{self, AgentHome};
use wloop_core::id::GateId;

use super::{Outside, read, record, rounds};
use crate::edge::crash_point;
use crate::input::Done;

/// Writes what a trust gate was approved for, and tells the ledger.
pub(super) async fn write(outside: &Outside, gate: GateId) {
    crash_point!("K26");
    let Some(Some(block)) = read(outside, |reads| reads.block(gate)) else { return };
    let written = match rounds::agent_config(outside, &block.agent) {
        Ok(config) => {
            let mut environment = outside.environment.clone();
            environment.extend(config.env_set.clone());
            trust_home(&config.preset, &environment, Path::new(&block.folder))
        }
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
fn trust_home(preset: &str, environment: &BTreeMap<String, String>, folder: &Path) -> Result<(), String> {
    let Some(home) = AgentHome::of_preset(preset).filter(|_| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let Some(file) = home.file(environment) else {
        return Err("`HOME` is not set, so the agent's own settings are not found; start wloop with it".to_owned());
    };
    home::trust(home, &file, folder).map(drop).map_err(|fault| fault.to_string())
}
