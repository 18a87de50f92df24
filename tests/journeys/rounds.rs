//! One pull request from its announcement to its review, with each answer of the person.

mod bad_days;
mod busy;
mod posts;
mod restarts;

use serde_json::{Value, json};
use wloop_api::types::{PlanAction, PlanRequest, Resolve, Turn, TurnRequest};
use wloop_core::id::UnitRef;
use wloop_store::{Store, TurnFilter};
use wloop_tests::{ME, REPO, Stage, refused, until};
use wloop_world::{NewPullRequest, PullState, ReviewState};

/// The call that makes a review.
pub(crate) const REVIEWS: &str = "/repos/*/*/pulls/*/reviews";

/// Waits until the daemon has swept `count` times more: what a sweep would plan, it has planned then.
pub(crate) async fn sweeps(stage: &Stage, count: usize) {
    let client = stage.client();
    let last = || async { client.health().await.map_err(|e| e.to_string()).map(|h| h.providers[0].last_sync) };
    for _ in 0..count {
        let before = last().await.expect("the health is read");
        until("a sweep", || async {
            let now = last().await?;
            if now > before { Ok(()) } else { Err(format!("{now:?}")) }
        })
        .await;
    }
}

/// Starts the daemon on a home whose configuration was changed.
pub(crate) async fn start_with(stage: &mut Stage, change: impl FnOnce(String) -> String) {
    stage.write_home();
    let path = stage.home().join("config.toml");
    let config = change(std::fs::read_to_string(&path).expect("the configuration"));
    std::fs::write(path, config).expect("the configuration is written");
    stage.start_again().await;
}

/// No sweep follows the first one within a test.
pub(crate) fn swept_once(config: String) -> String {
    config.replace("fast = \"1s\"\nslow = \"30s\"", "fast = \"30m\"\nslow = \"1h\"")
}

/// Every turn of a pull request, newest first.
pub(crate) async fn turns(stage: &Stage, number: u64) -> Vec<Turn> {
    let filter = wloop_api::client::UnitFilter { state: None, unit: Some(stage.unit(number)) };
    stage.client().turns(&filter).await.expect("the turns are read")
}

pub(crate) fn by_hand(unit: &str) -> TurnRequest {
    TurnRequest { unit: unit.to_owned(), intent: "review".to_owned(), stage: None, guidance: None }
}

/// The submitted reviews of the person.
pub(crate) fn submitted(stage: &Stage, number: u64) -> Vec<wloop_world::ReviewSeen> {
    stage.my_reviews(number).into_iter().filter(|r| r.state != ReviewState::Pending).collect()
}

/// The ledger of a daemon that does not run.
pub(crate) fn ledger(stage: &Stage, at: jiff::Timestamp) -> Store {
    Store::open(&stage.home().join("state.db"), at).expect("the ledger is opened")
}

pub(crate) fn unit_ref(stage: &Stage, number: u64) -> UnitRef {
    UnitRef::github(&stage.world.node_id(REPO, number).expect("its node id"))
}

/// Whether anything of a turn's process group is alive.
pub(crate) fn group_lives(store: &Store, turn: &Turn) -> bool {
    let rows = store.read().turns(&TurnFilter::default()).expect("the turns");
    let row = rows.into_iter().find(|row| row.id.to_string() == turn.id).expect("the turn");
    let process = row.process.expect("it had a process");
    let group = i32::try_from(process.pgid).ok().and_then(rustix::process::Pid::from_raw).expect("its group");
    rustix::process::test_kill_process_group(group).is_ok()
}

