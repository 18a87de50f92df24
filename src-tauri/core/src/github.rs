//! What is known of a pull request, as the provider read it: values only. What follows from them is in the modules below.

use jiff::{SignedDuration, Timestamp};

use crate::calendar::Calendar;

/// The kind of a GitHub account: its `__typename`. Whether it is a bot follows from this and the configured list, never from its
/// name (GH-SYNC-47).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountKind {
    /// A person, or a machine user.
    User,
    /// An app.
    Bot,
    /// An organisation.
    Organization,
    /// An account made by an import.
    Mannequin,
    /// An account that an enterprise manages.
    EnterpriseUserAccount,
}

/// An account. Absent (`None`) where GitHub answers `null`: a ghost (GH-SYNC-22).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The node id; identity goes by it, not by the login.
    pub id: String,
    /// The login; a bot's is written with the suffix `[bot]` (GH-SYNC-48).
    pub login: String,
    /// Its kind.
    pub kind: AccountKind,
}

/// Why a pull request is watched (GH-SYNC-01, GH-SYNC-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A review is requested from the viewer.
    Requested,
    /// A review is requested from an admitted team of the viewer.
    Team,
    /// The viewer authored it.
    Mine,
    /// It is assigned to the viewer.
    Assigned,
    /// The viewer has reviewed it.
    Reviewed,
    /// The person named it in a command.
    Asked,
}

impl Reason {
    /// Each reason with the word it is stored and shown as.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Requested, "requested"),
        (Self::Team, "team"),
        (Self::Mine, "mine"),
        (Self::Assigned, "assigned"),
        (Self::Reviewed, "reviewed"),
        (Self::Asked, "asked"),
    ];
}

/// GitHub's state of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullState {
    /// Open.
    Open,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged,
}

/// Whether the head can be merged into the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mergeable {
    /// It can.
    Mergeable,
    /// It conflicts.
    Conflicting,
    /// GitHub is still working it out.
    Unknown,
}

/// `owner/name` of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoName {
    /// The owner's login.
    pub owner: String,
    /// The bare name.
    pub name: String,
}

impl std::fmt::Display for RepoName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl std::str::FromStr for RepoName {
    type Err = crate::id::IdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let part = |p: &str| {
            !p.is_empty() && p != "." && p != ".." && p.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        match text.split_once('/') {
            Some((owner, name)) if part(owner) && part(name) => Ok(Self { owner: owner.to_owned(), name: name.to_owned() }),
            _ => Err(crate::id::IdError { text: text.to_owned(), expected: "a repository, written `owner/name`" }),
        }
    }
}

/// The few fields of a search page (GH-SYNC-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The node id.
    pub id: String,
    /// The repository.
    pub repo: RepoName,
    /// The number in the repository.
    pub number: u64,
    /// The title.
    pub title: String,
    /// The page's address.
    pub url: String,
    /// The state.
    pub state: PullState,
    /// Whether it is a draft.
    pub draft: bool,
    /// The head commit.
    pub head: String,
    /// When GitHub last touched it.
    pub updated_at: Timestamp,
    /// Mergeability; it does not move `updated_at` (GH-SYNC-12).
    pub mergeable: Mergeable,
    /// The rollup state of the head, lower case, empty for none; does not move `updated_at` either.
    pub checks: String,
    /// The searches that returned it, sorted, each once.
    pub reasons: Vec<Reason>,
}

/// One complete answer to the searches of a fast sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// Who the token belongs to.
    pub viewer: Account,
    /// Each pull request once, its reasons united. One without a reason was asked for by its id, because no search returned it
    /// (GH-SYNC-13).
    pub pull_requests: Vec<Summary>,
    /// GitHub's clock minus ours when it answered, in milliseconds (GH-SYNC-45).
    pub skew_ms: i64,
    /// Whether nothing had to be left out: only then does a pull request's absence mean that it left (GH-SYNC-24, GH-SYNC-27).
    pub complete: bool,
}

/// Who a review is requested from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewer {
    /// An account.
    Account(Account),
    /// A team, as `org/slug`.
    Team(String),
}

/// A review request that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRequest {
    /// From whom.
    pub reviewer: Reviewer,
    /// By whom and when it was last made, from the timeline; `None` where the timeline does not say.
    pub requested: Option<Requested>,
}

/// The act of requesting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    /// The timeline item's node id: two requests of one reviewer differ by it.
    pub id: String,
    /// The login, empty for a ghost.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// The state of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// Not submitted; only its author sees it.
    Pending,
    /// A comment.
    Commented,
    /// An approval.
    Approved,
    /// A request for changes.
    ChangesRequested,
    /// A verdict that was taken back.
    Dismissed,
}

