//! The guard of RES-20 and CLI-14 to CLI-17: a command that releases something in the person's name wants a terminal, and no
//! agent around it. It guards against mistakes and bounds nobody: every process of the same person can reach the socket, which
//! is the way for programs. An agent session with a handle (`WLOOP_SESSION`) passes; the daemon decides about it.

use std::collections::BTreeMap;

use crate::failure::Failure;

/// What is known about whoever typed the command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    /// Whether standard input is a terminal.
    pub(crate) terminal: bool,
    /// Whether the environment names a session of the loop's.
    pub(crate) session: bool,
    /// The environment.
    pub(crate) environment: &'a BTreeMap<String, String>,
}

/// Refuses `command`, which releases something, to a caller that is likely no person. `route` is what programs call instead;
/// `agents` are the variables by which agents are known.
pub(crate) fn check(caller: Caller<'_>, agents: &[String], command: &str, route: &str) -> Result<(), Failure> {
    if caller.session {
        return Ok(());
    }
    let set = |name: &&String| caller.environment.get(*name).is_some_and(|value| !value.is_empty());
    let why = if let Some(name) = agents.iter().find(set) {
        format!("`{name}` in the environment says that an agent runs it")
    } else if caller.terminal {
        return Ok(());
    } else {
        "standard input is no terminal".to_owned()
    };
    Err(Failure::Refused(format!(
        "`{command}` releases something in your name, and {why}; type it in a terminal of your own, or let a program call \
         `{route}` on the socket (this is a guard against mistakes, not a security boundary)"
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Caller, check};

    fn refusal(terminal: bool, session: bool, variables: &[(&str, &str)]) -> Option<String> {
        let environment: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let agents = ["CLAUDECODE".to_owned(), "OPENCODE".to_owned()];
        let caller = Caller { terminal, session, environment: &environment };
        check(caller, &agents, "plan apply", "POST /api/plan").err().map(|failure| {
            assert_eq!(failure.code(), 1);
            failure.line("wloop daemon").unwrap()
        })
    }

    // CLI-14, CLI-15, CLI-16, RES-20
    #[test]
    fn only_a_terminal_without_an_agent_or_a_known_session_passes() {
        assert_eq!(refusal(true, false, &[]), None);
        assert_eq!(refusal(true, false, &[("CLAUDECODE", "")]), None);
        assert!(refusal(false, false, &[]).unwrap().contains("no terminal"));
        assert!(refusal(true, false, &[("OPENCODE", "1")]).unwrap().contains("`OPENCODE`"));
        assert!(refusal(false, false, &[("CLAUDECODE", "1")]).unwrap().contains("`CLAUDECODE`"));
        assert_eq!(refusal(false, true, &[("CLAUDECODE", "1")]), None);
    }

    // CLI-17
    #[test]
    fn the_refusal_calls_itself_a_guard_and_names_the_way_for_programs() {
        let line = refusal(false, false, &[]).unwrap();
        assert!(line.contains("guard against mistakes, not a security boundary"), "{line}");
        assert!(line.contains("`POST /api/plan`"), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}