/// The processes that run, each as its id, its parent, its group and its state; one that only waits to be reaped does not run.
fn processes(wanted: impl Fn(&[String]) -> bool) -> Vec<Vec<String>> {
    let output = std::process::Command::new("ps").args(["-A", "-o", "pid=,ppid=,pgid=,stat="]).output().expect("ps runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.len() == 4 && !line[3].starts_with('Z') && wanted(line)).collect()
}

/// The mark of a review, as the ledger holds it.
fn mark(stage: &Stage, number: u64, at: jiff::Timestamp) -> Option<Value> {
    ledger(stage, at).read().mark(&unit_ref(stage, number), "reviewed").expect("the mark is read")
}

/// A pull request that asks nobody.
fn unasked(stage: &Stage, author: &str, title: &str) -> u64 {
    let text = "pub fn add(a: u32, b: u32) -> u32 {\n    // TODO overflow\n    a + b\n}\n";
    let new = NewPullRequest {
        repo: REPO.to_owned(),
        author: author.to_owned(),
        title: title.to_owned(),
        body: "Please.".to_owned(),
        branch: title.to_lowercase().replace(' ', "-"),
        files: vec![("src/lib.rs".to_owned(), Some(text.to_owned()))],
        ..NewPullRequest::default()
    };
    stage.world.open_pull_request(new).expect("a pull request")
}

async fn plan(stage: &Stage, number: u64, action: PlanAction, guidance: Option<&str>) -> Vec<wloop_api::types::Gate> {
    let request = PlanRequest { unit: stage.unit(number), action, guidance: guidance.map(str::to_owned) };
    stage.client().decide_plan(&request).await.expect("the plan is decided").gates
}

#[tokio::test]
async fn a_round_that_nobody_answers_runs_at_its_deadline_and_posts_one_review() {
    // WIN-01, WIN-19, WIN-20, AGENT-01, GH-PUB-02
    let mut stage = Stage::new().await;
    stage.window = "1s".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.verdict.as_deref(), Some("published"));
    assert_eq!(stage.my_reviews(number).len(), 1);
    let gate = stage.gate(turn.gate.as_deref().unwrap()).await;
    let closed = gate.closed.unwrap();
    assert_eq!((closed.actor.as_str(), closed.intent.as_deref()), ("window", Some("run_now")));
    assert_eq!(gate.consequence.unwrap().state, "ran");
    stage.stop().await;
}

#[tokio::test]
async fn a_skipped_round_is_offered_again_only_after_something_new() {
    // WIN-10, WIN-12, WIN-18, ROUND-01
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let dismissed = plan(&stage, number, PlanAction::Dismiss, None).await;
    assert_eq!(dismissed.iter().map(|g| g.id.as_str()).collect::<Vec<_>>(), [gate.id.as_str()]);
    let gate = stage.gate(&gate.id).await;
    assert_eq!(gate.closed.unwrap().intent.as_deref(), Some("skip"));
    sweeps(&stage, 2).await;
    assert_eq!(stage.plan().await, []);
    assert_eq!(turns(&stage, number).await, []);
    stage.world.push_commit(REPO, number, "More", &[("README.md", Some("# api\nmore\n"))]).unwrap();
    let again = stage.open_gate("plan", number).await;
    assert_ne!(again.id, gate.id);
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn run_now_sends_the_round_at_once_and_writes_its_mark() {
    // WIN-14, WIN-16, ROUND-16, EFFECT-08
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    assert_eq!(gate.intents.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["skip", "run_now", "guide"]);
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.gate.as_deref(), Some(gate.id.as_str()));
    assert_eq!(stage.gate(&gate.id).await.closed.unwrap().actor, "person");
    stage.stop().await;
    let reviews = submitted(&stage, number);
    assert_eq!(reviews.len(), 1);
    let mark = mark(&stage, number, turn.created_at).expect("the mark");
    assert_eq!((&mark["head"], &mark["review"]), (&json!(turn.head), &json!(reviews[0].node_id)));
}

#[tokio::test]
async fn guidance_reaches_the_prompt_as_it_was_written() {
    // WIN-15, EFF-15, ROUND-32
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let words = "Look at {{ the }} overflow `first`,\nand be  nice: <b>please</b> \u{1F642}";
    let body = Resolve { text: Some(words.to_owned()), draft_text: None };
    let closed = stage.client().resolve(&gate.id, "guide", &body).await.unwrap();
    assert_eq!(closed.closed.unwrap().text.as_deref(), Some(words));
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.guidance.as_deref(), Some(words));
    let detail = stage.client().turn(&turn.id).await.unwrap();
    let prompt: Vec<&str> = detail.transcript.iter().filter(|l| l.from == "prompt").map(|l| l.text.as_str()).collect();
    assert!(prompt.join("\n").contains(words), "{prompt:?}");
    stage.stop().await;
    let store = ledger(&stage, turn.created_at);
    let effects = store.read().effects(turn.id.parse().unwrap()).unwrap();
    assert!(effects.contains(&("turn.guidance_handed".to_owned(), "applied".to_owned())), "{effects:?}");
    assert!(store.read().guidance(&unit_ref(&stage, number)).unwrap().is_empty(), "it is handed once");
}