impl ReviewState {
    /// GitHub's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Commented => "COMMENTED",
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// One review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// The node id.
    pub id: String,
    /// The database id.
    pub database_id: u64,
    /// The author; `None` for a ghost.
    pub author: Option<Account>,
    /// The state.
    pub state: ReviewState,
    /// The text, marker included.
    pub body: String,
    /// When it was submitted; `None` while pending.
    pub submitted_at: Option<Timestamp>,
    /// The commit it was given on; empty where GitHub does not tell.
    pub commit: String,
    /// Its address.
    pub url: String,
}

/// A comment of the conversation or of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The node id.
    pub id: String,
    /// The database id.
    pub database_id: u64,
    /// The author; `None` for a ghost.
    pub author: Option<Account>,
    /// The text, marker included.
    pub body: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its address.
    pub url: String,
    /// The node id of the review that it came with; empty in the conversation and where GitHub does not tell.
    pub review: String,
}

/// A review thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The node id.
    pub id: String,
    /// Whether somebody resolved it.
    pub resolved: bool,
    /// Whether the lines it stands on have changed.
    pub outdated: bool,
    /// The file.
    pub path: String,
    /// The line, where it still has one.
    pub line: Option<u64>,
    /// Its comments, oldest first.
    pub comments: Vec<Comment>,
}

/// Everything that is stored about one pull request, from one complete read (GH-SYNC-14, GH-SYNC-15).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// The fields that a search shows too.
    pub summary: Summary,
    /// The description.
    pub body: String,
    /// The author; `None` for a ghost.
    pub author: Option<Account>,
    /// The author's association with the repository, as GitHub writes it.
    pub association: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// When it was closed or merged.
    pub closed_at: Option<Timestamp>,
    /// The base branch.
    pub base: String,
    /// The base branch's commit.
    pub base_oid: String,
    /// The head branch.
    pub head_branch: String,
    /// `owner/name` of the head's repository; `None` for a deleted fork (GH-SYNC-23).
    pub head_repo: Option<String>,
    /// Whether the head lies in another repository; true for a deleted fork (GH-FACT-04).
    pub cross_repository: bool,
    /// The repository's visibility, lower case.
    pub visibility: String,
    /// Whether the repository is archived.
    pub archived: bool,
    /// Whether the conversation is locked.
    pub locked: bool,
    /// The number of changed files.
    pub changed_files: u64,
    /// GitHub's decision over all reviews, as it writes it; empty for none.
    pub review_decision: String,
    /// Label names, sorted.
    pub labels: Vec<String>,
    /// Assignees.
    pub assignees: Vec<Account>,
    /// Requests that stand.
    pub review_requests: Vec<ReviewRequest>,
    /// Reviews, oldest first.
    pub reviews: Vec<Review>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Comments of the conversation, oldest first.
    pub comments: Vec<Comment>,
    /// The checks on the head, and on no other commit (GH-FACT-16).
    pub checks: Vec<Check>,
    /// When a review was last requested from anyone, whether the request still stands or not.
    pub last_requested_at: Option<Timestamp>,
    /// When the force push happened that made the present head, where one did (GH-FACT-13).
    pub head_forced_at: Option<Timestamp>,
    /// Whether the author lets maintainers push to the head's branch.
    pub maintainer_can_modify: bool,
    /// Whether the viewer may push to the head's branch.
    pub can_push: bool,
    /// GitHub's clock at the answer (GH-SYNC-46).
    pub read_at: Timestamp,
    /// GitHub's clock minus ours, in milliseconds.
    pub skew_ms: i64,
}

impl Detail {
    /// `owner/name#number` (GH-FACT-02).
    #[must_use]
    pub fn slug(&self) -> String {
        format!("{}#{}", self.summary.repo, self.summary.number)
    }

    /// Whether it is neither closed nor merged.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.summary.state == PullState::Open
    }

    /// When it ended; `None` while it is open, and again once it was reopened.
    #[must_use]
    pub fn ended_at(&self) -> Option<Timestamp> {
        if self.is_open() { None } else { self.merged_at.max(self.closed_at) }
    }

    /// Whether it ended so short a while ago that the inventory keeps it: `retention` is working time (GH-SYNC-01).
    #[must_use]
    pub fn just_ended(&self, calendar: &Calendar, retention: SignedDuration, now: Timestamp) -> bool {
        self.ended_at().is_some_and(|ended| calendar.working_time(ended, now) < retention)
    }
}

/// The line of a file in a pull request that a comment stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineComment {
    /// The file, as the diff names it.
    pub path: String,
    /// The line, from 1, on `side`.
    pub line: u64,
    /// The first line of a range, where the comment covers several.
    pub start_line: Option<u64>,
    /// Which side of the diff the line is counted on.
    pub side: Side,
    /// The text.
    pub body: String,
}

