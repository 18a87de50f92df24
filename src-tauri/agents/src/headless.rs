//! One headless run: a process is started, is given its prompt, is listened to within limits, and leaves nothing behind.
//!
//! It happens in two steps, so that the daemon can store what was started before the prompt is given (RUN-07): [`spawn`] starts
//! the process, which waits at its standard input; [`Spawned::run`] does the rest. A `Spawned` that is dropped ends its group.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::listen::Listener;
use crate::output::{OutputFormat, ReportedError, Usage};
use crate::process::{Group, ProcessStart, find_program};
use crate::redact::Redactor;
use crate::stream::Lines;
use crate::transcript::{Said, Writer};

/// How long a killed process may take to be gone, before the run is ended without it.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// How long output is awaited once nothing of the group runs: a process that left the group may hold the stream for ever.
const DRAIN: Duration = Duration::from_secs(1);

/// What to run and within which limits.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// Program and arguments, run without a shell (RUN-03).
    pub command: Vec<String>,
    /// How it writes its output.
    pub output: OutputFormat,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// Its whole environment (RUN-04).
    pub environment: BTreeMap<String, String>,
    /// What it is given on standard input.
    pub prompt: String,
    /// The file its transcript is written to (RUN-29).
    pub transcript: PathBuf,
    /// The limits.
    pub limits: Limits,
    /// Every token the daemon knows (RUN-34).
    pub redact: Vec<String>,
}

/// The limits of a run (RUN-11 to RUN-13).
#[derive(Debug, Clone)]
pub struct Limits {
    /// In all.
    pub total: Duration,
    /// Without a byte of output on either stream.
    pub silence: Duration,
    /// Bytes of one line that are kept.
    pub line: usize,
    /// Bytes of standard output that are kept, counted as the transcript writes them.
    pub stdout: u64,
    /// Bytes of standard error that are kept, its last ones.
    pub stderr_tail: usize,
    /// From asking a group to end until it is killed.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(45 * 60),
            silence: Duration::from_secs(10 * 60),
            line: 4 << 20,
            stdout: 64 << 20,
            stderr_tail: 256 << 10,
            grace: Duration::from_secs(10),
        }
    }
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    /// The program is nowhere on the agent's `PATH` (RUN-03).
    #[error("the program `{program}` is not on the agent's PATH; install it or name another one in the agent's `command`")]
    Missing {
        /// As the command names it.
        program: String,
    },
    /// The command is an empty list.
    #[error("the agent's command is empty; give `agents.<name>.headless.command` a program")]
    NoCommand,
    /// A token would have stood in an argument, where every process on the machine reads it (RUN-05).
    #[error("an argument of `{program}` holds a token; take it out of the agent's `command`")]
    Token {
        /// The program.
        program: String,
    },
    /// The folder to run in is not there.
    #[error("the folder `{}` is not there; the workspace has to be prepared again", .folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
    },
    /// The transcript cannot be made.
    #[error("the transcript `{}` cannot be written; check the folder and the free space", .path.display())]
    Transcript {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The system would not start it.
    #[error("`{program}` could not be started")]
    Spawn {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
}

/// What happens in a run while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEvent {
    /// The whole prompt was written and the stream closed.
    PromptGiven,
    /// The first line on either stream after the prompt: the agent works (RUN-20).
    FirstLine,
    /// The agent's own session id (RUN-14).
    AgentSession(String),
    /// The agent says that it failed. It may take that back before it ends.
    Reported(ReportedError),
}

/// Which limit ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The time in all.
    Total,
    /// The time without output.
    Silence,
}

/// How the process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// The system does not tell, or it outlived its kill.
    Unknown(String),
}

/// How a run ended; table R2 makes a turn's state of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// How the process ended.
    pub exit: Ended,
    /// The error that the agent reported last and did not take back.
    pub reported: Option<ReportedError>,
    /// The limit that ended it.
    pub limit: Option<Limit>,
    /// Whether it was cancelled before it ended by itself.
    pub cancelled: bool,
    /// Whether the prompt was taken; when not, the start failed and no turn began.
    pub prompt_given: bool,
    /// Whether a line came after the prompt.
    pub spoke: bool,
    /// The agent's own session id.
    pub agent_session: Option<String>,
    /// The last ten lines of standard error.
    pub stderr_tail: Vec<String>,
    /// Bytes of both streams that were not kept.
    pub dropped_bytes: u64,
    /// What it used, where it says so.
    pub usage: Option<Usage>,
    /// Why the transcript is not complete.
    pub transcript_fault: Option<String>,
}

/// A started process that waits for its prompt.
#[derive(Debug)]
pub struct Spawned {
    /// Its id.
    pub pid: u32,
    /// When it started; with the id it is known for good.
    pub started: ProcessStart,
    /// Its process group; the same number as its id.
    pub pgid: u32,
    spec: RunSpec,
    redactor: Redactor,
    transcript: Writer,
    begun: Instant,
    child: Child,
    streams: Option<(ChildStdin, ChildStdout, ChildStderr)>,
    guard: Guard,
}

