use super::*;
use crate::output::ReportedKind;
use crate::transcript::read_tail;

struct Bench {
    dir: tempfile::TempDir,
    limits: Limits,
    output: OutputFormat,
    redact: Vec<String>,
}

fn bench() -> Bench {
    Bench {
        dir: tempfile::tempdir().unwrap(),
        limits: Limits { grace: Duration::from_secs(20), ..Limits::default() },
        output: OutputFormat::Plain,
        redact: Vec::new(),
    }
}

impl Bench {
    fn spec(&self, script: &str, prompt: &str) -> RunSpec {
        RunSpec {
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            output: self.output,
            folder: self.dir.path().to_owned(),
            environment: [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("MINE", "1")]
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .into(),
            prompt: prompt.to_owned(),
            transcript: self.dir.path().join("transcripts/t.jsonl"),
            limits: self.limits.clone(),
            redact: self.redact.clone(),
        }
    }

    async fn run(&self, script: &str, prompt: &str) -> (RunEnd, Vec<RunEvent>) {
        let (send, mut receive) = mpsc::channel(16);
        let end = spawn(self.spec(script, prompt)).unwrap().run(send, CancellationToken::new()).await;
        let mut events = Vec::new();
        while let Some(event) = receive.recv().await {
            events.push(event);
        }
        (end, events)
    }

    fn said(&self) -> Vec<Said> {
        let path = self.dir.path().join("transcripts/t.jsonl");
        read_tail(&path, usize::MAX, u64::MAX).unwrap().entries.into_iter().map(|e| e.said).collect()
    }

    fn outs(&self) -> Vec<String> {
        self.said().into_iter().filter_map(|s| if let Said::Out { line } = s { Some(line) } else { None }).collect()
    }

    fn errs(&self) -> Vec<String> {
        self.said().into_iter().filter_map(|s| if let Said::Err { line } = s { Some(line) } else { None }).collect()
    }

    /// Waits until the script has written a file with a pid in it.
    async fn pid_in(&self, name: &str) -> u32 {
        let path = self.dir.path().join(name);
        until(&format!("a pid in `{name}`"), || std::fs::read_to_string(&path).ok()?.trim().parse().ok()).await
    }
}

/// Waits until `look` finds something, for at most about ten seconds.
async fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let mut pause = tokio::time::interval(Duration::from_millis(10));
    for _ in 0..1000 {
        pause.tick().await;
        if let Some(found) = look() {
            return found;
        }
    }
    panic!("waited in vain for {what}");
}

fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|s| !s.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn the_prompt_comes_on_standard_input_which_is_closed() {
    // RUN-08, RUN-20
    let bench = bench();
    let prompt = format!("{}äöü", "long ".repeat(100_000));
    let (end, events) = bench.run("cat > got; echo done", &prompt).await;
    assert_eq!(end.exit, Ended::Exit(0));
    assert!(end.prompt_given && end.spoke && !end.cancelled);
    assert_eq!(events, [RunEvent::PromptGiven, RunEvent::FirstLine]);
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("got")).unwrap(), prompt);
    assert_eq!(bench.outs(), ["done"]);
}

#[tokio::test]
async fn the_prompt_is_in_no_argument_and_no_variable() {
    // RUN-08, RUN-04, RUN-07
    let bench = bench();
    let script = r#"cat > /dev/null; tr '\0' '\n' < /proc/$$/cmdline; env | cut -d= -f1 | sort; ps -o pgid= -p $$; echo $$; pwd; test -t 0 || echo no terminal"#;
    let spec = bench.spec(script, "the-prompt");
    let spawned = spawn(spec).unwrap();
    let (pid, pgid) = (spawned.pid, spawned.pgid);
    assert_eq!(ProcessStart::of(pid).unwrap(), spawned.started);
    let end = spawned.run(mpsc::channel(8).0, CancellationToken::new()).await;
    assert_eq!((end.exit, pid), (Ended::Exit(0), pgid));
    let outs = bench.outs();
    assert!(!outs.iter().any(|line| line.contains("the-prompt")));
    assert!(outs.contains(&"MINE".to_owned()) && !outs.contains(&"HOME".to_owned()), "{outs:?}");
    assert_eq!(outs.iter().filter(|line| line.trim() == pid.to_string()).count(), 2, "group and process are one: {outs:?}");
    assert!(outs.contains(&bench.dir.path().canonicalize().unwrap().display().to_string()));
    assert!(outs.contains(&"no terminal".to_owned()));
    let Said::Start { environment, .. } = bench.said().remove(0) else { panic!("no start") };
    assert_eq!(environment, ["MINE", "PATH"]);
}

