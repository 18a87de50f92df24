//! The demo's agent: a reviewer without a model. It does what an agent's session does (reads its prompt and its task, looks at the
//! commits with git, posts, records) and says only what is so. On request it misbehaves, for tests.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::{IntoTransport, TokioChildProcess};
use serde_json::{Value, json};
use tokio::process::Command;

/// How many comments one review has at most; what is over is counted in its text.
const COMMENTS: usize = 20;

/// The word by which a test makes the agent misbehave, in the variable `WLOOP_DEMO_AGENT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// A review as it should be.
    Honest,
    /// Reads its task and never goes on.
    Hang,
    /// Writes noise, and ends well without a record.
    Rubbish,
    /// Writes 200 MB first.
    Flood,
    /// Ends with code 3 and a line of standard error.
    Crash,
    /// Posts and never goes on.
    PostThenHang,
    /// Posts and ends without a record.
    NoRecord,
    /// Makes the same post twice.
    Double,
    /// Proposes a draft beside its review, whatever the change is.
    Draft,
    /// Waits before it posts, until the file that `WLOOP_DEMO_WAIT` names is there.
    SlowBeforePost,
}

impl Script {
    const WORDS: [(Self, &'static str); 10] = [
        (Self::Honest, ""),
        (Self::Hang, "hang"),
        (Self::Rubbish, "rubbish"),
        (Self::Flood, "flood"),
        (Self::Crash, "crash"),
        (Self::PostThenHang, "post-then-hang"),
        (Self::NoRecord, "no-record"),
        (Self::Double, "double"),
        (Self::Draft, "draft"),
        (Self::SlowBeforePost, "slow-before-post"),
    ];
}

/// Why the agent gave up.
#[derive(Debug, thiserror::Error)]
pub enum AgentFault {
    /// The tools' server cannot be started or does not answer.
    #[error("the tools of the session cannot be reached: {0}")]
    Tools(String),
    /// A tool refused a call.
    #[error("`{tool}` refused: {why}")]
    Refused {
        /// The tool.
        tool: &'static str,
        /// Its words.
        why: String,
    },
    /// The task lacks what a review needs.
    #[error("the task has no `{0}`")]
    Task(&'static str),
    /// Git failed.
    #[error("`git diff` failed: {0}")]
    Git(String),
}

/// Runs the agent as a program: the prompt on standard input, the tools by `wloop mcp` from the `PATH`, the commits in the
/// folder it is started in. Exit code 0 when the round is recorded, 1 when something was refused, 2 for an unknown script.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is where the demo agent's process starts")]
pub fn run() -> ExitCode {
    let word = std::env::var("WLOOP_DEMO_AGENT").unwrap_or_default();
    let Some((script, _)) = Script::WORDS.into_iter().find(|(_, known)| *known == word) else {
        complain(&format!("`{word}` is no script of the demo's agent"));
        return ExitCode::from(2);
    };
    let mut prompt = Vec::new();
    if let Err(error) = std::io::stdin().read_to_end(&mut prompt) {
        complain(&format!("the prompt cannot be read: {error}"));
        return ExitCode::FAILURE;
    }
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let wait = std::env::var_os("WLOOP_DEMO_WAIT").map(PathBuf::from);
    let agent = Agent { script, wait, folder, prompt: String::from_utf8_lossy(&prompt).into_owned() };
    say(&format!("read a prompt of {} characters", agent.prompt.chars().count()));
    match script {
        Script::Rubbish => return noise(),
        Script::Crash => {
            complain("the demo's agent crashes, as it was told to");
            return ExitCode::from(3);
        }
        Script::Flood => flood(),
        Script::Honest
        | Script::Hang
        | Script::PostThenHang
        | Script::NoRecord
        | Script::Double
        | Script::Draft
        | Script::SlowBeforePost => {}
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("no runtime: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let mut server = Command::new("wloop");
    server.arg("mcp");
    let done = runtime.block_on(async {
        let transport = TokioChildProcess::new(server).map_err(|e| AgentFault::Tools(e.to_string()))?;
        agent.review(transport).await
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            complain(&fault.to_string());
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: there is nothing to do about that, and the tools will tell.
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

fn complain(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

fn noise() -> ExitCode {
    let bytes: Vec<u8> = (0..20_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    drop(std::io::stdout().write_all(&bytes));
    ExitCode::SUCCESS
}

fn flood() {
    let line = format!("{}\n", "flood ".repeat(170));
    let mut out = std::io::stdout().lock();
    for _ in 0..200_000_000 / line.len() {
        if out.write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

/// One run of the agent.
#[derive(Debug)]
struct Agent {
    script: Script,
    wait: Option<PathBuf>,
    folder: PathBuf,
    prompt: String,
}

type Session = RunningService<RoleClient, ()>;

impl Agent {
    async fn review<T, E, A>(&self, transport: T) -> Result<(), AgentFault>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let session: Session = ().serve(transport).await.map_err(|e| AgentFault::Tools(e.to_string()))?;
        let done = self.work(&session).await;
        if let Err(error) = session.cancel().await {
            complain(&format!("the tools' server did not end well: {error}"));
        }
        done
    }

    async fn work(&self, session: &Session) -> Result<(), AgentFault> {
        let listed = session.list_all_tools().await.map_err(|e| AgentFault::Tools(e.to_string()))?;
        let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
        say(&format!("tools: {}", names.join(", ")));
        let task = Task::of(&call(session, "task_read", json!({})).await?)?;
        say(&format!("reviewing {} at {}", task.slug, task.head));
        if self.script == Script::Hang {
            say("waiting for ever, as told");
            std::future::pending::<()>().await;
        }
        let look = Look::of(&diff(&self.folder, &task.merge_base, &task.head).await?);
        say(&look.counts());
        if look.files.is_empty() {
            let record = json!({ "verdict": "nothing", "summary": "The head does not differ from the merge base." });
            return call(session, "record", record).await.map(|_| ());
        }
        let mut review = Review::of(&task, &look, &self.prompt);
        if self.script == Script::Draft {
            review.question = Some("Is the limit meant to be that high, @ines?\n\nNo test says so.".to_owned());
        }
        if let Some(risk) = &look.risk {
            say(&format!("not publishing: {risk}"));
            let draft = json!({ "event": review.event, "body": review.body, "comments": review.comments });
            let summary = format!("{risk}. {}", review.summary);
            let record = json!({ "verdict": "asked", "condition": "risky_surface", "summary": summary, "draft": draft });
            return call(session, "record", record).await.map(|_| ());
        }
        self.publish(session, &task, &review).await
    }

    async fn publish(&self, session: &Session, task: &Task, review: &Review) -> Result<(), AgentFault> {
        if let Some(file) = self.wait.as_ref().filter(|_| self.script == Script::SlowBeforePost) {
            say("waiting before the post, as told");
            while !file.exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let post = json!({ "shape": "review", "event": review.event, "text": review.body, "head": task.head,
            "comments": review.comments });
        let times = if self.script == Script::Double { 2 } else { 1 };
        for _ in 0..times {
            let posted = call(session, "github_post", post.clone()).await?;
            say(&format!("posted {}", posted["url"].as_str().unwrap_or("a review")));
        }
        if let Some(question) = &review.question {
            // It is no part of the review, so the person decides whether it is asked at all.
            let draft = json!({ "text": question, "purpose": "question" });
            let proposed = call(session, "github_draft", draft).await?;
            say(&format!("proposed draft {}", proposed["draft"].as_str().unwrap_or_default()));
        }
        if self.script == Script::PostThenHang {
            say("waiting for ever after the post, as told");
            std::future::pending::<()>().await;
        }
        if self.script == Script::NoRecord {
            return Ok(());
        }
        let record = json!({ "verdict": "published", "event": review.event, "summary": review.summary,
            "findings": review.findings });
        call(session, "record", record).await?;
        say("recorded");
        Ok(())
    }
}

async fn call(session: &Session, tool: &'static str, arguments: Value) -> Result<Value, AgentFault> {
    let arguments = if let Value::Object(map) = arguments { map } else { serde_json::Map::new() };
    let request = CallToolRequestParams::new(tool).with_arguments(arguments);
    let answer = session.call_tool(request).await.map_err(|e| AgentFault::Tools(e.to_string()))?;
    let value = answer.structured_content.unwrap_or_default();
    if answer.is_error != Some(true) {
        return Ok(value);
    }
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    Err(AgentFault::Refused { tool, why: format!("{}: {} ({})", text("code"), text("message"), text("hint")) })
}

async fn diff(folder: &Path, from: &str, to: &str) -> Result<String, AgentFault> {
    let output = Command::new("git")
        .args(["-c", "core.quotePath=off", "diff", "--no-color", "--no-ext-diff", "--unified=0", "--find-renames"])
        .args(["--src-prefix=a/", "--dst-prefix=b/", from, to, "--"])
        .current_dir(folder)
        .output()
        .await
        .map_err(|e| AgentFault::Git(e.to_string()))?;
    if !output.status.success() {
        return Err(AgentFault::Git(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What the agent needs of its task.
#[derive(Debug)]
struct Task {
    slug: String,
    head: String,
    merge_base: String,
    follow_up: bool,
    guidance: Option<String>,
}

impl Task {
    fn of(answer: &Value) -> Result<Self, AgentFault> {
        let text = |part: &str, key: &'static str| {
            answer[part][key].as_str().map(str::to_owned).filter(|t| !t.is_empty()).ok_or(AgentFault::Task(key))
        };
        let guidance = answer["guidance"].as_str().map(str::trim).filter(|t| !t.is_empty());
        Ok(Self {
            slug: text("unit", "slug")?,
            head: text("turn", "head")?,
            merge_base: text("turn", "merge_base")?,
            follow_up: answer["turn"]["stage"] == "follow-up",
            guidance: guidance.map(str::to_owned),
        })
    }
}

/// Something to say about a line that was added.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: u64,
    title: &'static str,
    body: String,
    blocking: bool,
}

/// What was seen in a diff.
#[derive(Debug, Default)]
struct Look {
    /// The files with the lines added to each.
    files: BTreeMap<String, u64>,
    added: u64,
    removed: u64,
    findings: Vec<Finding>,
    /// The files that are new.
    new: Vec<String>,
    /// Why this should not go out without the person.
    risk: Option<String>,
}

impl Look {
    /// Reads what `git diff --unified=0` says.
    fn of(diff: &str) -> Self {
        let mut look = Self::default();
        let mut path = String::new();
        let mut line = 0;
        // How many lines of the hunk are still to come: a removed line of the file may itself begin with dashes.
        let (mut to_remove, mut to_add) = (0, 0);
        for text in diff.lines() {
            if to_remove > 0 && text.starts_with('-') {
                to_remove -= 1;
                look.removed += 1;
                look.note_risk(&path, text.get(1..).unwrap_or_default());
            } else if to_add > 0 && text.starts_with('+') {
                to_add -= 1;
                look.add(&path, line, text.get(1..).unwrap_or_default());
                line += 1;
            } else if let Some(header) = text.strip_prefix("diff --git ") {
                path = header.rsplit_once(" b/").map_or_else(|| header.to_owned(), |(_, path)| path.to_owned());
                look.files.insert(path.clone(), 0);
                look.note_risk(&path, "");
            } else if text.starts_with("new file mode") {
                look.new.push(path.clone());
            } else if let Some(ranges) = text.strip_prefix("@@ ").and_then(|rest| rest.split_once(" @@")).map(|(r, _)| r) {
                let mut ranges = ranges.split(' ').map(range);
                to_remove = ranges.next().map_or(0, |(_, count)| count);
                (line, to_add) = ranges.next().unwrap_or_default();
            }
        }
        look
    }

    fn add(&mut self, path: &str, line: u64, text: &str) {
        self.added += 1;
        *self.files.entry(path.to_owned()).or_default() += 1;
        self.note_risk(path, text);
        let code = text.trim();
        let found = [
            ("<<<<<<< ", "A conflict marker is left in", "This line is a conflict marker.", true, true),
            ("TODO", "A TODO is added", "This adds a TODO. Is there an issue that keeps it?", false, true),
            ("FIXME", "A FIXME is added", "This adds a FIXME. Should it be fixed before the merge?", false, true),
            (
                "unwrap(",
                "An unwrap is added",
                "This panics when there is no value. Can the error be returned?",
                true,
                !is_test(path),
            ),
        ];
        for (sign, title, body, blocking, counts) in found {
            if counts && text.contains(sign) && !path.starts_with('"') {
                let body = format!("{body}\n\n    {}", code.chars().take(200).collect::<String>());
                self.findings.push(Finding { path: path.to_owned(), line, title, body, blocking });
            }
        }
    }

    fn note_risk(&mut self, path: &str, text: &str) {
        if self.risk.is_some() {
            return;
        }
        let upper = text.to_uppercase();
        let mut words = upper.split(|c: char| !c.is_ascii_alphanumeric());
        if path.to_lowercase().contains("migration") {
            self.risk = Some(format!("`{path}` belongs to a migration"));
        } else if path.to_lowercase().ends_with(".sql")
            && let Some(word) = words.find(|word| ["DROP", "ALTER", "DELETE"].contains(word))
        {
            self.risk = Some(format!("`{path}` has a statement with {word}"));
        }
    }

    fn counts(&self) -> String {
        let files = many(self.files.len() as u64, "file");
        format!("{files} changed, {} added and {} removed", many(self.added, "line"), self.removed)
    }

    fn source_without_test(&self) -> bool {
        self.files.keys().any(|path| is_source(path) && !is_test(path)) && !self.files.keys().any(|path| is_test(path))
    }
}

/// Start and length of a range such as `+3,2`; without a length it is one line.
fn range(text: &str) -> (u64, u64) {
    let text = text.trim_start_matches(['-', '+']);
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    (start.parse().unwrap_or(0), count.parse().unwrap_or(0))
}

fn is_test(path: &str) -> bool {
    path.to_lowercase().split(['/', '_', '.', '-']).any(|part| matches!(part, "test" | "tests" | "spec" | "specs"))
}

fn is_source(path: &str) -> bool {
    let end = path.rsplit('.').next().unwrap_or_default();
    ["rs", "go", "py", "ts", "tsx", "js", "jsx", "java", "kt", "rb", "c", "cc", "cpp", "h", "swift", "svelte"].contains(&end)
}

/// The review that follows from what was seen.
#[derive(Debug)]
struct Review {
    event: &'static str,
    body: String,
    comments: Vec<Value>,
    findings: Vec<Value>,
    summary: String,
    /// What to ask the author beside it, where something is worth asking.
    question: Option<String>,
}

impl Review {
    fn of(task: &Task, look: &Look, prompt: &str) -> Self {
        let blocking = look.findings.iter().any(|finding| finding.blocking);
        let event = if prompt.contains("own pull request") {
            "COMMENT"
        } else if blocking {
            "REQUEST_CHANGES"
        } else if look.findings.is_empty() && !look.source_without_test() {
            "APPROVE"
        } else {
            "COMMENT"
        };
        let counts = look.counts();
        let mut body = if task.follow_up { format!("A second look: {counts}.\n") } else { format!("{counts}.\n") };
        if let Some((largest, added)) = look.files.iter().max_by_key(|(_, added)| **added).filter(|(_, added)| **added > 0) {
            body.push_str(&format!("\nMost was added to `{largest}`: {}.", many(*added, "line")));
        }
        if look.source_without_test() {
            body.push_str("\nSource code changed and no test did.");
        }
        if task.guidance.is_some() {
            body.push_str("\nI also looked at what I was asked to look at.");
        }
        let over = look.findings.len().saturating_sub(COMMENTS);
        if over > 0 {
            body.push_str(&format!("\n{over} more of the same kind have no comment of their own."));
        }
        let comments = look.findings.iter().take(COMMENTS);
        let findings = look.findings.iter().take(100);
        let mut summary = format!("{counts}; {}.", many(look.findings.len() as u64, "finding"));
        if let Some(guidance) = &task.guidance {
            let short: String = guidance.chars().take(500).collect();
            summary.push_str(&format!(" Looked at what you asked: {short}"));
        }
        let untested = look.new.iter().find(|path| is_source(path)).filter(|_| look.source_without_test());
        Self {
            event,
            body,
            summary,
            question: untested.map(|path| {
                format!("`{path}` is new, and no test came with it. Is one planned, or do the tests that are there cover it?")
            }),
            comments: comments.map(|f| json!({ "path": f.path, "line": f.line, "body": f.body })).collect(),
            findings: findings
                .map(|f| json!({ "title": f.title, "blocking": f.blocking, "path": f.path, "line": f.line }))
                .collect(),
        }
    }
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
