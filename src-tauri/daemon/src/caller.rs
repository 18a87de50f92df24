//! Who calls (RES-21): first the ancestry of the peer's process, so that an agent cannot lose its session by clearing its
//! environment, then the header that the command line passes on. It is a guard against mistakes and no security boundary: any
//! process of the same user can reach the socket (CLI-17).

use wloop_core::id::SessionId;
use wloop_core::session::{Typing, driven};
use wloop_store::rows::SessionRow;
use wloop_store::{ProcessRow, Reads, StoreError};

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

/// A session that something may still run for: the process that it was started with.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Running {
    session: SessionId,
    process: ProcessRow,
}

/// Finds out who calls. `kin` reads a process, so that a test can lay out a family of its own.
pub(crate) fn identify(
    reads: &Reads<'_>,
    peer: Option<u32>,
    header: Option<&str>,
    own: u32,
    kin: &dyn Fn(u32) -> Option<Kin>,
) -> Result<Caller, StoreError> {
    let running: Vec<Running> = reads
        .turns_with_live_group()?
        .into_iter()
        .filter_map(|turn| Some(Running { session: turn.session, process: turn.process? }))
        .collect();
    if let Some(caller) = by_ancestry(&running, peer, own, kin) {
        return Ok(caller);
    }
    match header.map(str::trim).filter(|h| !h.is_empty()) {
        None => Ok(Caller::Person),
        Some(text) => match text.parse::<SessionId>() {
            Ok(id) if reads.session(id)?.is_some() => Ok(Caller::Session(id)),
            _ => Ok(Caller::Unknown(format!("the session `{text}` is not known"))),
        },
    }
}

/// What decides whether a session acts for the person (RES-06 to RES-10, SES-04).
pub(crate) fn typing(reads: &Reads<'_>, row: &SessionRow) -> Result<Typing, StoreError> {
    let managed = row.manager == "wloop";
    let newest = |by_person| Ok::<_, StoreError>(reads.newest_prompt(row.id, by_person)?.map(|prompt| prompt.id));
    Ok(Typing {
        managed,
        prompt_knowable: managed || reads.hooked(row.id)?.is_some_and(|hooked| hooked.reports_prompts),
        by_loop: newest(false)?,
        by_person: newest(true)?,
        turn_runs: reads.turn_runs_in(row.id)?,
        closed: row.state == "closed",
    })
}

/// Whether a caller acts for the person: the person, or a session that they drive.
pub(crate) fn acts_for_person(reads: &Reads<'_>, caller: &Caller) -> Result<bool, StoreError> {
    match caller {
        Caller::Person => Ok(true),
        Caller::Unknown(_) => Ok(false),
        Caller::Session(id) => match reads.session(*id)? {
            Some(row) => Ok(driven(&typing(reads, &row)?)),
            None => Ok(false),
        },
    }
}

/// Whom the family of the peer's process makes the caller; `None` when it descends from no session.
fn by_ancestry(running: &[Running], peer: Option<u32>, own: u32, kin: &dyn Fn(u32) -> Option<Kin>) -> Option<Caller> {
    let Some(peer) = peer else { return Some(Caller::Unknown("the system does not tell its process".to_owned())) };
    // The daemon's own process calls for the person who sits before it.
    if peer == own {
        return None;
    }
    let mut pid = peer;
    for _ in 0..DEPTH {
        if pid <= 1 {
            return None;
        }
        if pid == own {
            return Some(Caller::Unknown("it is a process under the daemon that belongs to no known session".to_owned()));
        }
        let Some(process) = kin(pid) else {
            return Some(Caller::Unknown("its ancestry cannot be read".to_owned()));
        };
        let session = running.iter().find(|one| {
            let is_it = one.process.pid == i64::from(pid) && one.process.start == process.start;
            // A grandchild whose parents are gone still stands in the group that its agent was started with.
            is_it || one.process.pgid == i64::from(process.group)
        });
        if let Some(one) = session {
            return Some(Caller::Session(one.session));
        }
        pid = process.parent;
    }
    // Nobody's shell stands this deep; a chain that long is made, not grown.
    Some(Caller::Unknown(format!("its ancestry is longer than {DEPTH} processes")))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const DAEMON: u32 = 100;
    /// The agent's process, which leads its group.
    const AGENT: u32 = 200;

    fn session() -> SessionId {
        "00000000000000000000000000000abc".parse().unwrap()
    }

    fn running() -> Vec<Running> {
        vec![Running {
            session: session(),
            process: ProcessRow { pid: AGENT.into(), start: "s200".to_owned(), pgid: AGENT.into() },
        }]
    }

    /// Who calls in a family of `(pid, parent, group)`, each process started at `s<pid>`.
    fn asked(family: &[(u32, u32, u32)], peer: u32) -> Option<Caller> {
        let family: BTreeMap<u32, Kin> = family
            .iter()
            .map(|(pid, parent, group)| (*pid, Kin { parent: *parent, group: *group, start: format!("s{pid}") }))
            .collect();
        by_ancestry(&running(), Some(peer), DAEMON, &|pid| family.get(&pid).cloned())
    }

    fn is_unknown(caller: Option<Caller>) -> bool {
        matches!(caller, Some(Caller::Unknown(_)))
    }

    #[test]
    fn whoever_descends_from_an_agent_is_its_session() {
        // RES-21
        let family = [(AGENT, DAEMON, AGENT), (201, AGENT, AGENT), (202, 201, 202), (203, 202, 202)];
        for peer in [AGENT, 201, 202, 203] {
            assert_eq!(asked(&family, peer), Some(Caller::Session(session())), "{peer}");
        }
    }

    #[test]
    fn an_orphan_is_known_by_its_group_and_else_by_standing_under_the_daemon() {
        // RES-21
        let left = [(300, DAEMON, AGENT), (301, 300, 301)];
        assert_eq!(asked(&left, 300), Some(Caller::Session(session())));
        assert_eq!(asked(&left, 301), Some(Caller::Session(session())));
        // Its parents are gone and it leads a group of its own: nobody the daemon started, and no person.
        let escaped = [(300, DAEMON, 300), (301, 300, 300)];
        assert!(is_unknown(asked(&escaped, 300)) && is_unknown(asked(&escaped, 301)));
    }

    #[test]
    fn a_family_that_cannot_be_read_is_unattended() {
        // RES-21
        assert!(is_unknown(asked(&[], 300)), "the peer is gone");
        assert!(is_unknown(asked(&[(300, 299, 300)], 300)), "its parent is gone");
        assert!(is_unknown(by_ancestry(&running(), None, DAEMON, &|_| None)), "the system tells nothing");
        let chain: Vec<(u32, u32, u32)> = (0..200).map(|n| (1000 + n, 1001 + n, 1000 + n)).collect();
        assert!(is_unknown(asked(&chain, 1000)), "a chain without an end");
    }

    #[test]
    fn whoever_descends_from_no_session_is_left_to_the_header() {
        // RES-21
        let shell = [(400, 399, 400), (399, 1, 399)];
        assert_eq!(asked(&shell, 400), None);
        // The shell that started the daemon is no child of it.
        assert_eq!(asked(&[(90, 1, 90), (DAEMON, 90, 90), (91, 90, 91)], 91), None);
        assert_eq!(asked(&[], DAEMON), None, "the daemon itself");
        // A process that only took over the number of an ended agent, in a group of its own.
        let again = BTreeMap::from([(AGENT, Kin { parent: 1, group: 500, start: "later".to_owned() })]);
        assert_eq!(by_ancestry(&running(), Some(AGENT), DAEMON, &|pid| again.get(&pid).cloned()), None);
    }
}
