//! The folder in which an agent keeps its own settings, and the one entry that wloop may write there: that the agent trusts a
//! folder (RUN-31, table R1). What the new text of a file is, is decided apart from writing it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, value};

/// An agent whose home can be told that a folder is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentHome {
    /// Claude Code's.
    Claude,
    /// Codex's.
    Codex,
    /// Gemini's.
    Gemini,
}

/// Why a folder could not be told to be trusted. The file is as it was then.
#[derive(Debug, thiserror::Error)]
pub enum HomeFault {
    /// The file is not what its agent writes.
    #[error("`{}` cannot be read as {what}: {why}; mend it, or trust the folder in the agent itself", .path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The folder's name cannot be an entry.
    #[error("the folder `{0}` cannot be trusted by name: it must be an absolute path of plain text")]
    Folder(String),
    /// The file cannot be read or replaced.
    #[error("`{}` cannot be written; look at its rights and the free space", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl AgentHome {
    /// The home of a preset; `None` for one without a home of its own, such as `command`.
    #[must_use]
    pub fn of_preset(preset: &str) -> Option<Self> {
        match preset {
            "claude-code" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "gemini" => Some(Self::Gemini),
            _ => None,
        }
    }

    /// The file that holds the entry, for an agent with this environment (`HOME`, and the variables by which it is moved);
    /// `None` without a home folder.
    #[must_use]
    pub fn file(self, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
        let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME");
        match self {
            Self::Claude => Some(set("CLAUDE_CONFIG_DIR").or(home)?.join(".claude.json")),
            Self::Codex => Some(set("CODEX_HOME").or_else(|| Some(home?.join(".codex")))?.join("config.toml")),
            Self::Gemini => set("GEMINI_CLI_TRUSTED_FOLDERS_PATH").or_else(|| {
                let folder = set("GEMINI_CLI_HOME").or(home)?;
                Some(folder.join(".gemini/trustedFolders.json"))
            }),
        }
    }

    /// The text of the home's file with the entry for `folder` in it; `None` when it is there already. `text` is what the file
    /// holds, empty where there is none.
    ///
    /// # Errors
    /// What is wrong with the text, in words.
    pub fn with_entry(self, text: &str, folder: &str) -> Result<Option<String>, String> {
        match self {
            Self::Claude => set_json(text, &["projects", folder, "hasTrustDialogAccepted"], &Value::Bool(true)),
            Self::Gemini => set_json(text, &[folder], &Value::from("TRUST_FOLDER")),
            Self::Codex => set_toml(text, folder),
        }
    }

    fn format(self) -> &'static str {
        match self {
            Self::Claude | Self::Gemini => "JSON",
            Self::Codex => "TOML",
        }
    }
}

/// Tells an agent's home that `folder` is trusted: exactly that entry, every other key and the layout kept, the file replaced
/// whole. `false` when the entry is there and nothing was written (RUN-31).
///
/// # Errors
/// Why not; the file is as it was.
pub fn trust(home: AgentHome, file: &Path, folder: &Path) -> Result<bool, HomeFault> {
    let name = folder.to_str().filter(|name| folder.is_absolute() && !name.chars().any(char::is_control));
    let name = name.ok_or_else(|| HomeFault::Folder(folder.display().to_string()))?;
    // Through a link, so that a home that is kept elsewhere stays linked.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let fault = |source| HomeFault::Io { path: file.clone(), source };
    let odd = |why: String| HomeFault::Odd { path: file.clone(), what: home.format(), why };
    let text = match std::fs::read(&file) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| odd("it is not UTF-8".to_owned()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fault(error)),
    };
    let Some(new) = home.with_entry(&text, name).map_err(odd)? else { return Ok(false) };
    let parent = file.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(fault)?;
    let mode = std::fs::metadata(&file).map_or(0o600, |meta| meta.permissions().mode() & 0o777);
    let fresh = parent.join(format!(".wloop-trust.{}", std::process::id()));
    let written = (|| {
        let mut out = std::fs::File::create(&fresh)?;
        out.set_permissions(std::fs::Permissions::from_mode(mode))?;
        out.write_all(new.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&fresh, &file)
    })();
    written.map_err(|source| {
        let _gone = std::fs::remove_file(&fresh);
        fault(source)
    })?;
    Ok(true)
}

fn set_toml(text: &str, folder: &str) -> Result<Option<String>, String> {
    let mut document: DocumentMut = text.parse().map_err(|fault: toml_edit::TomlError| fault.message().to_owned())?;
    let present = document.get("projects").and_then(|p| p.get(folder)).and_then(|p| p.get("trust_level"));
    if present.and_then(Item::as_str) == Some("trusted") {
        return Ok(None);
    }
    let projects = document.entry("projects").or_insert_with(|| {
        let mut table = Table::new();
        // No line of its own: only `[projects."…"]` is written.
        table.set_implicit(true);
        Item::Table(table)
    });
    let projects = projects.as_table_like_mut().ok_or("`projects` is no table")?;
    let project = projects.entry(folder).or_insert_with(toml_edit::table);
    let project = project.as_table_like_mut().ok_or_else(|| format!("`projects.\"{folder}\"` is no table"))?;
    match project.get_mut("trust_level") {
        // Only the value: what is written beside it, such as a remark, stays.
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = "trusted".into();
            *old.decor_mut() = decor;
        }
        _ => {
            project.insert("trust_level", value("trusted"));
        }
    }
    Ok(Some(document.to_string()))
}

