//! An agent on strings: a real agent process of the real daemon that does what the test tells it, one order after another, so that
//! a test can try every road that an agent could. Orders and answers are files in a folder of its session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::raw::{RawAnswer, RawRequest};
use crate::{Stage, until};

/// From where the puppet acts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// A child of the agent's process.
    #[default]
    Child,
    /// A process whose parent is gone, in the agent's process group.
    Orphan,
    /// The same in a session and a process group of its own (`setsid`).
    Escaped,
}

/// What is to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Act {
    /// A command with its environment.
    Run {
        /// Program and arguments; the program is looked up on the agent's `PATH`.
        argv: Vec<String>,
        /// Whether it starts from an empty environment instead of the agent's own.
        bare: bool,
        /// Variables that are taken out.
        unset: Vec<String>,
        /// Variables that are set.
        set: BTreeMap<String, String>,
    },
    /// A request on the daemon's socket.
    Http(RawRequest),
    /// A conversation with `wloop mcp`: each message that has an `id` is answered.
    Mcp {
        /// The messages.
        messages: Vec<Value>,
        /// Variables that are set for the server; an empty value takes one out.
        set: BTreeMap<String, String>,
    },
    /// The agent writes to its standard output and error.
    Say {
        /// For standard output.
        out: String,
        /// For standard error.
        err: String,
    },
    /// The agent ends with this code.
    End(i32),
}

/// One order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// From where.
    pub from: Standing,
    /// A file that must be there before it is done.
    pub after: Option<PathBuf>,
    /// What.
    pub act: Act,
}

/// What came of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Done {
    /// The exit code of a command.
    pub code: Option<i32>,
    /// Its output.
    pub out: String,
    /// Its errors, or why the order could not be done.
    pub err: String,
    /// The answer of a request.
    pub http: RawAnswer,
    /// The answers of the tools' server.
    pub mcp: Vec<Value>,
}

/// How a puppet was started.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Start {
    /// Its arguments.
    pub argv: Vec<String>,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// Its folder.
    pub folder: PathBuf,
    /// What it read from standard input.
    pub prompt: String,
}

/// The test's hand on one agent process.
#[derive(Debug)]
pub struct Puppet {
    folder: PathBuf,
    socket: PathBuf,
    next: u32,
    /// How it was started.
    pub start: Start,
}

impl Stage {
    /// Has the daemon start puppets as its agents. `program` is the built puppet. Before [`Stage::start`].
    pub fn use_puppets(&mut self, program: &str) {
        let folder = self.scratch().join("puppets").display().to_string();
        self.agent = vec![program.to_owned(), "play".to_owned(), folder];
    }

    /// The puppet that plays the running turn of a pull request, once it is there.
    pub async fn puppet(&self, number: u64) -> Puppet {
        let (all, slug) = (self.scratch().join("puppets"), format!("# Review {}\n", self.unit(number)));
        // The newest one: an earlier round of the same pull request has left its folder.
        let running = self.turn(number, &["sent", "started"]).await;
        until(&format!("the puppet of #{number}"), || async {
            for entry in std::fs::read_dir(&all).map_err(|e| e.to_string())?.flatten() {
                let start: Option<Start> = read(&entry.path().join("start.json"));
                if let Some(start) = start.filter(|s| s.prompt.contains(&slug) && s.prompt.contains(&running.head)) {
                    let given_up = entry.path().join("ended").exists();
                    if !given_up {
                        return Ok(Puppet { folder: entry.path(), socket: self.home().join("run/wloop.sock"), next: 1, start });
                    }
                }
            }
            Err("none".to_owned())
        })
        .await
    }
}

impl Puppet {
    /// Its session.
    ///
    /// # Panics
    /// When it was given none.
    #[must_use]
    pub fn session(&self) -> String {
        self.start.environment.get("WLOOP_SESSION").cloned().expect("an agent has a session")
    }

    /// Has it do something and waits for what comes of it.
    pub async fn order(&mut self, from: Standing, act: Act) -> Done {
        let pending = self.plan(from, None, act);
        self.done(&pending).await
    }

    /// Has it begin something that waits for the file `after`; the answer is asked for with [`Puppet::done`].
    ///
    /// # Panics
    /// When the order cannot be written.
    pub fn plan(&mut self, from: Standing, after: Option<PathBuf>, act: Act) -> PathBuf {
        let order = Order { from, after, act };
        write(&self.folder.join(format!("order-{}.json", self.next)), &order);
        let answer = self.folder.join(format!("answer-{}.json", self.next));
        self.next += 1;
        answer
    }

    /// What came of a planned order.
    pub async fn done(&self, answer: &Path) -> Done {
        until("a puppet's answer", || async { read(answer).ok_or_else(|| format!("no {}", answer.display())) }).await
    }

    /// Runs `wloop` as the agent would.
    pub async fn wloop(&mut self, arguments: &[&str]) -> Done {
        self.wloop_with(Standing::Child, arguments, false, &[], &[]).await
    }

    /// Runs `wloop` from that standing: from an empty environment where `bare`, without `unset`, with `set`.
    pub async fn wloop_with(
        &mut self,
        from: Standing,
        arguments: &[&str],
        bare: bool,
        unset: &[&str],
        set: &[(&str, &str)],
    ) -> Done {
        let argv = std::iter::once("wloop").chain(arguments.iter().copied()).map(str::to_owned).collect();
        let unset = unset.iter().map(|n| (*n).to_owned()).collect();
        let set = set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        self.order(from, Act::Run { argv, bare, unset, set }).await
    }

    /// Sends a request from that standing, with its session's header where `own`.
    pub async fn http(&mut self, from: Standing, request: RawRequest, own: bool) -> RawAnswer {
        let request = if own { request.header("Wloop-Session", &self.session()) } else { request };
        self.order(from, Act::Http(request)).await.http
    }

    /// Calls one of its tools by `wloop mcp` and gives the result: `structuredContent`, and whether it is a refusal.
    pub async fn tool(&mut self, name: &str, arguments: Value) -> (Value, bool) {
        let call = serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": name, "arguments": arguments } });
        let answers = self.mcp(vec![call], &[]).await;
        let result = answers.last().map(|a| a["result"].clone()).unwrap_or_default();
        (result["structuredContent"].clone(), result["isError"] == true)
    }

    /// A conversation with `wloop mcp`, its opening included; the answers to `messages`.
    pub async fn mcp(&mut self, messages: Vec<Value>, set: &[(&str, &str)]) -> Vec<Value> {
        let mut all = vec![
            serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
                "capabilities": {}, "clientInfo": { "name": "puppet", "version": "1" } } }),
            serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ];
        all.extend(messages);
        let set = set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let mut answers = self.order(Standing::Child, Act::Mcp { messages: all, set }).await.mcp;
        if !answers.is_empty() {
            answers.remove(0);
        }
        answers
    }

    /// Says something on its standard output and error.
    pub async fn say(&mut self, out: &str, err: &str) {
        self.order(Standing::Child, Act::Say { out: out.to_owned(), err: err.to_owned() }).await;
    }

    /// Ends with that code.
    pub fn end(&mut self, code: i32) {
        self.plan(Standing::Child, None, Act::End(code));
    }

    /// The daemon's socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

/// Reads a file that the other side has written whole.
pub fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Writes a file that the other side sees only whole.
///
/// # Panics
/// When it cannot be written.
pub fn write<T: Serialize>(path: &Path, value: &T) {
    let part = path.with_extension("part");
    std::fs::write(&part, serde_json::to_vec(value).expect("it is JSON")).expect("it is written");
    std::fs::rename(&part, path).expect("it is put in place");
}
