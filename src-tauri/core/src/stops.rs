//! What stops rounds: the person's pause and mute (WIN-13, WIN-39), and an agent's first run in a repository or a question of its
//! own (GATE-51, RUN-30, RUN-32).

use crate::words::words;

/// What the person laid on a unit, or on everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HoldKind {
    /// No round starts by itself (WIN-13).
    Pause,
    /// Rounds are not announced, and go on (WIN-39, WIN-40).
    Mute,
}

words!(HoldKind { Pause = "pause", Mute = "mute" });

/// What keeps an agent from starting in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockKind {
    /// It has never run there (RUN-32).
    FirstRun,
    /// It asked itself whether it may trust the folder.
    Folder,
    /// It wants somebody to sign in.
    SignIn,
    /// Another question, such as terms to be agreed to.
    Other,
}

words!(BlockKind { FirstRun = "first_run", Folder = "folder", SignIn = "sign_in", Other = "other" });

impl BlockKind {
    /// Whether it is about the repository's folder, so that only the person's trust lifts it. Any other question is lifted by a
    /// later start that goes through as well.
    #[must_use]
    pub fn is_about_trust(self) -> bool {
        match self {
            Self::FirstRun | Self::Folder => true,
            Self::SignIn | Self::Other => false,
        }
    }
}

/// The longest part of an agent's own words that a gate repeats, in characters.
const SAID: usize = 1_000;

/// What a trust gate asks: the agent, the repository, the folder, and what trust means. `said` are the agent's own words; they
/// are shown and decide nothing (RES-13).
#[must_use]
pub fn question(kind: BlockKind, agent: &str, repo: &str, folder: &str, said: &str) -> String {
    const MEANS: &str = "The repository's own settings there could run commands on this machine.";
    let said: String = crate::github::material::visible(said.trim()).chars().take(SAID).collect();
    let said = if said.is_empty() { String::new() } else { format!(" It says: {said}") };
    match kind {
        BlockKind::FirstRun => {
            format!("The agent {agent} has never run in {repo}. Trust the folder {folder} and let it run? {MEANS}{said}")
        }
        BlockKind::Folder => {
            format!("The agent {agent} did not start in {repo}. Trust the folder {folder} and let it run? {MEANS}{said}")
        }
        BlockKind::SignIn => format!(
            "The agent {agent} did not start in {repo}: somebody has to sign in to it first. Do that, then let it run.{said}"
        ),
        BlockKind::Other => {
            format!("The agent {agent} did not start in {repo}: it has a question of its own. Settle it, then let it run.{said}")
        }
    }
}

/// What holds a round on a block, in one line.
#[must_use]
pub fn waits(kind: BlockKind, agent: &str, repo: &str, gate: &str) -> String {
    let why = match kind {
        BlockKind::FirstRun => format!("the agent {agent} has never run in {repo}"),
        BlockKind::Folder => format!("the agent {agent} asks whether it may trust {repo}"),
        BlockKind::SignIn => format!("the agent {agent} wants somebody to sign in"),
        BlockKind::Other => format!("the agent {agent} has a question of its own"),
    };
    format!("{why}; `wloop gates show {gate}` asks you")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trust_gate_names_agent_repository_folder_and_what_trust_means() {
        // RUN-32, GATE-51, RES-13
        for (kind, _) in BlockKind::ALL {
            let words = question(*kind, "claude-code", "acme/api", "/w/acme/api", "do you\u{7} trust?");
            assert!(words.contains("claude-code") && words.contains("acme/api"), "{words}");
            assert_eq!(words.contains("/w/acme/api"), kind.is_about_trust(), "{words}");
            assert_eq!(words.contains("could run commands"), kind.is_about_trust(), "{words}");
            assert!(words.contains("It says: do you") && !words.contains('\u{7}'), "{words:?}");
        }
        let long = question(BlockKind::Other, "a", "b/c", "", &"x".repeat(5_000));
        assert!(long.chars().count() < 1_300);
    }
}