/// A side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The base.
    Left,
    /// The head.
    Right,
}

/// What a review says as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewEvent {
    /// Approve.
    Approve,
    /// Request changes.
    RequestChanges,
    /// Comment only.
    Comment,
}

impl ReviewEvent {
    /// GitHub's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::RequestChanges => "REQUEST_CHANGES",
            Self::Comment => "COMMENT",
        }
    }
}

/// The three shapes of a write (GH-PUB-01).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A review on a commit, with its event and its inline comments in one call (GH-PUB-16).
    Review {
        /// The verdict.
        event: ReviewEvent,
        /// Comments on lines of the diff.
        comments: Vec<InlineComment>,
    },
    /// A comment in the conversation.
    Comment,
    /// A reply in a review thread, to the comment with this database id.
    Reply {
        /// The database id of the thread's first comment.
        in_reply_to: u64,
    },
}

impl Shape {
    /// The word in manifests, rows and tools.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Review { .. } => "review",
            Self::Comment => "comment",
            Self::Reply { .. } => "reply",
        }
    }
}

/// A write, complete: what the sender hands to the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostOrder {
    /// Its row in the post ledger.
    pub post: crate::id::PostId,
    /// The repository.
    pub repo: RepoName,
    /// The pull request's number.
    pub number: u64,
    /// The pinned commit.
    pub head: String,
    /// The shape.
    pub shape: Shape,
    /// The text as it goes out, marker included (GH-PUB-03).
    pub body: String,
    /// The node id of the viewer: only the viewer's own posts settle a doubt.
    pub viewer: String,
    /// When the first attempt started, by our clock; a look-up starts earlier by the skew and 60 s (GH-SYNC-45).
    pub started_at: Timestamp,
    /// GitHub's clock minus ours, in milliseconds, when last measured.
    pub skew_ms: i64,
}

/// A post as GitHub knows it (GH-PUB-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemotePost {
    /// The node id.
    pub node_id: String,
    /// The database id.
    pub database_id: u64,
    /// Its address.
    pub url: String,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// GitHub confirmed it.
    Sent(RemotePost),
    /// GitHub refused it for good and wrote nothing (GH-PUB-12 to GH-PUB-14).
    Refused {
        /// The kind of refusal.
        kind: Refusal,
        /// GitHub's words, with what would make it possible.
        why: String,
    },
    /// GitHub wrote nothing and asks to wait (GH-SYNC-36, GH-SYNC-38).
    Wait {
        /// Not before this.
        until: Timestamp,
        /// GitHub's words.
        why: String,
    },
    /// Not a byte of the request left: the same sender may try again (GH-PUB-06).
    NotReached {
        /// The cause.
        why: String,
    },
    /// It may have been written or not: look it up (GH-PUB-07).
    Doubt {
        /// The cause.
        why: String,
    },
}

/// Why GitHub refused a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The token is not accepted (401).
    SignedOut,
    /// No access, or gone (404, 410).
    Gone,
    /// Locked, archived or not permitted (403).
    Forbidden,
    /// The viewer has a pending review (422, GH-PUB-20).
    PendingReview,
    /// Any other 422, or another final status.
    Invalid,
}

/// What a look-up found (GH-PUB-07).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookUp {
    /// It is there.
    Found(RemotePost),
    /// A complete read does not show it.
    Absent,
    /// The read was not complete: nothing follows.
    Incomplete {
        /// The cause.
        why: String,
    },
    /// GitHub asks to wait; no attempt was made (GH-SYNC-37).
    Wait {
        /// Not before this.
        until: Timestamp,
        /// GitHub's words.
        why: String,
    },
}

/// A read that brought nothing usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFault {
    /// The token is not accepted (GH-SYNC-43).
    #[error("github does not accept the token: {0}")]
    SignedOut(String),
    /// GitHub asks to wait (GH-SYNC-38).
    #[error("github asks to wait until {until}: {why}")]
    Wait {
        /// Not before this.
        until: Timestamp,
        /// GitHub's words.
        why: String,
    },
    /// There is no such thing, or the token may not see it.
    #[error("{0}")]
    NotFound(String),
    /// The address does not answer.
    #[error("github cannot be reached: {0}")]
    Unreachable(String),
    /// It answered, but not with what was asked for.
    #[error("github's answer cannot be used: {0}")]
    Unusable(String),
}

pub mod busy;
pub mod checks;
pub mod diff;
pub mod facts;
pub mod material;
pub mod publish;
mod sightings;

pub use checks::{Check, CheckKind};
pub use sightings::Sightings;