// ---- one member of a JSON text, the rest untouched ------------------------------------------------------------------------

/// Sets the member at `path`; `None` when it holds that value already. Everything else stays to the letter: agents keep numbers
/// and orders in these files that a rewrite by values would change.
fn set_json(text: &str, path: &[&str], wanted: &Value) -> Result<Option<String>, String> {
    let start = if text.trim().is_empty() { "{}\n" } else { text };
    // The walk below may then take the text for right.
    let whole: Value = serde_json::from_str(start).map_err(|fault| fault.to_string())?;
    if !whole.is_object() {
        return Err("it is no object".to_owned());
    }
    let mut at = start.find('{').unwrap_or(0);
    for (depth, key) in path.iter().enumerate() {
        let object = Object::read(start, at);
        let last = depth + 1 == path.len();
        // Of a name that stands twice the last one counts, for agents as for everybody.
        let Some(member) = object.members.iter().rev().find(|member| member.key == **key) else {
            let rest = path.get(depth + 1..).unwrap_or_default();
            return Ok(Some(object.insert(start, key, rest, wanted)));
        };
        let found = start.get(member.value.clone()).unwrap_or_default();
        if last {
            if serde_json::from_str::<Value>(found).ok().as_ref() == Some(wanted) {
                return Ok(None);
            }
            let (before, after) = (start.get(..member.value.start), start.get(member.value.end..));
            return Ok(Some(format!("{}{wanted}{}", before.unwrap_or_default(), after.unwrap_or_default())));
        }
        if !found.starts_with('{') {
            return Err(format!("`{}` is no object", path.get(..=depth).unwrap_or_default().join(".")));
        }
        at = member.value.start;
    }
    Ok(None)
}

struct Member {
    key: String,
    /// Where its name begins.
    start: usize,
    value: std::ops::Range<usize>,
}

/// One object of a right JSON text.
struct Object {
    open: usize,
    close: usize,
    members: Vec<Member>,
}

impl Object {
    /// Reads the object whose brace stands at `open`.
    fn read(text: &str, open: usize) -> Self {
        let bytes = text.as_bytes();
        let mut members = Vec::new();
        let mut at = open + 1;
        loop {
            at = skip(bytes, at, |b| b.is_ascii_whitespace() || b == b',');
            if bytes.get(at) != Some(&b'"') {
                return Self { open, close: at, members };
            }
            let start = at;
            at = end_of_text(bytes, at);
            let key = serde_json::from_str(text.get(start..at).unwrap_or_default()).unwrap_or_default();
            let from = skip(bytes, at, |b| b.is_ascii_whitespace() || b == b':');
            at = end_of_value(bytes, from);
            members.push(Member { key, start, value: from..at });
        }
    }

    /// The text with a new last member, written as its siblings are: `rest` are the names of objects within it.
    fn insert(&self, text: &str, key: &str, rest: &[&str], wanted: &Value) -> String {
        let nested = |value: Value, name: &&str| Value::Object([((*name).to_owned(), value)].into_iter().collect());
        let value = rest.iter().rev().fold(wanted.clone(), nested);
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        // The blanks before the last member are those of its line.
        let (after, gap) = match self.members.last() {
            Some(last) => {
                let before = part(0, last.start);
                let gap = part(before.trim_end().len(), last.start);
                (last.value.end, gap.to_owned())
            }
            None => (self.open + 1, String::new()),
        };
        let outer = line_indent(part(0, self.open)).to_owned();
        let (gap, tail) = match (self.members.is_empty(), gap.contains('\n')) {
            (true, _) => (format!("\n{outer}  "), format!("\n{outer}")),
            (false, _) => (gap, part(after, self.close).to_owned()),
        };
        let step = gap.rsplit('\n').next().unwrap_or_default().strip_prefix(outer.as_str()).unwrap_or("  ");
        let mut shown = if gap.contains('\n') { pretty(&value, step) } else { value.to_string() };
        if let Some(indent) = gap.contains('\n').then(|| gap.rsplit('\n').next().unwrap_or_default()) {
            shown = shown.replace('\n', &format!("\n{indent}"));
        }
        let comma = if self.members.is_empty() { "" } else { "," };
        let name = Value::from(key);
        let colon = if gap.contains('\n') || part(self.open, self.close).contains("\": ") { ": " } else { ":" };
        format!("{}{comma}{gap}{name}{colon}{shown}{tail}{}", part(0, after), part(self.close, text.len()))
    }
}

fn pretty(value: &Value, step: &str) -> String {
    use serde::Serialize as _;
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(step.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, format);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_else(|_| value.to_string()),
        Err(_) => value.to_string(),
    }
}

/// The blanks at the beginning of the line that `before` ends in.
fn line_indent(before: &str) -> &str {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn skip(bytes: &[u8], mut at: usize, over: impl Fn(u8) -> bool) -> usize {
    while bytes.get(at).is_some_and(|b| over(*b)) {
        at += 1;
    }
    at
}

/// Behind the closing quote of the text that begins at `at`.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// Behind the value that begins at `at`.
fn end_of_value(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_text(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return if depth == 0 { at } else { at + 1 },
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            b if b.is_ascii_whitespace() && depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
