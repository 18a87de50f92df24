//! A few answers behind a Unix socket, and the command that asks for them. The real daemon's answers are the journeys' matter.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

/// A request as it arrived: method and target, then the head, then the body.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// `GET /api/plan`.
    pub(crate) line: String,
    /// The head in lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: String,
}

/// What to answer: status, content type and body; the connection is closed after it unless it is to be held.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Such as `200 OK`.
    pub(crate) status: &'static str,
    /// The content type.
    pub(crate) kind: &'static str,
    /// The body.
    pub(crate) body: String,
    /// Whether the connection stays open after the body, as an event stream does.
    pub(crate) hold: bool,
}

impl Answer {
    /// A JSON answer.
    pub(crate) fn json(body: &serde_json::Value) -> Self {
        Self { status: "200 OK", kind: "application/json", body: body.to_string(), hold: false }
    }

    /// An error answer.
    pub(crate) fn problem(status: &'static str, body: &serde_json::Value) -> Self {
        Self { status, kind: "application/problem+json", body: body.to_string(), hold: false }
    }
}

/// A folder with a socket on which the given function answers.
#[derive(Debug)]
pub(crate) struct Place {
    dir: tempfile::TempDir,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Place {
    /// A home whose socket nobody listens on.
    pub(crate) fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), asked: Arc::default() }
    }

    /// A home whose socket answers.
    pub(crate) fn answering(answer: impl Fn(&Asked) -> Answer + Send + 'static) -> Self {
        let place = Self::empty();
        std::fs::create_dir(place.home().join("run")).unwrap();
        let listener = UnixListener::bind(place.socket()).unwrap();
        let asked = Arc::clone(&place.asked);
        // Ends with the test's process.
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&mut stream) else { continue };
                let answer = answer(&request);
                asked.lock().unwrap().push(request);
                let length = if answer.hold { String::new() } else { format!("content-length: {}\r\n", answer.body.len()) };
                let text = format!(
                    "HTTP/1.1 {}\r\ncontent-type: {}\r\n{length}connection: close\r\n\r\n{}",
                    answer.status, answer.kind, answer.body
                );
                // The command may have been killed by its test already.
                drop(stream.write_all(text.as_bytes()));
                if answer.hold {
                    held.push(stream);
                }
            }
        });
        place
    }

    /// The folder.
    pub(crate) fn home(&self) -> &Path {
        self.dir.path()
    }

    /// Its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.home().join("run/wloop.sock")
    }

    /// What was asked so far, method and target only.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The command on this home, with an empty environment and without a terminal.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wloop"));
        command.env_clear().env("WLOOP_HOME", self.home()).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&self.command(words).output().unwrap())
    }
}

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Its exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Ran {
    /// From what the system tells.
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// The one line on standard error of a command that failed with this code and printed nothing else.
    pub(crate) fn failed(&self, code: i32) -> &str {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{self:?}");
        let line = self.err.strip_suffix('\n').unwrap_or_default();
        assert!(line.starts_with("error: ") && !line.contains('\n') && !line.contains('\u{1b}'), "{self:?}");
        line
    }

    /// Standard output of a command that did it and had nothing to complain about.
    pub(crate) fn done(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        &self.out
    }
}

fn read(stream: &mut UnixStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 8192];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head_lower = head.to_lowercase();
            let length =
                head_lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap_or(0);
            if body.len() >= length {
                let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
                return Some(Asked { line, head: head_lower, body: body.to_owned() });
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
