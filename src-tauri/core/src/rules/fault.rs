//! Faults of files that a person wrote.

use std::fmt;

/// One fault, with what is needed to mend it (PROF-05, CEL-02).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, as a path inside the profile or the home, such as `workflows/review/workflow.toml`.
    pub file: String,
    /// Line and column, from 1, where known.
    pub at: Option<(usize, usize)>,
    /// The key, dotted, such as `gates.approval.rule[0].window`; empty where the file as a whole is meant.
    pub key: String,
    /// What is wrong, lower case.
    pub what: String,
    /// What to write instead, or what is known there; empty where there is nothing to add.
    pub help: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": `{}`", self.key)?;
        }
        write!(f, ": {}", self.what)?;
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}
