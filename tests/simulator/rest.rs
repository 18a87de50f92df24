//! The end of a life: faults cease, everybody goes on as they should, and everything must come to rest, told and settled.

use wloop_core::gate::GateStatus;
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;
use wloop_daemon::input::{AgentEvent, Input, Job, Observation, Request, TurnEnd};

use crate::checks::Now;
use crate::life::{Flying, Held, Life, hold};
use crate::outside::Weather;
use crate::script::Dice;

/// Rounds of doing what is due at one instant before it counts as running hot.
const HOT: usize = 60;
/// Instants that the way to rest may take.
const INSTANTS: usize = 400;
/// How often the person clears their inbox at the end.
const CLEARINGS: usize = 30;

impl Life {
    /// Runs on without faults until nothing but sweeps is left to do.
    pub(crate) fn come_to_rest(&mut self) -> Held {
        let dice = &mut Dice::new(7);
        self.github.weather = Weather::Fair;
        self.github.show_all();
        self.github.discard_pending();
        if self.disk_full {
            self.fill_disk(false)?;
        }
        self.hand_in(Input::Observed(Observation::TryAgain))?.ok();
        for held in crate::life::read(self.reads()?.holds())? {
            self.ask(Request::Unhold { unit: held.unit, kind: held.kind }, dice)?.ok();
        }
        self.run_out(dice)?;
        let now = self.check_all()?;
        self.check_rest(&now, false)?;
        for _ in 0..3 {
            self.stranger(dice)?;
        }
        // The person answers whatever waits, and settles what failed.
        for _ in 0..CLEARINGS {
            let open = self.book.open_gates();
            if open.is_empty() {
                break;
            }
            for row in open {
                let intent = row.gate.intents.iter().find(|i| i.text.is_none());
                let Some(intent) = intent.map(|i| i.name.clone()) else { continue };
                let request = Request::Resolve { gate: row.gate.id, intent, text: None, draft_text: None };
                self.ask(request, dice)?.ok();
            }
            self.run_out(dice)?;
            self.check_all()?;
        }
        let now = self.check_all()?;
        self.check_rest(&now, true)
    }

    /// Does what is due and lets time pass until only sweeps come.
    fn run_out(&mut self, dice: &mut Dice) -> Held {
        let mut quiet = 0;
        for _ in 0..INSTANTS {
            let before = self.book.last;
            let mut rounds = 0;
            loop {
                let jobs: Vec<Job> = self.jobs()?;
                let works = jobs.len() + self.flying.len();
                if works == 0 {
                    break;
                }
                rounds += 1;
                hold!(rounds <= HOT, "it runs hot: {jobs:?} again and again");
                for job in jobs {
                    self.begin(job, dice)?;
                }
                while let Some(flying) = self.flying.first().cloned() {
                    if let Flying::Turn(turn, _, 2) = flying {
                        self.flying.remove(0);
                        self.tell(Input::Turn { turn, event: AgentEvent::Ended(TurnEnd::Well) })?.ok();
                    } else {
                        self.finish(0, dice)?;
                    }
                }
            }
            quiet = if self.book.last == before { quiet + 1 } else { 0 };
            // A slow sweep's time in which nothing happens.
            if quiet > 18 {
                return Ok(());
            }
            let wake = self.wake()?;
            let until = wake.map_or(1, |at| at.duration_since(self.wall).as_secs() + 1);
            let by = jiff::SignedDuration::from_secs(until.clamp(1, 3_600));
            self.wall += by;
            self.github.clock += by;
            self.hand_in(Input::Tick)?.ok();
        }
        Err(crate::life::Broken(format!("it does not come to rest: {:?} are due", self.jobs()?)))
    }

    /// What must be true at rest: nothing is on its way, what was approved is sent or told, and GitHub has what the ledger says.
    fn check_rest(&self, now: &Now, cleared: bool) -> Held {
        let asked = |unit| now.turns.iter().any(|t| t.unit == unit && t.state == TurnState::Asked);
        for post in &now.posts {
            let there = self.github.copies(post.id);
            match post.state {
                PostState::Queued | PostState::Sending => {
                    return Err(crate::life::Broken(format!("it is on its way for ever: {post:?}")));
                }
                PostState::Sent => {
                    let said = self.book.said_sent.contains(&post.id);
                    hold!(there == 1 || said, "recorded as sent, and github has {there}: {post:?}");
                }
                PostState::Failed => hold!(
                    there == 0 || post.maybe_posted || post.cause.contains("at github all the same"),
                    "told as not sent, and github has it: {post:?}"
                ),
                PostState::Dropped => {
                    let gate = now.gates.iter().find(|g| g.gate.id == post.gate);
                    let refused = gate.is_some_and(|g| matches!(g.gate.status, GateStatus::Rejected | GateStatus::Superseded));
                    hold!(refused || self.book.settled.contains(&post.id), "an approved post is lost: {post:?}");
                }
                PostState::Held => hold!(!cleared, "it is held for ever: {post:?}"),
            }
        }
        for turn in &now.turns {
            hold!(!turn.state.is_running(), "a turn runs for ever: {turn:?}");
        }
        for item in &now.items {
            let waits = item.state != ItemState::Released || asked(item.unit.clone());
            hold!(waits, "a released round waits for ever: {item:?}");
        }
        for row in self.book.due() {
            let item = now.items.iter().find(|i| i.gate == row.gate.id);
            hold!(item.is_some_and(|i| i.state.is_pending()), "a consequence is due for ever: {row:?}");
        }
        let open = now.gates.iter().find(|g| g.gate.status == GateStatus::Open);
        hold!(open.is_none() || !cleared, "the inbox is never empty: {open:?}");
        Ok(())
    }
}
