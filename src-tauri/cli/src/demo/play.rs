//! The demo without a person at the terminal: it answers the gates over the API as the person would, tells what happens, and
//! looks at the small GitHub for what came of it. Everything it waits for is a state, looked at again at each event.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use wloop_api::client::{DraftFilter, GateFilter, UnitFilter};
use wloop_api::types::{Draft, Event, Gate, PlanAction, PlanItem, PlanRequest, Resolve, Turn};
use wloop_world::demo::DemoPull;
use wloop_world::{CommentSeen, ReviewSeen, ReviewState};

use super::Stage;
use super::watch::worth_telling;
use crate::commands::events::sentence;
use crate::commands::follow::Stream;
use crate::commands::{outbox, posts};
use crate::failure::Failure;
use crate::output::Tone;
use crate::words::{clock, how_it_stands, names_unit};

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a state is left alone when no event comes: the small GitHub writes none of ours.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What the person tells the agent about the third pull request.
const GUIDANCE: &str = "Look at the error handling first, and be brief.";

/// Plays through once; fails with what is missing.
pub(super) async fn run(stage: &Stage<'_>, stream: Stream) -> Result<(), Failure> {
    let [first, second, third] = &stage.world.pulls[..] else {
        return Err(Failure::Refused("the demo's world should hold three pull requests; this build is broken".to_owned()));
    };
    let start = Instant::now();
    let eyes = Eyes { stage };
    let mut player = Player { eyes, stream, end: start + LIMIT };
    eyes.say(&format!("the demo's home is {}", stage.home.display()))?;
    eyes.say(super::TRUSTED)?;
    for pull in &stage.world.pulls {
        eyes.say(&format!("{} asks {} for a review: {} ({})", eyes.label(pull), stage.world.viewer, pull.title, pull.url))?;
    }

    // The third is guided before its window ends; the first two run by themselves when theirs does.
    let item = player.until("a planned round on the third pull request", async |eyes| eyes.planned(third).await).await?;
    eyes.you(&format!("guide the round of {}: {GUIDANCE}", item.unit.label))?;
    let guide = PlanRequest { unit: item.unit.id, action: PlanAction::Guide, guidance: Some(GUIDANCE.to_owned()) };
    stage.client.decide_plan(&guide).await?;
    let item = player.until("a planned round on the first pull request", async |eyes| eyes.planned(first).await).await?;
    let when = item.deadline.map_or_else(|| "its deadline".to_owned(), clock);
    eyes.you(&format!("nothing about {} and {}; their windows end at about {when}", eyes.label(first), eyes.label(second)))?;

    let gate = player
        .until("the gate of the round that stops on the second pull request", async |eyes| eyes.stopped(second).await)
        .await?;
    let held = publish(eyes, &gate).await?;
    let draft = player
        .until("the draft that the round of the third pull request proposes", async |eyes| eyes.drafted(third).await)
        .await?;
    let asked = approve(eyes, &draft).await?;

    for pull in [first, second, third] {
        let what = format!("the review of {} on the small GitHub", eyes.label(pull));
        player.until(&what, async |eyes| Ok(eyes.reviews(pull).into_iter().next())).await?;
    }
    player
        .until("the comment that was approved, on the small GitHub", async |eyes| Ok(eyes.comments(third).into_iter().next()))
        .await?;
    player.until("the end of every round", async |eyes| eyes.quiet().await).await?;
    player.catch_up()?;
    for pull in [first, second, third] {
        for review in eyes.reviews(pull) {
            let comments = review.comments.len();
            let start = review.body.lines().next().unwrap_or_default();
            let verdict = review.state.as_str().to_lowercase().replace('_', " ");
            eyes.say(&format!(
                "read back {}: {verdict}, comments on the diff: {comments}, {} — {start}",
                eyes.label(pull),
                review.url
            ))?;
        }
    }
    for comment in eyes.comments(third) {
        let start = comment.body.lines().next().unwrap_or_default();
        eyes.say(&format!("read back {}: a comment, {} — {start}", eyes.label(third), comment.url))?;
    }
    let mut missing = missing(eyes, [first, second, third], &held).await?;
    let comments = eyes.comments(third);
    if comments.len() != 1 || !comments.iter().all(|comment| comment.body.starts_with(asked.trim())) {
        missing.push(format!("{} holds {} comments instead of the one that was approved", eyes.label(third), comments.len()));
    }
    if !missing.is_empty() {
        return Err(Failure::Refused(format!("the demo did not come out as it should: {}", missing.join("; "))));
    }
    eyes.say(&format!(
        "all well after {} s: each pull request holds exactly one review, one the comment of a draft, and each was released first",
        start.elapsed().as_secs()
    ))
}

