//! What is made from something else, and is as it would be made now.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use super::{files, is_as_made, text};

/// The description of the API, made from what a running daemon says.
const OPENAPI: &str = "docs/reference/openapi.json";
/// How long a daemon may take until it listens.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_bundled_profile_is_the_folder_of_profiles() {
    let settings = text("src-tauri/daemon/src/settings.rs");
    let mut bundled = BTreeSet::new();
    for line in settings.lines().filter(|line| line.contains("include_str!")) {
        let words: Vec<&str> = line.split('"').collect();
        let (name, source) = (words[1], words[3]);
        assert!(source.ends_with(&format!("/profiles/default/{name}")), "`{name}` is bundled from `{source}`");
        bundled.insert(name.to_owned());
    }
    let there = files().into_iter().filter_map(|path| path.strip_prefix("profiles/default/").map(str::to_owned)).collect();
    assert_eq!(bundled, there, "the files that `settings.rs` bundles, and those of `profiles/default`");
}

/// A daemon on a home of its own, killed when the test is done with it.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// What a daemon without any configuration says on its socket.
fn ask_a_daemon(path: &str) -> Value {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(wloop_tests::program("wloop"));
    command.args(["daemon", "--home"]).arg(home.path()).env_clear().envs(wloop_tests::plain_environment());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut daemon = Daemon(child);
    let output = daemon.0.stdout.take().unwrap();
    let (tell, told) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let _left = tell.send(read.map(|_| line));
    });
    let line = told.recv_timeout(PATIENCE).expect("the daemon listens in time").unwrap();
    reader.join().unwrap();
    let socket = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("the daemon said `{line}`"));
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: wloop\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    serde_json::from_str(body).unwrap_or_else(|fault| panic!("{fault}: {head}"))
}

#[test]
fn the_description_of_the_api_is_up_to_date() {
    let served = ask_a_daemon("/api/openapi.json");
    assert!(served["paths"].as_object().is_some_and(|paths| paths.len() > 10), "{served}");
    is_as_made(OPENAPI, &format!("{served:#}\n"));
}