/// Ends the group when the run is given up, for example because the daemon's runtime ends.
#[derive(Debug)]
struct Guard {
    group: Group,
    armed: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.armed {
            self.group.kill();
        }
    }
}

/// Starts the process (RUN-03, RUN-07): without a shell, with only the environment given, in a process group of its own, its
/// three streams being pipes. Needs a tokio runtime.
///
/// # Errors
/// When it cannot be started. Nothing runs then.
pub fn spawn(spec: RunSpec) -> Result<Spawned, StartFault> {
    let redactor = Redactor::new(&spec.redact);
    let (program, arguments) = spec.command.split_first().ok_or(StartFault::NoCommand)?;
    if spec.command.iter().any(|word| redactor.finds(word)) {
        return Err(StartFault::Token { program: redactor.apply(program.clone()) });
    }
    if !spec.folder.is_dir() {
        return Err(StartFault::Folder { folder: spec.folder });
    }
    let path = spec.environment.get("PATH").map_or("", String::as_str);
    let Some(found) = find_program(program, path, &spec.folder) else {
        return Err(StartFault::Missing { program: program.clone() });
    };
    let begun = Instant::now();
    let mut transcript = match Writer::create(&spec.transcript, begun) {
        Ok(transcript) => transcript,
        Err(source) => return Err(StartFault::Transcript { path: spec.transcript, source }),
    };
    transcript.say(Said::Start {
        command: spec.command.clone(),
        folder: spec.folder.display().to_string(),
        environment: spec.environment.keys().cloned().collect(),
    });
    transcript.flush();
    let started = Command::new(found)
        .args(arguments)
        .env_clear()
        .envs(&spec.environment)
        .current_dir(&spec.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let fault = |source| StartFault::Spawn { program: program.clone(), source };
    let mut child = started.map_err(fault)?;
    let pid = child.id().ok_or_else(|| fault(std::io::Error::other("it has no id")))?;
    let guard = Guard { group: Group(pid), armed: true };
    let started = ProcessStart::of(pid).ok_or_else(|| fault(std::io::Error::other("its start time cannot be read")))?;
    let streams = match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Some((stdin, stdout, stderr)),
        _ => return Err(fault(std::io::Error::other("its streams are missing"))),
    };
    Ok(Spawned { pid, started, pgid: pid, spec, redactor, transcript, begun, child, streams, guard })
}

/// Where the process is on its way to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Asked to end; killed at this time.
    Asked(Instant),
    /// Killed; given up at this time.
    Killed(Instant),
}

async fn give(mut stdin: ChildStdin, prompt: String) -> std::io::Result<()> {
    stdin.write_all(prompt.as_bytes()).await?;
    stdin.shutdown().await
    // Dropped here: an agent that reads to the end of its input must see the end (RUN-08).
}

async fn step_either(out: &mut Lines<ChildStdout>, err: &mut Lines<ChildStderr>) {
    tokio::select! {
        () = out.step(), if !out.ended() => {}
        () = err.step(), if !err.ended() => {}
    }
}

fn ended(status: std::io::Result<ExitStatus>) -> Ended {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exit(code),
            (None, Some(signal)) => Ended::Signal(signal),
            (None, None) => Ended::Unknown(status.to_string()),
        },
        Err(error) => Ended::Unknown(error.to_string()),
    }
}