#[tokio::test]
async fn nothing_is_started_without_its_program_or_folder() {
    // RUN-03
    let bench = bench();
    let fault = |change: &dyn Fn(&mut RunSpec)| {
        let mut spec = bench.spec("true", "");
        change(&mut spec);
        spawn(spec).unwrap_err()
    };
    let missing = fault(&|s| s.command[0] = "no-such-agent".to_owned());
    assert!(matches!(&missing, StartFault::Missing { program } if program == "no-such-agent"));
    assert!(missing.to_string().contains("`no-such-agent`"));
    assert!(matches!(fault(&|s| s.command.clear()), StartFault::NoCommand));
    assert!(matches!(fault(&|s| s.folder = "/no/such/folder".into()), StartFault::Folder { .. }));
    assert!(matches!(fault(&|s| s.transcript = "/proc/none/t".into()), StartFault::Transcript { .. }));
    // RUN-05
    let token = fault(&|s| {
        s.redact.push("tok123".to_owned());
        s.command.push("--key=tok123".to_owned());
    });
    assert!(matches!(&token, StartFault::Token { .. }) && !token.to_string().contains("tok123"));
}

#[tokio::test]
async fn a_process_waits_for_its_prompt_and_ends_when_it_is_dropped() {
    // RUN-07
    let bench = bench();
    let spawned = spawn(bench.spec("sleep 1000 & echo $! > child; cat > got; echo", "p")).unwrap();
    let (pid, child) = (spawned.pid, bench.pid_in("child").await);
    assert!(runs(pid) && runs(child));
    drop(spawned);
    until("the end of both", || (!runs(pid) && !runs(child)).then_some(())).await;
}

#[tokio::test]
async fn a_run_that_is_given_up_leaves_no_process() {
    // RUN-13
    let bench = bench();
    let spawned = spawn(bench.spec("sleep 1000 & echo $! > child; wait", "p")).unwrap();
    let pid = spawned.pid;
    let run = tokio::spawn(spawned.run(mpsc::channel(8).0, CancellationToken::new()));
    let child = bench.pid_in("child").await;
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    until("the end of both", || (!runs(pid) && !runs(child)).then_some(())).await;
}

#[tokio::test]
async fn an_error_in_the_output_is_reported_with_any_exit_code() {
    // RUN-09, RUN-10
    let bench = Bench { output: OutputFormat::Claude, ..bench() };
    let script = r#"cat > /dev/null
        echo '{"type":"system","subtype":"init","session_id":"abc"}'; echo 'no json'; echo '{"type":"odd"}'
        echo '{"type":"result","subtype":"success","is_error":true,"result":"overloaded","num_turns":2}'"#;
    let (end, events) = bench.run(script, "p").await;
    let error = ReportedError { kind: ReportedKind::Failed, text: "overloaded".to_owned() };
    assert_eq!((end.exit, end.reported), (Ended::Exit(0), Some(error.clone())));
    assert_eq!(end.agent_session.as_deref(), Some("abc"));
    assert_eq!(end.usage.unwrap().steps, Some(2));
    assert_eq!(events[2..], [RunEvent::AgentSession("abc".to_owned()), RunEvent::Reported(error)]);
    assert_eq!(bench.outs().len(), 4, "lines that decide nothing are kept");
}

