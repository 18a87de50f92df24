//! Where everything lies: one folder with `WLOOP_HOME` or `--home`, else the platform's own folders (interfaces.md, "Home and
//! environment").

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::AppStrategy as _;

/// The folders and files of one home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// `WLOOP_HOME` or `--home`, where one was given.
    pub given: Option<PathBuf>,
    /// `config.toml`.
    pub config: PathBuf,
    /// The person's profiles.
    pub profiles: PathBuf,
    /// The database.
    pub database: PathBuf,
    /// The folder of the socket, mode 0700.
    pub run: PathBuf,
    /// Logs and transcripts.
    pub logs: PathBuf,
    /// What can be made anew: workspaces, shims.
    pub data: PathBuf,
}

/// No home can be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HomeFault {
    /// The environment names no home folder.
    #[error("no home folder is known; set `WLOOP_HOME` or give `--home DIR`")]
    Unknown,
}

impl Home {
    /// The home that `--home`, else `WLOOP_HOME`, else the platform names.
    ///
    /// # Errors
    /// [`HomeFault::Unknown`] when the platform's folders are not known either.
    pub fn resolve(flag: Option<&Path>, environment: &BTreeMap<String, String>) -> Result<Self, HomeFault> {
        let given =
            flag.map(Path::to_path_buf).or_else(|| environment.get("WLOOP_HOME").filter(|v| !v.is_empty()).map(PathBuf::from));
        if let Some(root) = given {
            let root = std::path::absolute(&root).unwrap_or(root);
            return Ok(Self {
                config: root.join("config.toml"),
                profiles: root.join("profiles"),
                database: root.join("state.db"),
                run: root.join("run"),
                logs: root.join("logs"),
                data: root.clone(),
                given: Some(root),
            });
        }
        let strategy = etcetera::app_strategy::choose_native_strategy(etcetera::AppStrategyArgs {
            top_level_domain: "dev".to_owned(),
            author: "wloop".to_owned(),
            app_name: "wloop".to_owned(),
        })
        .map_err(|_| HomeFault::Unknown)?;
        // On macOS what a person writes lies in Application Support with the rest; Preferences is for the system's own kind of file.
        let settings = if cfg!(target_os = "macos") { strategy.data_dir() } else { strategy.config_dir() };
        let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
        let run = strategy.runtime_dir().unwrap_or_else(|| state.join("run"));
        Ok(Self {
            given: None,
            config: settings.join("config.toml"),
            profiles: settings.join("profiles"),
            database: state.join("state.db"),
            run,
            logs: state.join("logs"),
            data: strategy.data_dir(),
        })
    }

    /// Why nothing can lie in this home, such as that a file stands in its place; `None` when all is well or it is not made yet.
    #[must_use]
    pub fn unusable(&self) -> Option<String> {
        let root = self.given.as_ref()?;
        let meta = std::fs::metadata(root).ok()?;
        (!meta.is_dir())
            .then(|| format!("the home `{}` is no folder; name another with `--home DIR` or `WLOOP_HOME`", root.display()))
    }

    /// The daemon's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.run.join("wloop.sock")
    }

    /// Where transcripts of turns lie.
    #[must_use]
    pub fn transcripts(&self) -> PathBuf {
        self.logs.join("transcripts")
    }
}
