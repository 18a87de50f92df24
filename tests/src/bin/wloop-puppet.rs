//! The puppet's own side: `play FOLDER` is the agent, `act ORDER ANSWER` is a process that does one order for it.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program of the tests: it speaks as an agent, waits for its orders and stops where it cannot go on"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use wloop_tests::puppet::{Act, Done, Order, Standing, Start, read, write};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let argument = |n: usize| PathBuf::from(arguments.get(n).map_or("", String::as_str));
    match arguments.get(1).map(String::as_str) {
        Some("play") => play(&argument(2)),
        Some("act") => act(&argument(2), &argument(3)),
        _ => std::process::exit(2),
    }
}

/// Waits until `look` finds something; ends with the test whose folder is gone.
fn wait<T>(folder: &Path, look: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        if !folder.exists() {
            std::process::exit(1);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn play(all: &Path) {
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).expect("the prompt");
    println!("the puppet is ready");
    let session = environment.get("WLOOP_SESSION").cloned().unwrap_or_default();
    let folder = all.join(&session);
    std::fs::create_dir_all(&folder).expect("a folder");
    let start =
        Start { argv: std::env::args().collect(), environment, folder: std::env::current_dir().expect("a folder"), prompt };
    write(&folder.join("start.json"), &start);
    for n in 1.. {
        let path = folder.join(format!("order-{n}.json"));
        let order: Order = wait(&folder, || read(&path));
        let answer = folder.join(format!("answer-{n}.json"));
        match (&order.act, order.from) {
            (Act::Say { out, err }, _) => {
                print!("{out}");
                eprint!("{err}");
                std::io::stdout().flush().expect("it is said");
                write(&answer, &Done::default());
            }
            (Act::End(code), _) => {
                std::fs::write(folder.join("ended"), "").expect("a note");
                std::process::exit(*code);
            }
            (_, Standing::Child) => {
                let mut child = helper(&path, &answer);
                child.status().expect("the child runs");
            }
            (_, Standing::Orphan | Standing::Escaped) => {
                // A shell that starts it in the background and is gone at once.
                let me = std::env::current_exe().expect("the puppet");
                let script = "\"$0\" act \"$1\" \"$2\" >/dev/null 2>&1 </dev/null &";
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", script]).arg(me).arg(&path).arg(&answer).status().expect("the shell runs");
            }
        }
    }
}

fn helper(order: &Path, answer: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the puppet"));
    command.arg("act").arg(order).arg(answer).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn act(path: &Path, answer: &Path) {
    let folder = path.parent().expect("a folder").to_owned();
    let order: Order = read(path).expect("an order");
    let parent = || rustix::process::getppid().map(rustix::process::Pid::as_raw_nonzero);
    if order.from == Standing::Escaped {
        rustix::process::setsid().expect("a session of its own");
    }
    if order.from != Standing::Child {
        // The shell may still be there: its end is waited for.
        let shell = |pid: i32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            matches!(name.trim(), "sh" | "dash" | "bash")
        };
        wait(&folder, || parent().is_none_or(|pid| !shell(pid.get())).then_some(()));
    }
    if let Some(file) = &order.after {
        wait(&folder, || file.exists().then_some(()));
    }
    let done = match order.act {
        Act::Run { argv, bare, unset, set } => run(&argv, bare, &unset, &set),
        Act::Http(request) => {
            let socket = std::env::var("WLOOP_SOCKET").expect("a socket");
            match request.send(Path::new(&socket)) {
                Ok(http) => Done { http, ..Done::default() },
                Err(fault) => Done { err: fault.to_string(), ..Done::default() },
            }
        }
        Act::Mcp { messages, set } => mcp(&messages, &set),
        Act::Say { .. } | Act::End(_) => Done::default(),
    };
    write(answer, &done);
}

fn run(argv: &[String], bare: bool, unset: &[String], set: &BTreeMap<String, String>) -> Done {
    let (program, rest) = argv.split_first().expect("a program");
    // The `wloop` that the daemon put first on the agent's `PATH`, also where the command's own environment is empty.
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path.split(':').map(|folder| Path::new(folder).join(program)).find(|file| file.exists());
    let mut command = Command::new(found.unwrap_or_else(|| PathBuf::from(program)));
    command.args(rest).stdin(Stdio::null());
    if bare {
        command.env_clear();
    }
    for name in unset {
        command.env_remove(name);
    }
    let output = command.envs(set).output().expect("the command runs");
    Done {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        ..Done::default()
    }
}

fn mcp(messages: &[Value], set: &BTreeMap<String, String>) -> Done {
    let mut command = Command::new("wloop");
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in set {
        if value.is_empty() {
            command.env_remove(name);
        } else {
            command.env(name, value);
        }
    }
    let mut server = command.spawn().expect("the server starts");
    let mut input = server.stdin.take().expect("its input");
    let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
    let mut answers = Vec::new();
    for message in messages {
        writeln!(input, "{message}").expect("it is written");
        while message.get("id").is_some() {
            let Some(Ok(line)) = lines.next() else { break };
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == message["id"] {
                answers.push(answer);
                break;
            }
        }
    }
    drop(input);
    let output = server.wait_with_output().expect("the server ends");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    Done { code: output.status.code(), err, mcp: answers, ..Done::default() }
}