#[tokio::test]
async fn a_guide_that_comes_too_late_is_kept_as_a_note_and_runs_nothing() {
    // F10
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["recorded"]).await;
    let body = Resolve { text: Some("be nicer".to_owned()), draft_text: None };
    for restarts in [false, true] {
        if restarts {
            stage.stop().await;
            stage.start_again().await;
        }
        let problem = refused(stage.client().resolve(&gate.id, "guide", &body).await);
        assert_eq!(problem.status, 409);
        assert!(problem.detail.contains("already resolved") && problem.detail.contains("kept as a note"), "{}", problem.detail);
    }
    sweeps(&stage, 1).await;
    assert_eq!(turns(&stage, number).await.len(), 1);
    stage.stop().await;
    let store = ledger(&stage, turn.created_at);
    let notes = store.read().guidance_offered(&unit_ref(&stage, number)).unwrap();
    assert_eq!(notes.iter().map(|n| n.text.as_str()).collect::<Vec<_>>(), ["be nicer"]);
    assert!(store.read().guidance(&unit_ref(&stage, number)).unwrap().is_empty(), "it is given to nobody unasked");
    assert_eq!(stage.writes(), 1);
}

#[tokio::test]
async fn a_review_by_hand_takes_the_waiting_round_or_starts_one() {
    // WIN-38, G19, ROUND-31, ROUND-09
    let mut stage = Stage::new().await;
    stage.agent_word = "slow-before-post".to_owned();
    let (pending, skipped) = (stage.pull("Guard the sum"), stage.pull("Guard the other"));
    stage.start().await;
    let gate = stage.open_gate("plan", pending).await;
    let other = stage.open_gate("plan", skipped).await;
    let answer = stage.client().start_turn(&by_hand(&stage.unit(pending))).await.unwrap();
    assert_eq!(answer.gates[0].id, gate.id, "the countdown is taken, and no second round is made");
    assert_eq!(answer.gates[0].closed.as_ref().unwrap().intent.as_deref(), Some("run_now"));
    stage.turn(pending, &["started"]).await;
    let problem = refused(stage.client().start_turn(&by_hand(&stage.unit(pending))).await);
    assert_eq!(problem.status, 409);
    assert!(problem.detail.contains("turn 1"), "{}", problem.detail);
    stage.resolve(&other.id, "skip").await;
    let answer = stage.client().start_turn(&by_hand(&stage.unit(skipped))).await.unwrap();
    let written = &answer.gates[0];
    assert_ne!(written.id, other.id);
    assert_eq!((written.status.as_str(), written.closed.as_ref().unwrap().actor.as_str()), ("approved", "person"));
    stage.let_agent_post();
    stage.turn(pending, &["recorded"]).await;
    assert_eq!(stage.turn(skipped, &["recorded"]).await.started_by, "hand");
    stage.stop().await;
    assert_eq!((submitted(&stage, pending).len(), submitted(&stage, skipped).len()), (1, 1));
}

#[tokio::test]
async fn a_pull_request_that_is_not_watched_is_reviewed_by_its_address() {
    // GH-SYNC-01
    let mut stage = Stage::new().await;
    let number = unasked(&stage, "ines", "Nobody asked");
    stage.start().await;
    sweeps(&stage, 1).await;
    let problem = refused(stage.client().start_turn(&by_hand(&stage.unit(999))).await);
    assert_eq!(problem.status, 404);
    let address = stage.world.pull_url(REPO, number);
    stage.client().start_turn(&by_hand(&address)).await.unwrap();
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.started_by, "hand");
    assert_eq!(submitted(&stage, number).len(), 1);
    sweeps(&stage, 2).await;
    assert_eq!(stage.client().health().await.unwrap().providers[0].watched, 1, "it stays watched while it is open");
    stage.stop().await;
}

/// A risky pull request whose round has stopped, and its post gate.
async fn stopped_round(stage: &mut Stage) -> (u64, Turn, wloop_api::types::Gate) {
    let number = stage.risky_pull("Drop the phone");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["asked"]).await;
    let gate = stage.open_gate("post", number).await;
    (number, turn, gate)
}

#[tokio::test]
async fn a_stopped_round_shows_its_whole_post_and_publishes_it_on_a_word() {
    // AMB-10, AMB-11, MCP-12, MCP-13, ROUND-16
    let mut stage = Stage::new().await;
    let (number, turn, gate) = stopped_round(&mut stage).await;
    assert_eq!(gate.turn.as_deref(), Some(turn.id.as_str()));
    assert_eq!(gate.deadline, None, "only the person lets it out");
    let post = gate.post.clone().expect("the post");
    assert_eq!((post.state.as_str(), post.event.as_deref(), post.head.as_str()), ("held", Some("APPROVE"), turn.head.as_str()));
    assert!(post.text.contains("1 file changed"), "{}", post.text);
    assert_eq!(stage.writes(), 0);
    let problem = refused(stage.client().start_turn(&by_hand(&stage.unit(number))).await);
    assert_eq!(problem.status, 409, "a stopped turn still holds its pull request");
    stage.resolve(&gate.id, "publish").await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.verdict.as_deref(), Some("published"));
    stage.stop().await;
    let reviews = submitted(&stage, number);
    assert_eq!((reviews.len(), reviews[0].state), (1, ReviewState::Approved));
    assert!(reviews[0].body.starts_with(&post.text), "{}", reviews[0].body);
    assert_eq!(mark(&stage, number, turn.created_at).expect("the mark")["head"], json!(turn.head));
}

