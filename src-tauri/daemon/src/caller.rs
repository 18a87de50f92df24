//! Who calls (RES-21): first the ancestry of the peer's process, so that an agent cannot lose its session by clearing its
//! environment, then the header that the command line passes on. It is a guard against mistakes and no security boundary: any
//! process of the same user can reach the socket (CLI-17).

use wloop_core::id::SessionId;
use wloop_store::{Reads, StoreError};

use crate::input::Caller;

/// How many ancestors are looked at.
const DEPTH: usize = 64;

/// A process as far as ancestry needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kin {
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) start: String,
}

/// Finds out who calls. `kin` reads a process, so that a test can lay out a family of its own.
pub(crate) fn identify(
    reads: &Reads<'_>,
    peer: Option<u32>,
    header: Option<&str>,
    own: u32,
    kin: &dyn Fn(u32) -> Option<Kin>,
) -> Result<Caller, StoreError> {
    let Some(peer) = peer else { return Ok(Caller::Unknown("the system does not tell its process".to_owned())) };
    // The daemon's own process calls for the person who sits before it.
    if peer != own {
        let running = reads.turns_with_live_group()?;
        let mut pid = peer;
        for _ in 0..DEPTH {
            if pid <= 1 {
                break;
            }
            if pid == own {
                return Ok(Caller::Unknown("it is a process under the daemon that belongs to no known session".to_owned()));
            }
            let Some(process) = kin(pid) else {
                return Ok(Caller::Unknown("its ancestry cannot be read".to_owned()));
            };
            let session = running.iter().find(|turn| {
                turn.process.as_ref().is_some_and(|known| {
                    let is_it = known.pid == i64::from(pid) && known.start == process.start;
                    // A grandchild whose parents are gone still stands in the group that its agent was started with.
                    is_it || known.pgid == i64::from(process.group)
                })
            });
            if let Some(turn) = session {
                return Ok(Caller::Session(turn.session));
            }
            pid = process.parent;
        }
    }
    match header.map(str::trim).filter(|h| !h.is_empty()) {
        None => Ok(Caller::Person),
        Some(text) => match text.parse::<SessionId>() {
            Ok(id) if reads.session(id)?.is_some() => Ok(Caller::Session(id)),
            _ => Ok(Caller::Unknown(format!("the session `{text}` is not known"))),
        },
    }
}

/// Reads a process of this machine.
#[cfg(target_os = "linux")]
pub(crate) fn kin_of(pid: u32) -> Option<Kin> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in parentheses and may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |n: usize| fields.get(n).and_then(|f| f.parse().ok());
    Some(Kin { parent: number(1)?, group: number(2)?, start: wloop_agents::process::ProcessStart::of(pid)?.to_string() })
}

/// Reads a process of this machine.
#[cfg(target_os = "macos")]
pub(crate) fn kin_of(pid: u32) -> Option<Kin> {
    use libproc::bsd_info::BSDInfo;
    let info: BSDInfo = libproc::proc_pid::pidinfo(i32::try_from(pid).ok()?, 0).ok()?;
    Some(Kin { parent: info.pbi_ppid, group: info.pbi_pgid, start: wloop_agents::process::ProcessStart::of(pid)?.to_string() })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn kin_of(_pid: u32) -> Option<Kin> {
    None
}
