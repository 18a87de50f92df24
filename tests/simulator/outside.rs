//! GitHub as a model: pull requests as the provider's port shows them, what was written in truth, and its bad days. It keeps its own
//! clock, which no jump of the machine's moves.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use wloop_core::github::publish::marker_of;
use wloop_core::github::{
    Account, AccountKind, Comment, Detail, Inventory, LookUp, Mergeable, PostOrder, PullState, ReadFault, Reason, Refusal,
    RemotePost, RepoName, Requested, Review, ReviewEvent, ReviewRequest, ReviewState, Reviewer, SendOutcome, Shape, Summary,
    Thread,
};
use wloop_core::id::{PostId, UnitRef};
use wloop_daemon::input::Seen;

use crate::script::Dice;

/// How GitHub answers at present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Weather {
    /// As it should.
    Fair,
    /// Something goes wrong once in so many calls.
    Patchy(usize),
    /// It asks to wait until then, by its own clock.
    Limited(Timestamp),
    /// It is not reached.
    Down,
    /// It does not accept the token.
    SignedOut,
}

/// Something that was written with a marker of ours.
#[derive(Debug, Clone)]
struct Written {
    remote: RemotePost,
    at: Timestamp,
    reply: bool,
    /// So many reads do not show it yet.
    hidden: u32,
}

/// The model.
#[derive(Debug)]
pub(crate) struct Github {
    pub(crate) pulls: Vec<Detail>,
    pub(crate) weather: Weather,
    /// GitHub's clock.
    pub(crate) clock: Timestamp,
    written: BTreeMap<PostId, Vec<Written>>,
    last: u64,
}

pub(crate) fn account(login: &str) -> Account {
    Account { id: format!("U_{login}"), login: login.to_owned(), kind: AccountKind::User }
}

pub(crate) fn viewer() -> Account {
    account("viewer")
}

pub(crate) fn unit_of(detail: &Detail) -> UnitRef {
    UnitRef::github(&detail.summary.id)
}

fn head(n: u64) -> String {
    format!("{n:040x}")
}

/// A pull request that is open and ready.
fn pull(n: u64, author: &str, at: Timestamp) -> Detail {
    let comment = Comment {
        id: format!("C_{n}"),
        database_id: 70 + n,
        author: Some(account("bea")),
        body: "hm".to_owned(),
        created_at: at,
        url: String::new(),
        review: String::new(),
    };
    Detail {
        summary: Summary {
            id: format!("PR_{n}"),
            repo: RepoName { owner: "acme".to_owned(), name: "api".to_owned() },
            number: n,
            title: format!("Count the gulls {n}"),
            url: format!("https://github.test/acme/api/pull/{n}"),
            state: PullState::Open,
            draft: false,
            head: head(n),
            updated_at: at,
            mergeable: Mergeable::Mergeable,
            checks: "success".to_owned(),
            reasons: Vec::new(),
        },
        body: "What and why".to_owned(),
        author: Some(account(author)),
        association: "MEMBER".to_owned(),
        created_at: at,
        merged_at: None,
        closed_at: None,
        base: "main".to_owned(),
        base_oid: head(0xbb),
        head_branch: format!("gulls-{n}"),
        head_repo: Some("acme/api".to_owned()),
        cross_repository: false,
        visibility: "private".to_owned(),
        archived: false,
        locked: false,
        changed_files: 3,
        review_decision: String::new(),
        labels: Vec::new(),
        assignees: Vec::new(),
        review_requests: Vec::new(),
        reviews: Vec::new(),
        threads: vec![Thread {
            id: format!("T_{n}"),
            resolved: false,
            outdated: false,
            path: "src/gulls.rs".to_owned(),
            line: Some(2),
            comments: vec![comment],
        }],
        comments: Vec::new(),
        read_at: at,
        skew_ms: 0,
        checks: Vec::new(),
        last_requested_at: None,
        head_forced_at: None,
        maintainer_can_modify: true,
        can_push: false,
    }
}

impl Github {
    /// Five pull requests: three wait for the viewer, one for nobody, one is the viewer's own.
    pub(crate) fn new(clock: Timestamp) -> Self {
        let before = clock - SignedDuration::from_hours(3);
        let authors = ["ana", "ana", "bea", "ana", "viewer"];
        let pulls = (1..).zip(authors).map(|(n, author)| pull(n, author, before)).collect();
        let mut model = Self { pulls, weather: Weather::Fair, clock: before, written: BTreeMap::new(), last: 1_000 };
        for n in 0..3 {
            model.request(n);
        }
        model.clock = clock;
        model
    }

