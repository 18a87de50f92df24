//! Jobs as a function of the ledger: what is due, from the rows alone. After a crash the same rows give the same jobs.

use jiff::Timestamp;
use wloop_core::consequence::Consequence;
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::queue::{self, Queued};
use wloop_store::{Reads, StoreError};

use super::clock_went_back;
use super::observe::GITHUB;
use crate::edge::planted;
use crate::input::{Job, Wake};
use crate::refusal::Answer;
use crate::settings::Rules;

/// How many units are asked for at once.
const READS: usize = 8;

/// Every job that is due.
pub(super) fn due(reads: &Reads<'_>, rules: &Rules, generation: i64, now: Timestamp) -> Answer<Vec<Job>> {
    let mut jobs = Vec::new();
    // What runs already, and what an earlier daemon left running.
    let running = reads.running_turns()?;
    for turn in &running {
        if turn.cancel_by.is_some() {
            jobs.push(Job::CancelTurn(turn.id));
        } else if !turn.claimed && turn.generation == generation && turn.state == wloop_core::turn::TurnState::Starting {
            jobs.push(Job::StartTurn(turn.id));
        }
    }
    for turn in reads.turns_with_live_group()? {
        if turn.generation != generation {
            jobs.push(Job::EndGroup(turn.id));
        }
    }
    jobs.extend(reads.trusts_due()?.into_iter().map(Job::Trust));
    let provider = reads.provider(GITHUB)?;
    let open = provider.as_ref().is_none_or(|p| !p.signed_out && p.blocked_until.is_none_or(|until| until <= now));
    if !open || !rules.has_provider {
        return Ok(jobs);
    }
    for post in reads.posts_in(PostState::Sending)? {
        if post.next_at.is_some_and(|at| at <= now) && reads.open_attempt(post.id)?.is_none() {
            jobs.push(Job::LookUp(post.id));
        }
    }
    for post in reads.posts_in(PostState::Queued)? {
        if post.next_at.is_none_or(|at| at <= now) {
            jobs.push(Job::Send(post.id));
        }
    }
    if provider.as_ref().is_none_or(|p| p.next_sweep_at <= now) {
        jobs.push(Job::Sweep);
    }
    let running: Vec<String> = running.into_iter().map(|turn| turn.agent).collect();
    let most = usize::try_from(rules.config.agents_max_running).unwrap_or(usize::MAX);
    let start = queue::startable(&waiting(reads, rules)?, &running, most, |agent| rules.most_of(agent), now);
    jobs.extend(start.into_iter().map(Job::Release));
    jobs.extend(reads.pulls_to_read(now, READS)?.into_iter().map(Job::ReadDetail));
    Ok(jobs)
}

/// The released rounds that wait for their place, in the order of their start (RUN-28).
pub(crate) fn waiting(reads: &Reads<'_>, rules: &Rules) -> Result<Vec<Queued>, StoreError> {
    let mut released = reads.items_in(ItemState::Released)?;
    if planted!("consequence_before_its_record") {
        released.extend(reads.items_in(ItemState::CountingDown)?);
    }
    let mut rounds = Vec::with_capacity(released.len());
    for item in released {
        let gate = reads.gate(item.gate)?;
        // What the cap had held and what then failed to start is the person's to try again (CONS-12).
        if item.cap.is_some() && gate.as_ref().and_then(|row| row.consequence).is_some_and(|(c, _)| c == Consequence::Failed) {
            continue;
        }
        let intent = rules.profile.intents.get(&item.intent);
        rounds.push(Queued {
            item: item.id,
            by_hand: item.by_hand,
            released_at: gate.and_then(|row| row.gate.closed).map_or(item.planned_at, |closed| closed.at),
            agent: rules.agent_for(intent.and_then(|intent| intent.agent.as_deref())),
            try_after: item.try_after,
        });
    }
    queue::order(&mut rounds);
    Ok(rounds)
}

/// The next instant at which something falls due by time alone.
pub(super) fn next_wake(reads: &Reads<'_>, rules: &Rules, now: Timestamp) -> Answer<Option<Wake>> {
    let mut wakes: Vec<Wake> = Vec::new();
    let mut add = |at: Timestamp, reason: String| wakes.push(Wake { at, reason });
    // Times that wait for the clock as it was are moved with the next input that the ledger takes; without one, on a full disk say,
    // they would wait for the length of the jump (WIN-19).
    if clock_went_back(reads.last_now()?, now) {
        add(now, "the clock was set back".to_owned());
    }
    if let Some((at, gate)) = reads.next_deadline()? {
        add(at, format!("the window of gate {} ends", &gate.to_string()[..6]));
    }
    for hold in reads.holds()? {
        if let Some(at) = hold.until {
            add(at, "a pause ends".to_owned());
        }
    }
    if rules.has_provider {
        if let Some(provider) = reads.provider(GITHUB)?.filter(|p| !p.signed_out) {
            let at = provider.blocked_until.map_or(provider.next_sweep_at, |until| until.max(provider.next_sweep_at));
            // One that is due already is a job, and no reason to wake.
            if at > now {
                add(at, "a sweep of github".to_owned());
            }
            if let Some(until) = provider.blocked_until.filter(|until| *until > now) {
                add(until, "github asked to wait".to_owned());
            }
        }
        for state in [PostState::Sending, PostState::Queued] {
            for post in reads.posts_in(state)? {
                if let Some(at) = post.next_at.filter(|at| *at > now) {
                    add(at, format!("post {} is {state}", &post.id.to_string()[..6]));
                }
            }
        }
        for item in reads.items_in(ItemState::Released)? {
            if item.try_after > now {
                add(item.try_after, format!("a released round is tried again: {}", item.reason));
            }
        }
        if let Some(at) = reads.next_read_after()?.filter(|at| *at > now) {
            add(at, "a pull request is read again".to_owned());
        }
    }
    Ok(wakes.into_iter().min_by_key(|wake| wake.at))
}