/// Prints what a stopped round holds, whole, and publishes it; answers the text that goes out.
async fn publish(eyes: Eyes<'_>, gate: &Gate) -> Result<String, Failure> {
    let out = &eyes.stage.context.out;
    eyes.say(&format!("gate {} asks: {}", gate.short, gate.words))?;
    let Some(post) = &gate.post else {
        return Err(Failure::Refused(format!(
            "gate {} holds no text to publish; look at it with `{} gates show {}`",
            gate.short, eyes.stage.program, gate.short
        )));
    };
    if eyes.stage.context.json {
        out.json_line(&serde_json::json!({"at": (eyes.stage.context.now)(), "shown": post}))?;
    } else {
        for line in posts::body(out, post).lines() {
            out.line(&format!("          {line}"))?;
        }
    }
    eyes.you(&format!("publish it as it is (gate {})", gate.short))?;
    eyes.stage.client.resolve(&gate.id, "publish", &Resolve::default()).await?;
    Ok(post.text.clone())
}

/// Prints a draft of the Outbox, whole, and approves the gate that asks about it; answers the text that goes out.
async fn approve(eyes: Eyes<'_>, draft: &Draft) -> Result<String, Failure> {
    let context = eyes.stage.context;
    eyes.say(&format!("draft {} waits in the Outbox, from {}", draft.short, draft.proposed_by))?;
    if context.json {
        context.out.json_line(&serde_json::json!({"at": (context.now)(), "shown": draft}))?;
    } else {
        for line in outbox::page(context, draft).lines() {
            context.out.line(&format!("          {line}"))?;
        }
    }
    eyes.you(&format!("approve it (draft {})", draft.short))?;
    let intent = draft.approve.as_deref().unwrap_or("approve");
    eyes.stage.client.resolve(&draft.gate, intent, &Resolve::default()).await?;
    Ok(draft.text.clone())
}

/// What is not as it should be, in words.
async fn missing(eyes: Eyes<'_>, pulls: [&DemoPull; 3], held: &str) -> Result<Vec<String>, Failure> {
    let [first, second, third] = pulls;
    let mut missing = Vec::new();
    for pull in pulls {
        let found = eyes.reviews(pull).len();
        if found != 1 {
            missing.push(format!("{} holds {found} reviews instead of one", eyes.label(pull)));
        }
    }
    if !eyes.reviews(second).iter().any(|review| review.body.starts_with(held.trim())) {
        missing.push(format!("the review of {} is not the text that was shown", eyes.label(second)));
    }
    let by_window = eyes.plan_gates(first).await?;
    if !by_window.iter().any(|gate| gate.closed.as_ref().is_some_and(|closed| closed.actor == "window")) {
        let stands: Vec<String> = by_window.iter().map(how_it_stands).collect();
        missing.push(format!("the round of {} was not released by its window ({})", eyes.label(first), stands.join(", ")));
    }
    let turns = eyes.stage.client.turns(&UnitFilter::default()).await?;
    let guided = |turn: &Turn| eyes.is(&turn.unit, third) && turn.guidance.as_deref() == Some(GUIDANCE);
    if !turns.iter().any(guided) {
        missing.push(format!("no round of {} was given the guidance", eyes.label(third)));
    }
    missing.extend(turns.iter().filter(|turn| turn.state != "recorded").map(|turn| {
        format!(
            "the {} of {} ended as {}{}",
            turn.intent,
            turn.unit.label,
            turn.state,
            turn.cause.as_deref().map_or(String::new(), |cause| format!(": {cause}"))
        )
    }));
    Ok(missing)
}

/// What can be looked at.
#[derive(Clone, Copy)]
struct Eyes<'a> {
    stage: &'a Stage<'a>,
}