#[tokio::test]
async fn exit_code_and_the_end_of_standard_error_are_told() {
    // RUN-10
    let bench = bench();
    let (end, _) = bench.run("cat > /dev/null; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo e$i >&2; done; exit 3", "p").await;
    assert_eq!(end.exit, Ended::Exit(3));
    assert_eq!(end.stderr_tail, (3..=12).map(|n| format!("e{n}")).collect::<Vec<_>>());
    let (end, _) = bench.run("cat > /dev/null; kill -9 $$", "p").await;
    assert_eq!(end.exit, Ended::Signal(9));
}

#[tokio::test]
async fn a_run_ends_by_its_time_in_all() {
    // RUN-11
    let mut bench = bench();
    bench.limits.total = Duration::from_millis(300);
    let (end, _) = bench.run("while :; do echo tick; sleep 0.02; done", "p").await;
    assert_eq!((end.limit, end.exit), (Some(Limit::Total), Ended::Signal(15)));
    assert!(!end.cancelled);
}

#[tokio::test]
async fn a_run_ends_by_silence_and_a_byte_is_no_silence() {
    // RUN-11
    let mut bench = bench();
    bench.limits.silence = Duration::from_millis(1500);
    let (end, _) = bench.run("for i in 1 2 3 4 5 6 7 8; do printf x >&2; sleep 0.3; done; exec sleep 1000", "p").await;
    assert_eq!(end.limit, Some(Limit::Silence));
    assert_eq!(end.stderr_tail, ["xxxxxxxx"], "bytes without a line break counted as output");
}

#[tokio::test]
async fn cancelling_asks_first() {
    // RUN-13
    let bench = bench();
    let spawned = spawn(bench.spec("trap 'echo bye; exit 7' TERM; echo $$ > pid; while :; do sleep 0.01; done", "p")).unwrap();
    let cancel = CancellationToken::new();
    let run = tokio::spawn(spawned.run(mpsc::channel(8).0, cancel.clone()));
    bench.pid_in("pid").await;
    cancel.cancel();
    let end = run.await.unwrap();
    assert_eq!((end.exit, end.cancelled, end.limit), (Ended::Exit(7), true, None));
    assert_eq!(bench.outs(), ["bye"], "what it says at the end is heard");
}

#[tokio::test]
async fn cancelling_kills_after_the_grace_and_leaves_no_process() {
    // RUN-13
    let mut bench = bench();
    bench.limits.grace = Duration::from_millis(200);
    let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > inner; while :; do sleep 0.05; done' & echo $$ > pid; while :; do sleep 0.05; done";
    let spawned = spawn(bench.spec(script, "p")).unwrap();
    let cancel = CancellationToken::new();
    let run = tokio::spawn(spawned.run(mpsc::channel(8).0, cancel.clone()));
    let (outer, inner) = (bench.pid_in("pid").await, bench.pid_in("inner").await);
    cancel.cancel();
    let end = run.await.unwrap();
    assert_eq!((end.exit, end.cancelled), (Ended::Signal(9), true));
    assert!(!runs(outer) && !runs(inner), "a process of the group is left");
}

#[tokio::test]
async fn what_an_agent_leaves_in_the_background_ends_with_it() {
    // RUN-13
    let bench = bench();
    let (end, _) = bench.run("cat > /dev/null; sleep 1000 & echo $! > left; echo done", "p").await;
    assert_eq!(end.exit, Ended::Exit(0));
    assert!(!end.cancelled && end.limit.is_none());
    assert!(!runs(bench.pid_in("left").await));
    assert_eq!(bench.outs(), ["done"]);
}