#[tokio::test]
async fn a_stopped_round_is_published_in_the_persons_own_words() {
    // MCP-13
    let mut stage = Stage::new().await;
    let (number, _, gate) = stopped_round(&mut stage).await;
    let body = Resolve { text: None, draft_text: Some("Fine by me, @ines.".to_owned()) };
    stage.client().resolve(&gate.id, "publish", &body).await.unwrap();
    let post = stage.post(number, &["sent"]).await;
    assert_eq!((post.text.as_str(), post.mentions.as_slice()), ("Fine by me, @ines.", &["ines".to_owned()][..]));
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    let reviews = submitted(&stage, number);
    assert_eq!((reviews.len(), reviews[0].state), (1, ReviewState::Approved));
    assert!(reviews[0].body.starts_with("Fine by me, @ines.\n"), "{}", reviews[0].body);
}

#[tokio::test]
async fn a_stopped_round_that_is_kept_back_publishes_nothing() {
    // MCP-13, ROUND-16, AMB-11
    let mut stage = Stage::new().await;
    let (number, _, gate) = stopped_round(&mut stage).await;
    stage.resolve(&gate.id, "reject").await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.verdict.as_deref(), Some("nothing"));
    assert_eq!(stage.post(number, &["dropped"]).await.attempts, 0);
    sweeps(&stage, 2).await;
    assert_eq!(stage.plan().await, []);
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
    assert_eq!(mark(&stage, number, turn.created_at), None);
}

#[tokio::test]
async fn the_plan_is_decided_by_a_call_and_not_by_a_command_without_a_terminal() {
    // RES-20, WIN-14, WIN-18
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    for arguments in
        [["plan", "apply", "acme/api#1"].as_slice(), &["review", "acme/api#1"], &["gates", "resolve", &gate.id, "run_now"]]
    {
        let output = stage.wloop(arguments).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains("no terminal"), "{arguments:?}: {:?} {said}", output.status);
    }
    assert_eq!(stage.gate(&gate.id).await.status, "open");
    let applied = plan(&stage, number, PlanAction::Apply, None).await;
    assert_eq!((applied[0].id.as_str(), applied[0].status.as_str()), (gate.id.as_str(), "approved"));
    stage.turn(number, &["recorded"]).await;
    assert_eq!(submitted(&stage, number).len(), 1);
    // Keeping something back releases nothing, so it takes no terminal.
    let other = stage.pull("Guard the other");
    let gate = stage.open_gate("plan", other).await;
    let output = stage.wloop(&["plan", "dismiss", &stage.unit(other)]).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stage.gate(&gate.id).await.closed.unwrap().intent.as_deref(), Some("skip"));
    stage.stop().await;
}