impl Spawned {
    /// Gives the prompt, listens until the process and everything it started have ended, and answers how it ended. Events that
    /// nobody takes are kept as far as [`RunEnd`] has a place for them. After `cancel` the group is asked to end, and killed
    /// after the limits' grace (RUN-13).
    pub async fn run(mut self, events: mpsc::Sender<RunEvent>, cancel: CancellationToken) -> RunEnd {
        let Some((stdin, stdout, stderr)) = self.streams.take() else {
            return RunEnd::never_ran("its streams are missing");
        };
        let limits = self.spec.limits.clone();
        let group = self.guard.group;
        let slack = self.redactor.longest();
        let mut out = Lines::new(stdout, limits.line.saturating_add(slack));
        let mut err = Lines::new(stderr, limits.line.min(limits.stderr_tail).saturating_add(slack));
        // No token reaches the agent by its prompt either (RUN-05).
        let prompt = self.redactor.apply(std::mem::take(&mut self.spec.prompt));
        self.transcript.say(Said::Prompt { text: prompt.clone() });
        self.transcript.flush();
        let mut listener = Listener::new(self.spec.output, &limits, self.redactor, self.transcript);
        let mut giving = std::pin::pin!(give(stdin, prompt));
        let mut giving_done = false;
        let mut tick = tokio::time::interval(Duration::from_millis(20));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut phase = Phase::Running;
        let (mut limit, mut cancelled) = (None, false);
        let mut exit: Option<Ended> = None;
        let mut empty_since: Option<Instant> = None;
        let total_at = self.begun + limits.total;
        let mut heard_at = Instant::now();
        let asked = || {
            group.ask();
            Phase::Asked(Instant::now() + limits.grace)
        };

        loop {
            let streams_end = out.ended() && err.ended();
            if empty_since.is_some_and(|at| streams_end || at.elapsed() >= DRAIN) {
                break;
            }
            let works = phase == Phase::Running && exit.is_none();
            let phase_ends = match phase {
                Phase::Running => None,
                Phase::Asked(at) | Phase::Killed(at) => Some(at),
            };
            // In this order, so that a flood of output delays no limit and no cancelling.
            tokio::select! {
                biased;
                given = &mut giving, if !giving_done => {
                    giving_done = true;
                    match given {
                        Ok(()) => {
                            listener.prompt_given = true;
                            listener.events.push_back(RunEvent::PromptGiven);
                        }
                        Err(error) => {
                            listener.transcript.say(Said::Note { text: format!("the prompt was not taken: {error}") });
                        }
                    }
                }
                () = cancel.cancelled(), if works => {
                    cancelled = true;
                    phase = asked();
                }
                () = sleep_until(total_at), if works => {
                    limit = Some(Limit::Total);
                    phase = asked();
                }
                () = sleep_until(heard_at + limits.silence), if works => {
                    limit = Some(Limit::Silence);
                    phase = asked();
                }
                () = sleep_until(phase_ends.unwrap_or(total_at)), if phase_ends.is_some() && empty_since.is_none() => {
                    if matches!(phase, Phase::Killed(_)) {
                        tracing::warn!(pid = self.pid, "a process outlives its kill");
                        break;
                    }
                    group.kill();
                    phase = Phase::Killed(Instant::now() + KILL_WAIT);
                }
                status = self.child.wait(), if exit.is_none() => {
                    exit = Some(ended(status));
                    group.collect();
                    if !group.lives() {
                        empty_since = Some(Instant::now());
                    } else if phase == Phase::Running {
                        // What the agent left running in the background ends with it.
                        phase = asked();
                    }
                }
                _ = tick.tick(), if exit.is_some() => {
                    group.collect();
                    if empty_since.is_none() && !group.lives() {
                        empty_since = Some(Instant::now());
                    }
                }
                permit = events.reserve(), if !listener.events.is_empty() => match permit {
                    Ok(permit) => {
                        if let Some(event) = listener.events.pop_front() {
                            permit.send(event);
                        }
                    }
                    Err(_) => listener.events.clear(),
                },
                () = step_either(&mut out, &mut err), if !streams_end => {
                    heard_at = Instant::now();
                    while let Some(line) = out.take() {
                        listener.out(&line);
                        // Plain output decides nothing, so what is not kept need not be looked at.
                        if listener.muted && listener.output == OutputFormat::Plain {
                            out.mute();
                        }
                    }
                    while let Some(line) = err.take() {
                        listener.err(&line);
                    }
                    listener.transcript.flush();
                }
            }
        }

        listener.finish();
        for event in std::mem::take(&mut listener.events) {
            // A full channel: everything of it is in the end, too.
            if events.try_send(event).is_err() {
                break;
            }
        }
        let exit = exit.unwrap_or_else(|| Ended::Unknown("it did not end when it was killed".to_owned()));
        self.guard.armed = empty_since.is_none();
        let end = RunEnd {
            reported: listener.reported.take(),
            limit,
            cancelled,
            prompt_given: listener.prompt_given,
            spoke: listener.spoke,
            agent_session: listener.session.take(),
            stderr_tail: std::mem::take(&mut listener.last).into(),
            dropped_bytes: listener.dropped + out.unkept() + err.unkept(),
            usage: listener.usage.take(),
            transcript_fault: None,
            exit,
        };
        listener.transcript.say(Said::End { text: end.in_words() });
        listener.transcript.flush();
        RunEnd { transcript_fault: listener.transcript.fault().map(str::to_owned), ..end }
    }
}

impl RunEnd {
    fn never_ran(why: &str) -> Self {
        Self {
            exit: Ended::Unknown(why.to_owned()),
            reported: None,
            limit: None,
            cancelled: false,
            prompt_given: false,
            spoke: false,
            agent_session: None,
            stderr_tail: Vec::new(),
            dropped_bytes: 0,
            usage: None,
            transcript_fault: None,
        }
    }

    /// The end in words, for the transcript.
    fn in_words(&self) -> String {
        let mut text = match &self.exit {
            Ended::Exit(code) => format!("exit code {code}"),
            Ended::Signal(signal) => format!("signal {signal}"),
            Ended::Unknown(why) => why.clone(),
        };
        if self.cancelled {
            text.push_str(", cancelled");
        }
        match self.limit {
            Some(Limit::Total) => text.push_str(", over its time"),
            Some(Limit::Silence) => text.push_str(", silent for too long"),
            None => {}
        }
        if let Some(error) = &self.reported {
            text.push_str(&format!(", reported: {}", error.text));
        }
        if self.dropped_bytes > 0 {
            text.push_str(&format!(", {} bytes not kept", self.dropped_bytes));
        }
        text
    }
}

#[cfg(test)]
#[path = "headless_tests.rs"]
mod tests;