    fn id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn request(&mut self, n: usize) {
        let (id, at) = (self.id(), self.clock);
        if let Some(detail) = self.pulls.get_mut(n) {
            let requested = Some(Requested { id: format!("RRE_{id}"), by: "ana".to_owned(), at });
            detail.last_requested_at = Some(at);
            detail.review_requests = vec![ReviewRequest { reviewer: Reviewer::Account(viewer()), requested }];
            detail.summary.updated_at = at;
        }
    }

    fn review(&mut self, n: usize, who: Account, state: ReviewState, body: &str) -> RemotePost {
        let (id, at) = (self.id(), self.clock);
        let remote = RemotePost { node_id: format!("PRR_{id}"), database_id: id, url: format!("https://github.test/r/{id}") };
        if let Some(detail) = self.pulls.get_mut(n) {
            if state != ReviewState::Pending && who == viewer() {
                detail.review_requests.clear();
            }
            detail.summary.updated_at = at;
            detail.reviews.push(Review {
                id: remote.node_id.clone(),
                database_id: id,
                author: Some(who),
                state,
                body: body.to_owned(),
                submitted_at: (state != ReviewState::Pending).then_some(at),
                commit: detail.summary.head.clone(),
                url: remote.url.clone(),
            });
        }
        remote
    }

    fn comment(&mut self, n: usize, who: Account, body: &str, in_thread: bool) -> RemotePost {
        let (id, at) = (self.id(), self.clock);
        let remote = RemotePost { node_id: format!("IC_{id}"), database_id: id, url: format!("https://github.test/c/{id}") };
        let comment = Comment {
            id: remote.node_id.clone(),
            database_id: id,
            author: Some(who),
            body: body.to_owned(),
            created_at: at,
            url: remote.url.clone(),
            review: String::new(),
        };
        if let Some(detail) = self.pulls.get_mut(n) {
            detail.summary.updated_at = at;
            match detail.threads.first_mut().filter(|_| in_thread) {
                Some(thread) => thread.comments.push(comment),
                None => detail.comments.push(comment),
            }
        }
        remote
    }

    fn has_pending(detail: &Detail) -> bool {
        detail.reviews.iter().any(|r| r.state == ReviewState::Pending && r.author == Some(viewer()))
    }

    /// Somebody does something; the answer says what.
    pub(crate) fn act(&mut self, dice: &mut Dice) -> String {
        let n = dice.roll(self.pulls.len());
        let act = dice.roll(14);
        let (id, now) = (self.id(), self.clock);
        let Some(detail) = self.pulls.get_mut(n) else { return String::new() };
        let slug = detail.slug();
        detail.summary.updated_at = now;
        let what = match act {
            0..=2 => {
                detail.summary.head = head(id);
                "a push"
            }
            3..=6 => {
                // Whoever asks again has opened it and made it ready.
                if detail.summary.state == PullState::Closed {
                    (detail.summary.state, detail.closed_at) = (PullState::Open, None);
                }
                detail.summary.draft &= dice.chance(4);
                self.request(n);
                "a review is requested"
            }
            7 => {
                detail.summary.draft = !detail.summary.draft;
                "draft or ready"
            }
            8 => {
                (detail.summary.state, detail.closed_at) = match detail.summary.state {
                    PullState::Open => (PullState::Closed, Some(now)),
                    PullState::Closed => (PullState::Open, None),
                    PullState::Merged => (PullState::Merged, detail.closed_at),
                };
                "closed or opened again"
            }
            9 if dice.chance(4) && detail.is_open() => {
                detail.summary.state = PullState::Merged;
                (detail.merged_at, detail.closed_at) = (Some(now), Some(now));
                // Work goes on in the next one.
                let next = self.pulls.len();
                self.pulls.push(pull(next as u64 + 1, "ana", now));
                self.request(next);
                "merged; another is opened"
            }
            9 | 10 => {
                let state = [ReviewState::Approved, ReviewState::ChangesRequested].get(dice.roll(2)).copied();
                self.review(n, account("bea"), state.unwrap_or(ReviewState::Commented), "As I see it");
                "bea reviews"
            }
            11 if !Self::has_pending(detail) => {
                self.review(n, viewer(), ReviewState::Commented, "By hand");
                "the person reviews by hand"
            }
            11 | 12 => {
                if Self::has_pending(detail) {
                    detail.reviews.retain(|r| r.state != ReviewState::Pending);
                    "the pending review is discarded"
                } else {
                    self.review(n, viewer(), ReviewState::Pending, "Not yet");
                    "a pending review begins"
                }
            }
            _ => {
                self.comment(n, account("ana"), "Done, look again", dice.chance(2));
                "ana answers"
            }
        };
        format!("{slug}: {what}")
    }

