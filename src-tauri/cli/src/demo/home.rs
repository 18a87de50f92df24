//! The demo's home: a folder with a configuration for the small GitHub, the scripted agent, and a shorter window.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::Failure;

/// The bundled workflow; the demo's own differs from it in the length of its window alone.
const BUNDLED_REVIEW: &str = include_str!("../../../../profiles/default/workflows/review/workflow.toml");
/// The bundled window, as it is written there.
const BUNDLED_WINDOW: &str = "window = \"60s\"";
/// How long a round of the demo counts down: long enough to answer it, short enough to wait for it.
const WINDOW: &str = "window = \"15s\"";

/// The demo's home, which goes with the value unless a folder was given.
#[derive(Debug)]
pub(super) enum DemoHome {
    /// One in the system's temporary folder.
    ThrowAway(TempDir),
    /// One the person named.
    Given(PathBuf),
}

impl DemoHome {
    /// A folder of its own, or the given one when nothing is in it.
    pub(super) fn make(given: Option<&Path>) -> Result<Self, Failure> {
        let Some(given) = given else {
            let made = tempfile::Builder::new().prefix("wloop-demo-").tempdir().map_err(|error| {
                Failure::Refused(format!("no temporary folder can be made: {error}; name one with --home DIR"))
            })?;
            return Ok(Self::ThrowAway(made));
        };
        let refused =
            |why: &str| Failure::Refused(format!("`{}` {why}; give the demo a new folder with --home DIR", given.display()));
        match fs::read_dir(given) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(refused("is not empty"));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(given).map_err(|error| refused(&format!("cannot be made: {error}")))?;
            }
            Err(error) => return Err(refused(&format!("cannot be read: {error}"))),
        }
        Ok(Self::Given(std::path::absolute(given).unwrap_or_else(|_| given.to_path_buf())))
    }

    /// Its folder.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::ThrowAway(dir) => dir.path(),
            Self::Given(path) => path,
        }
    }

    /// Leaves the folder where it is, for a look at what went wrong.
    pub(super) fn keep(self) -> PathBuf {
        match self {
            Self::ThrowAway(dir) => dir.keep(),
            Self::Given(path) => path,
        }
    }

    /// Writes the configuration and the workflow.
    pub(super) fn write(&self, api_url: &str, token: &str, agent: &Path) -> Result<(), Failure> {
        let review = self.path().join("profiles/default/workflows/review");
        let refused = |error: io::Error| {
            Failure::Refused(format!("the demo's home `{}` cannot be written: {error}", self.path().display()))
        };
        fs::create_dir_all(&review).map_err(refused)?;
        fs::write(review.join("workflow.toml"), workflow()).map_err(refused)?;
        fs::write(self.path().join("config.toml"), configuration(api_url, token, agent)).map_err(refused)
    }
}

/// The bundled review workflow with the demo's window. A person's file replaces the bundled one whole.
fn workflow() -> String {
    BUNDLED_REVIEW.replace(BUNDLED_WINDOW, WINDOW)
}

fn configuration(api_url: &str, token: &str, agent: &Path) -> String {
    let text = |value: &str| serde_json::Value::from(value).to_string();
    format!(
        "# Written by `wloop demo`.\n\
         [sweep]\n\
         fast = \"3s\"\n\
         slow = \"10s\"\n\n\
         [plugins.github]\n\
         api_url = {}\n\
         web_url = {}\n\
         token = {}\n\n\
         # A colleague's last push need not have settled: this is a show.\n\
         [plugins.github.review]\n\
         settle = \"0s\"\n\n\
         [agents]\n\
         default = \"demo\"\n\n\
         [agents.demo]\n\
         preset = \"command\"\n\n\
         [agents.demo.headless]\n\
         command = [{}]\n",
        text(api_url),
        text(api_url),
        text(token),
        text(&agent.to_string_lossy()),
    )
}

/// The scripted agent, which is installed beside `wloop`.
pub(super) fn agent_beside(program: &Path) -> Result<PathBuf, Failure> {
    let agent = program.with_file_name("wloop-demo-agent");
    if agent.is_file() {
        return Ok(agent);
    }
    Err(Failure::Refused(format!(
        "the demo's agent is missing at `{}`; install `wloop-demo-agent` beside `wloop`, or build both with `cargo build -p wloop-cli`",
        agent.display()
    )))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{BUNDLED_REVIEW, BUNDLED_WINDOW, DemoHome, WINDOW, configuration, workflow};

    #[test]
    fn the_demo_shortens_the_bundled_window_and_nothing_else() {
        assert_eq!(BUNDLED_REVIEW.matches(BUNDLED_WINDOW).count(), 1);
        let own = workflow();
        let differing: Vec<(&str, &str)> = BUNDLED_REVIEW.lines().zip(own.lines()).filter(|(a, b)| a != b).collect();
        assert_eq!(differing, [(BUNDLED_WINDOW, WINDOW)]);
    }

    #[test]
    fn a_folder_that_holds_something_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), "profile = \"mine\"").unwrap();
        let failure = DemoHome::make(Some(dir.path())).unwrap_err();
        assert_eq!(failure.code(), 1);
        assert!(failure.line("").unwrap().contains("is not empty"));
        assert!(DemoHome::make(Some(&dir.path().join("new"))).unwrap().path().is_dir());
    }

    #[test]
    fn paths_and_tokens_are_quoted_in_the_configuration() {
        let text = configuration("http://127.0.0.1:1", "a\"b", Path::new("/a \\b/agent"));
        assert!(text.contains(r#"token = "a\"b""#) && text.contains(r#"command = ["/a \\b/agent"]"#), "{text}");
    }
}
