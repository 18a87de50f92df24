//! The environment of an agent: a fresh one, of names that are known to be wanted and nothing else (RUN-04 to RUN-06).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::redact::Redactor;

/// What every agent gets of the daemon's environment; a star stands for any rest.
const BASE: [&str; 11] = ["HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LC_*", "TERM", "TMPDIR", "SSH_AUTH_SOCK", "XDG_*"];

/// Names that hold a token of a provider; they pass only when `env.pass` spells them out (RUN-05).
const TOKENS: [&str; 5] = ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "SLACK_*"];

/// What the daemon adds, whatever else is said (RUN-06).
#[derive(Debug, Clone)]
pub struct Added {
    /// The value of `WLOOP_SESSION`.
    pub session: String,
    /// The daemon's socket.
    pub socket: PathBuf,
    /// The daemon's home, only where it was given one.
    pub home: Option<PathBuf>,
    /// The folder that comes first on the agent's `PATH`: it holds `wloop` and the `gh` of the loop.
    pub path_first: PathBuf,
    /// An empty folder, where a `gh` found elsewhere looks for its settings and finds no account.
    pub gh_config_dir: PathBuf,
    /// Every token that the daemon knows: a variable that holds one does not pass, whatever its name.
    pub tokens: Redactor,
}

/// Whether the name is one that holds a provider's token by custom. `doctor` warns of such a name in `env.pass`.
#[must_use]
pub fn names_token(name: &str) -> bool {
    TOKENS.iter().any(|pattern| fits(pattern, name))
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// The environment of an agent's process, complete (RUN-04 to RUN-06): what `base` has of the usual names, of `preset`'s and of
/// `pass`, then the pairs of `set`, then what the daemon adds. `preset` and `pass` may end in a star.
#[must_use]
pub fn agent_environment(
    base: &BTreeMap<String, String>,
    preset: &[&str],
    pass: &[String],
    set: &BTreeMap<String, String>,
    added: &Added,
) -> BTreeMap<String, String> {
    let spelled_out = |name: &str| pass.iter().any(|p| p == name);
    let wanted = |name: &str| {
        BASE.iter().chain(preset).any(|pattern| fits(pattern, name)) || pass.iter().any(|pattern| fits(pattern, name))
    };
    let safe = |name: &str, value: &str| spelled_out(name) || !(names_token(name) || added.tokens.finds(value));

    let mut all: BTreeMap<String, String> = base
        .iter()
        .filter(|(name, _)| wanted(name) && !name.starts_with("WLOOP_"))
        .chain(set)
        .filter(|(name, value)| safe(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();

    let path = all.get("PATH").map_or_else(String::new, |rest| format!(":{rest}"));
    let mut add = |name: &str, value: String| {
        all.insert(name.to_owned(), value);
    };
    let text = |path: &Path| path.to_string_lossy().into_owned();
    add("PATH", format!("{}{path}", text(&added.path_first)));
    add("WLOOP_SESSION", added.session.clone());
    add("WLOOP_SOCKET", text(&added.socket));
    if let Some(home) = &added.home {
        add("WLOOP_HOME", text(home));
    }
    add("GH_CONFIG_DIR", text(&added.gh_config_dir));
    for (name, value) in [("GH_PROMPT_DISABLED", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("NO_COLOR", "1")] {
        add(name, value.to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    fn added() -> Added {
        Added {
            session: "s1".to_owned(),
            socket: "/run/w.sock".into(),
            home: None,
            path_first: "/w/bin".into(),
            gh_config_dir: "/w/empty".into(),
            tokens: Redactor::new(&["xoxp-secret".to_owned()]),
        }
    }

    #[test]
    fn only_known_names_pass() {
        // RUN-04
        let base = map(&[
            ("HOME", "/h"),
            ("PATH", "/bin"),
            ("LC_TIME", "C"),
            ("XDG_DATA_HOME", "/x"),
            ("AWS_SECRET_ACCESS_KEY", "k"),
            ("LD_PRELOAD", "x.so"),
            ("ANTHROPIC_API_KEY", "a"),
            ("MINE", "m"),
            ("WLOOP_SESSION", "outer"),
            ("WLOOP_HOME", "/o"),
        ]);
        let got = agent_environment(&base, &["ANTHROPIC_*"], &["MINE".to_owned()], &map(&[("EXTRA", "e")]), &added());
        let names: Vec<&str> = got.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "ANTHROPIC_API_KEY",
                "EXTRA",
                "GH_CONFIG_DIR",
                "GH_PROMPT_DISABLED",
                "GIT_EDITOR",
                "GIT_TERMINAL_PROMPT",
                "HOME",
                "LC_TIME",
                "MINE",
                "NO_COLOR",
                "PATH",
                "WLOOP_SESSION",
                "WLOOP_SOCKET",
                "XDG_DATA_HOME",
            ]
        );
        assert!(!agent_environment(&base, &[], &[], &map(&[]), &added()).contains_key("ANTHROPIC_API_KEY"));
    }

    #[test]
    fn a_token_passes_only_by_its_full_name() {
        // RUN-05
        let base = map(&[
            ("GH_TOKEN", "g"),
            ("GITHUB_TOKEN", "g"),
            ("GH_ENTERPRISE_TOKEN", "g"),
            ("GITHUB_ENTERPRISE_TOKEN", "g"),
            ("SLACK_BOT", "b"),
            ("XDG_ODD", "the xoxp-secret"),
            ("MINE", "xoxp-secret"),
        ]);
        let stars = ["G*".to_owned(), "SLACK_*".to_owned(), "M*".to_owned()];
        let got = agent_environment(&base, &["GH_*"], &stars, &map(&[("GH_TOKEN", "set")]), &added());
        for name in base.keys() {
            assert!(!got.contains_key(name), "{name} reached the agent");
        }
        let named = ["GH_TOKEN".to_owned(), "MINE".to_owned()];
        let got = agent_environment(&base, &[], &named, &map(&[]), &added());
        assert_eq!((got["GH_TOKEN"].as_str(), got["MINE"].as_str()), ("g", "xoxp-secret"));
        assert!(names_token("SLACK_APP_TOKEN") && !names_token("SLACKER"));
    }

    #[test]
    fn the_loop_s_own_values_win() {
        // RUN-06
        let set = map(&[("WLOOP_SESSION", "forged"), ("GIT_TERMINAL_PROMPT", "1"), ("PATH", "/evil")]);
        let with_home = Added { home: Some("/home/w".into()), ..added() };
        let got = agent_environment(&map(&[("PATH", "/bin")]), &[], &[], &set, &with_home);
        assert_eq!(got["WLOOP_SESSION"], "s1");
        assert_eq!(got["WLOOP_SOCKET"], "/run/w.sock");
        assert_eq!(got["WLOOP_HOME"], "/home/w");
        assert_eq!(got["GIT_TERMINAL_PROMPT"], "0");
        assert_eq!(got["PATH"], "/w/bin:/evil");
        assert_eq!(got["GH_CONFIG_DIR"], "/w/empty");
        assert_eq!(agent_environment(&map(&[]), &[], &[], &map(&[]), &added())["PATH"], "/w/bin");
    }
}