#[tokio::test]
async fn a_flood_is_dropped_with_a_note_and_the_run_goes_on() {
    // RUN-12
    let mut bench = bench();
    bench.limits.stdout = 10_000;
    bench.limits.stderr_tail = 5_000;
    let script = "cat > /dev/null; yes out | head -c 20000000; yes err | head -c 3000000 >&2; echo last >&2; exit 4";
    let (end, _) = bench.run(script, "p").await;
    assert_eq!(end.exit, Ended::Exit(4));
    assert_eq!(end.stderr_tail.last().unwrap(), "last");
    assert!(end.dropped_bytes > 22_000_000, "{}", end.dropped_bytes);
    let said = bench.said();
    let size = std::fs::metadata(bench.dir.path().join("transcripts/t.jsonl")).unwrap().len();
    assert!(size < 200_000, "the transcript has {size} bytes");
    assert_eq!(said.iter().filter(|s| matches!(s, Said::Note { .. })).count(), 2);
    assert_eq!(bench.errs().last().unwrap(), "last", "the last of standard error is what is kept");
}

#[tokio::test]
async fn an_error_after_the_flood_is_still_heard() {
    // RUN-10, RUN-12
    let mut bench = Bench { output: OutputFormat::Claude, ..bench() };
    bench.limits.stdout = 1_000;
    bench.limits.line = 100;
    let script = r#"cat > /dev/null; head -c 5000 /dev/zero | tr '\0' x; echo; yes | head -c 100000
        echo '{"type":"result","is_error":true,"result":"late"}'"#;
    let (end, _) = bench.run(script, "p").await;
    assert_eq!(end.reported.unwrap().text, "late");
    assert_eq!(bench.outs()[0].len(), 100);
    assert!(matches!(&bench.said()[3], Said::Note { text } if text.contains("cut after 100 bytes")));
}

#[tokio::test]
async fn tokens_are_nowhere_in_what_is_stored_or_given() {
    // RUN-34, RUN-05
    let mut bench = Bench { redact: vec!["tok-123456".to_owned()], output: OutputFormat::Claude, ..bench() };
    bench.limits.line = 86;
    let script = r#"cat; t=$(printf 'to%s' k-); echo; echo "a ${t}123456 b"; echo "${t}123456" >&2
        printf '%080d' 0; echo "${t}123456 cut in the middle"
        echo '{"type":"result","is_error":true,"result":"'"${t}123456"'"}'"#;
    let (end, _) = bench.run(script, "the tok-123456 in a prompt").await;
    let all = std::fs::read_to_string(bench.dir.path().join("transcripts/t.jsonl")).unwrap();
    let leaked = format!("{all}{end:?}");
    assert!(!leaked.contains("tok-"), "{leaked}");
    assert_eq!(bench.outs()[..2], ["the [redacted] in a prompt", "a [redacted] b"]);
    assert_eq!(end.reported.unwrap().text, "[redacted]");
}

#[tokio::test]
async fn noise_is_kept_as_text_and_a_prompt_not_taken_is_told() {
    // RUN-09
    let bench = bench();
    let (end, _) = bench.run(r"exec 0<&-; printf '\377\376\0\n'; sleep 0.2", &"p".repeat(1_000_000)).await;
    assert_eq!((end.exit, end.prompt_given), (Ended::Exit(0), false));
    assert_eq!(bench.outs(), ["\u{fffd}\u{fffd}\0"]);
}

#[tokio::test]
async fn nobody_listening_to_events_stops_nothing() {
    // RUN-12
    let bench = Bench { output: OutputFormat::Codex, ..bench() };
    let (send, receive) = mpsc::channel(1);
    let script = r#"cat > /dev/null; for i in 1 2 3 4; do echo '{"type":"thread.started","thread_id":"'$i'"}'; done"#;
    let end = spawn(bench.spec(script, "p")).unwrap().run(send, CancellationToken::new()).await;
    assert_eq!((end.exit, end.agent_session.as_deref()), (Ended::Exit(0), Some("4")));
    drop(receive);
}