impl Eyes<'_> {
    fn say(self, text: &str) -> Result<(), Failure> {
        self.told(Tone::Plain, text)
    }

    /// Tells what the person does.
    fn you(self, text: &str) -> Result<(), Failure> {
        self.told(Tone::Strong, &format!("you: {text}"))
    }

    fn told(self, tone: Tone, text: &str) -> Result<(), Failure> {
        let context = self.stage.context;
        if context.json {
            return context.out.json_line(&serde_json::json!({"at": (context.now)(), "told": text}));
        }
        let now = clock((context.now)());
        context.out.line(&format!("{}  {}", context.out.paint(Tone::Dim, &now), context.out.paint(tone, text)))
    }

    fn label(self, pull: &DemoPull) -> String {
        format!("{}#{}", self.stage.world.repository, pull.number)
    }

    fn is(self, unit: &wloop_api::types::UnitName, pull: &DemoPull) -> bool {
        names_unit(&self.label(pull), unit)
    }

    /// The round on a pull request that can be answered.
    async fn planned(self, pull: &DemoPull) -> Result<Option<PlanItem>, Failure> {
        let plan = self.stage.client.plan().await?;
        let open = |item: &PlanItem| matches!(item.state.as_str(), "counting_down" | "waiting");
        Ok(plan.into_iter().find(|item| self.is(&item.unit, pull) && open(item)))
    }

    /// The open gate of a round that stopped on a pull request, whole.
    async fn stopped(self, pull: &DemoPull) -> Result<Option<Gate>, Failure> {
        let gates = self.gates(Some("open"), "post").await?;
        let Some(gate) = gates.iter().find(|gate| gate.unit.as_ref().is_some_and(|unit| self.is(unit, pull))) else {
            return Ok(None);
        };
        Ok(Some(self.stage.client.gate(&gate.id).await?))
    }

    /// The draft that waits for a pull request.
    async fn drafted(self, pull: &DemoPull) -> Result<Option<Draft>, Failure> {
        let drafts = self.stage.client.drafts(&DraftFilter::default()).await?;
        Ok(drafts.into_iter().find(|draft| self.is(&draft.unit, pull) && draft.approve.is_some()))
    }

    /// The person's comments in the conversation of a pull request on the small GitHub.
    fn comments(self, pull: &DemoPull) -> Vec<CommentSeen> {
        let comments = self.stage.github.comments(&self.stage.world.repository, pull.number);
        comments.into_iter().filter(|comment| comment.author == self.stage.world.viewer).collect()
    }

    async fn plan_gates(self, pull: &DemoPull) -> Result<Vec<Gate>, Failure> {
        let gates = self.gates(None, "plan").await?;
        Ok(gates.into_iter().filter(|gate| gate.unit.as_ref().is_some_and(|unit| self.is(unit, pull))).collect())
    }

    async fn gates(self, status: Option<&str>, kind: &str) -> Result<Vec<Gate>, Failure> {
        let filter = GateFilter { status: status.map(str::to_owned), kind: Some(kind.to_owned()), ..GateFilter::default() };
        Ok(self.stage.client.gates(&filter).await?)
    }

    /// The submitted reviews of the person on the small GitHub.
    fn reviews(self, pull: &DemoPull) -> Vec<ReviewSeen> {
        let reviews = self.stage.github.reviews(&self.stage.world.repository, pull.number);
        let own = |review: &ReviewSeen| review.author == self.stage.world.viewer && review.state != ReviewState::Pending;
        reviews.into_iter().filter(own).collect()
    }

    /// Whether nothing runs, waits or goes out any more.
    async fn quiet(self) -> Result<Option<()>, Failure> {
        let turns = self.stage.client.turns(&UnitFilter::default()).await?;
        let posts = self.stage.client.posts(&UnitFilter::default()).await?;
        let running = turns.iter().any(|turn| matches!(turn.state.as_str(), "starting" | "sent" | "started" | "asked"));
        let going = posts.iter().any(|post| matches!(post.state.as_str(), "held" | "queued" | "sending"));
        Ok((!running && !going).then_some(()))
    }

    /// How things stand, for the message when something did not come in time.
    async fn standing(self) -> String {
        let client = &self.stage.client;
        let mut text = String::new();
        for item in client.plan().await.unwrap_or_default() {
            let _ = write!(text, "; {} is {} ({})", item.unit.label, item.state, item.reason);
        }
        for turn in client.turns(&UnitFilter::default()).await.unwrap_or_default() {
            let _ = write!(text, "; the {} of {} is {}", turn.intent, turn.unit.label, turn.state);
            if let Some(cause) = turn.cause {
                let _ = write!(text, " ({cause})");
            }
        }
        for post in client.posts(&UnitFilter::default()).await.unwrap_or_default() {
            let _ = write!(
                text,
                "; the {} of {} is {} ({})",
                post.shape,
                post.unit.label,
                post.state,
                post.cause.unwrap_or_default()
            );
        }
        if let Ok(status) = client.status().await {
            for provider in status.providers {
                let _ = write!(text, "; {} is {} {}", provider.name, provider.state, provider.error.unwrap_or_default());
            }
            for warning in status.warnings {
                let _ = write!(text, "; {warning}");
            }
        }
        text
    }
}

struct Player<'a> {
    eyes: Eyes<'a>,
    stream: Stream,
    end: Instant,
}

impl<'a> Player<'a> {
    /// Waits until `look` finds something, telling every event meanwhile; `what` is named when the time is over.
    async fn until<T>(&mut self, what: &str, look: impl AsyncFn(Eyes<'a>) -> Result<Option<T>, Failure>) -> Result<T, Failure> {
        loop {
            self.catch_up()?;
            if let Some(found) = look(self.eyes).await? {
                self.catch_up()?;
                return Ok(found);
            }
            let now = Instant::now();
            if now >= self.end {
                let standing = self.eyes.standing().await;
                return Err(Failure::Refused(format!("{} s went by without {what}{standing}", LIMIT.as_secs())));
            }
            if let Ok(event) = timeout_at((now + LOOK_AGAIN).min(self.end), self.stream.next()).await {
                self.tell(&event?)?;
            }
        }
    }

    /// Tells the events that are there already.
    fn catch_up(&mut self) -> Result<(), Failure> {
        self.stream.drain()?.iter().try_for_each(|event| self.tell(event))
    }

    fn tell(&self, event: &Event) -> Result<(), Failure> {
        let context = self.eyes.stage.context;
        if !worth_telling(event) {
            return Ok(());
        }
        if context.json {
            return context.out.json_line(event);
        }
        context.out.line(&sentence(&context.out, event, false))
    }
}