    /// A read's fault, if it meets one.
    fn fault(&self, dice: &mut Dice, wall: Timestamp) -> Option<ReadFault> {
        let words = || "so it is".to_owned();
        match &self.weather {
            Weather::Fair => None,
            Weather::Patchy(of) => dice.chance(*of).then(|| match dice.roll(4) {
                0 => ReadFault::Unusable(words()),
                1 if dice.chance(4) => ReadFault::NotFound(words()),
                2 => ReadFault::Wait { until: wall + SignedDuration::from_secs(45), why: words() },
                _ => ReadFault::Unreachable(words()),
            }),
            Weather::Limited(until) if *until > self.clock => {
                Some(ReadFault::Wait { until: wall + until.duration_since(self.clock), why: words() })
            }
            Weather::Limited(_) => None,
            Weather::Down => Some(ReadFault::Unreachable(words())),
            Weather::SignedOut => Some(ReadFault::SignedOut(words())),
        }
    }

    fn skew(&self, wall: Timestamp) -> i64 {
        i64::try_from(self.clock.duration_since(wall).as_millis()).unwrap_or(0)
    }

    fn reasons(detail: &Detail) -> Vec<Reason> {
        let me = Some(viewer());
        let mut reasons = Vec::new();
        if !detail.review_requests.is_empty() {
            reasons.push(Reason::Requested);
        }
        if detail.author == me {
            reasons.push(Reason::Mine);
        }
        if detail.reviews.iter().any(|r| r.author == me && r.state != ReviewState::Pending) {
            reasons.push(Reason::Reviewed);
        }
        reasons
    }

    /// Whether a read shows what was written; each that does not brings it nearer.
    fn shows(&mut self, node: &str) -> bool {
        let found = self.written.values_mut().flatten().find(|w| w.remote.node_id == node);
        match found {
            Some(written) if written.hidden > 0 => {
                written.hidden -= 1;
                false
            }
            Some(_) | None => true,
        }
    }

    fn shown(&mut self, n: usize, wall: Timestamp) -> Option<Detail> {
        let mut detail = self.pulls.get(n)?.clone();
        detail.reviews.retain(|r| self.shows(&r.id));
        for thread in &mut detail.threads {
            thread.comments.retain(|c| self.shows(&c.id));
        }
        detail.summary.reasons = Self::reasons(&detail);
        detail.read_at = self.clock;
        detail.skew_ms = self.skew(wall);
        Some(detail)
    }

    /// A sweep's answer.
    pub(crate) fn inventory(&mut self, dice: &mut Dice, wall: Timestamp) -> Result<Inventory, ReadFault> {
        if let Some(fault) = self.fault(dice, wall) {
            return Err(fault);
        }
        let mut pull_requests = Vec::new();
        let mut complete = true;
        for detail in self.pulls.iter().filter(|d| d.is_open()) {
            let reasons = Self::reasons(detail);
            if matches!(self.weather, Weather::Patchy(_)) && dice.chance(30) {
                complete = false;
            } else if !reasons.is_empty() {
                pull_requests.push(Summary { reasons, ..detail.summary.clone() });
            }
        }
        Ok(Inventory { viewer: viewer(), pull_requests, skew_ms: self.skew(wall), complete })
    }

    /// One pull request's answer.
    pub(crate) fn detail(&mut self, unit: &UnitRef, dice: &mut Dice, wall: Timestamp) -> Result<Detail, ReadFault> {
        if let Some(fault) = self.fault(dice, wall) {
            return Err(fault);
        }
        let gone = || ReadFault::NotFound("no such pull request".to_owned());
        let n = self.pulls.iter().position(|d| unit_of(d) == *unit).ok_or_else(gone)?;
        self.shown(n, wall).ok_or_else(gone)
    }

    /// The look right before a post.
    pub(crate) fn seen(&mut self, unit: &UnitRef, dice: &mut Dice, wall: Timestamp) -> Result<Seen, ReadFault> {
        let detail = self.detail(unit, dice, wall)?;
        let patch = "@@ -1,2 +1,3 @@\n a\n+b\n c".to_owned();
        let takes_words = detail.is_open() && !detail.locked && !detail.archived;
        Ok(Seen { head: detail.summary.head, files: vec![("src/gulls.rs".to_owned(), Some(patch))], takes_words })
    }

    /// How often a post stands there in truth.
    pub(crate) fn copies(&self, post: PostId) -> usize {
        self.written.get(&post).map_or(0, Vec::len)
    }