#[tokio::test]
async fn a_round_whose_reason_is_gone_is_withdrawn() {
    // GATE-40, WIN-03
    let mut stage = Stage::new().await;
    let (unasked, closed, pushed) = (stage.pull("Unasked"), stage.pull("Closed"), stage.pull("Pushed"));
    stage.start().await;
    let mut gates = Vec::new();
    for number in [unasked, closed, pushed] {
        gates.push(stage.open_gate("plan", number).await);
    }
    stage.world.remove_review_request(REPO, unasked, "ines", ME).unwrap();
    stage.world.close(REPO, closed, "ines").unwrap();
    stage.world.push_commit(REPO, pushed, "More", &[("README.md", Some("# api\nmore\n"))]).unwrap();
    assert_eq!(stage.world.pull_state(REPO, closed).unwrap(), PullState::Closed);
    for gate in &gates {
        let client = stage.client();
        until("the gate is superseded", || async {
            let gate = client.gate(&gate.id).await.map_err(|e| e.to_string())?;
            if gate.status == "superseded" { Ok(()) } else { Err(gate.status) }
        })
        .await;
        let gate = stage.gate(&gate.id).await;
        assert!(gate.closed.is_some_and(|c| c.actor == "daemon" && c.reason.is_some_and(|why| !why.is_empty())));
        let problem = refused(stage.client().resolve(&gate.id, "run_now", &Resolve::default()).await);
        assert_eq!(problem.status, 409);
    }
    let planned = stage.open_gate("plan", pushed).await;
    assert_ne!(planned.id, gates[2].id, "the new head is announced anew");
    assert_eq!(stage.plan().await.len(), 1);
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn a_head_that_moved_before_the_window_ended_is_announced_anew() {
    // ROUND-07, ROUND-06
    let mut stage = Stage::new().await;
    stage.window = "2s".to_owned();
    let number = stage.pull("Guard the sum");
    start_with(&mut stage, swept_once).await;
    let gate = stage.open_gate("plan", number).await;
    let head = stage.world.push_commit(REPO, number, "More", &[("README.md", Some("# api\nmore\n"))]).unwrap();
    let turn = stage.turn(number, &["recorded"]).await;
    let first = stage.gate(&gate.id).await;
    assert_eq!((first.status.as_str(), first.closed.unwrap().actor.as_str()), ("approved", "window"));
    assert_eq!(first.consequence.unwrap().note, "not started: the head moved");
    assert_ne!(turn.gate.as_deref(), Some(gate.id.as_str()), "it has a gate of its own");
    let second = stage.gate(turn.gate.as_deref().unwrap()).await;
    assert!(second.deadline.unwrap().duration_since(second.opened_at).as_millis() >= 2000, "with a full window");
    assert_eq!(turn.head, head);
    assert_eq!(turns(&stage, number).await.len(), 1);
    stage.stop().await;
    assert_eq!(submitted(&stage, number).iter().map(|r| r.commit.as_str()).collect::<Vec<_>>(), [head]);
}

#[tokio::test]
async fn run_now_after_a_push_that_was_not_seen_runs_on_the_new_head() {
    // ROUND-07, ROUND-08
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    start_with(&mut stage, swept_once).await;
    let gate = stage.open_gate("plan", number).await;
    let head = stage.world.push_commit(REPO, number, "More", &[("README.md", Some("# api\nmore\n"))]).unwrap();
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!((turn.head.as_str(), turn.gate.as_deref()), (head.as_str(), Some(gate.id.as_str())));
    stage.stop().await;
    assert_eq!(submitted(&stage, number).iter().map(|r| r.commit.as_str()).collect::<Vec<_>>(), [head]);
}

#[tokio::test]
async fn rounds_wait_for_a_free_place_and_the_persons_own_go_first() {
    // RUN-28
    let mut stage = Stage::new().await;
    stage.agent_word = "slow-before-post".to_owned();
    let (first, second) = (stage.pull("The first"), stage.pull("The second"));
    let third = unasked(&stage, "ines", "The third");
    start_with(&mut stage, |config| config.replace("[agents]\n", "[agents]\nmax_running = 1\n")).await;
    let gate = stage.open_gate("plan", first).await;
    stage.resolve(&gate.id, "run_now").await;
    stage.turn(first, &["started"]).await;
    let gate = stage.open_gate("plan", second).await;
    stage.resolve(&gate.id, "run_now").await;
    stage.client().start_turn(&by_hand(&stage.unit(third))).await.unwrap();
    sweeps(&stage, 2).await;
    assert_eq!((turns(&stage, second).await.len(), turns(&stage, third).await.len()), (0, 0));
    assert!(stage.plan().await.iter().all(|item| item.state == "released"), "{:?}", stage.plan().await);
    assert_eq!(stage.client().status().await.unwrap().running_turns, 1);
    stage.let_agent_post();
    stage.turn(first, &["recorded"]).await;
    let (second, third) = (stage.turn(second, &["recorded"]).await, stage.turn(third, &["recorded"]).await);
    assert!(third.ended_at < Some(second.created_at), "the one by hand went first, alone: {third:?} {second:?}");
    stage.stop().await;
}

#[tokio::test]
async fn a_cancelled_turn_leaves_no_process() {
    // RUN-13, T11
    let mut stage = Stage::new().await;
    stage.agent_word = "hang".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["started"]).await;
    let agent = processes(|line| line[1] == stage.pid().to_string());
    assert_eq!(agent.len(), 1, "{agent:?}");
    let group = agent[0][2].clone();
    stage.client().cancel_turn(&turn.id).await.unwrap();
    let turn = stage.turn(number, &["dismissed"]).await;
    assert_eq!(turn.cause.as_deref(), Some("cancelled by you"));
    let left = processes(|line| line[2] == group);
    assert!(left.is_empty(), "{left:?}");
    sweeps(&stage, 2).await;
    assert_eq!(turns(&stage, number).await.len(), 1);
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}