    /// Every post that stands there.
    pub(crate) fn posts(&self) -> impl Iterator<Item = (PostId, usize)> + '_ {
        self.written.iter().map(|(post, all)| (*post, all.len()))
    }

    fn write(&mut self, order: &PostOrder, dice: &mut Dice) -> Option<RemotePost> {
        let n = self.pulls.iter().position(|d| d.summary.number == order.number)?;
        let reply = !matches!(order.shape, Shape::Review { .. });
        let remote = match &order.shape {
            Shape::Review { event, .. } => {
                let state = match event {
                    ReviewEvent::Approve => ReviewState::Approved,
                    ReviewEvent::RequestChanges => ReviewState::ChangesRequested,
                    ReviewEvent::Comment => ReviewState::Commented,
                };
                self.review(n, viewer(), state, &order.body)
            }
            Shape::Comment => self.comment(n, viewer(), &order.body, false),
            Shape::Reply { .. } => self.comment(n, viewer(), &order.body, true),
        };
        let post = marker_of(&order.body)?;
        // Three complete reads prove that it is not there, so at most two may miss it.
        let hidden = u32::try_from(if dice.chance(6) { 1 + dice.roll(2) } else { 0 }).unwrap_or(0);
        let written = Written { remote: remote.clone(), at: self.clock, reply, hidden };
        self.written.entry(post).or_default().push(written);
        Some(remote)
    }

    /// Carries out a call and says what the caller hears: the two are not the same on a bad day.
    pub(crate) fn publish(&mut self, order: &PostOrder, dice: &mut Dice, wall: Timestamp) -> SendOutcome {
        let why = || "so it is".to_owned();
        match self.fault(dice, wall) {
            Some(ReadFault::SignedOut(why)) => return SendOutcome::Refused { kind: Refusal::SignedOut, why },
            Some(ReadFault::Wait { until, why }) => return SendOutcome::Wait { until, why },
            Some(ReadFault::NotFound(why)) => return SendOutcome::Refused { kind: Refusal::Gone, why },
            Some(ReadFault::Unreachable(why)) if dice.chance(2) => return SendOutcome::NotReached { why },
            Some(ReadFault::Unreachable(why) | ReadFault::Unusable(why)) => {
                // The answer was lost: nobody can say on which side of the act.
                if dice.chance(2) {
                    self.write(order, dice);
                }
                return SendOutcome::Doubt { why };
            }
            None => {}
        }
        let Some(detail) = self.pulls.iter().find(|d| d.summary.number == order.number) else {
            return SendOutcome::Refused { kind: Refusal::Gone, why: why() };
        };
        if matches!(order.shape, Shape::Review { .. }) && Self::has_pending(detail) {
            return SendOutcome::Refused { kind: Refusal::PendingReview, why: why() };
        }
        if self.weather != Weather::Fair && dice.chance(40) {
            return SendOutcome::Refused { kind: Refusal::Invalid, why: why() };
        }
        match self.write(order, dice) {
            Some(_) if self.weather != Weather::Fair && dice.chance(4) => SendOutcome::Doubt { why: why() },
            Some(remote) => SendOutcome::Sent(remote),
            None => SendOutcome::Refused { kind: Refusal::Gone, why: why() },
        }
    }

    /// A look-up: by marker and account, in the list from the first attempt on.
    pub(crate) fn look_up(&mut self, order: &PostOrder, dice: &mut Dice, wall: Timestamp) -> LookUp {
        match self.fault(dice, wall) {
            Some(ReadFault::Wait { until, why }) => return LookUp::Wait { until, why },
            Some(fault) => return LookUp::Incomplete { why: fault.to_string() },
            None => {}
        }
        let skew = order.skew_ms.unsigned_abs().max(self.skew(wall).unsigned_abs());
        let back = SignedDuration::from_secs(60) + SignedDuration::from_millis(i64::try_from(skew).unwrap_or(i64::MAX));
        let since = order.started_at.checked_sub(back).unwrap_or(Timestamp::UNIX_EPOCH);
        let there = self.written.get(&order.post).and_then(|all| all.first()).filter(|w| !w.reply || w.at >= since).cloned();
        match there {
            Some(written) if self.shows(&written.remote.node_id) => LookUp::Found(written.remote),
            Some(_) | None => LookUp::Absent,
        }
    }

    /// The person discards every review that they had begun: while one is there, GitHub takes no other.
    pub(crate) fn discard_pending(&mut self) {
        for detail in &mut self.pulls {
            detail.reviews.retain(|r| r.state != ReviewState::Pending);
        }
    }

    /// Everything that was written shows from now on.
    pub(crate) fn show_all(&mut self) {
        for written in self.written.values_mut().flatten() {
            written.hidden = 0;
        }
    }
}
