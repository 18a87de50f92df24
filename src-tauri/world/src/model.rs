//! What the small GitHub knows: accounts, repositories, pull requests and all that hangs on them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;

use crate::clock::Clock;
use crate::diff::FileDiff;
use crate::error::WorldError;
use crate::git::{CommitInfo, Git};

/// What sort of account it is; GitHub's `__typename` of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// A person, or a machine user.
    User,
    /// An app's account; REST writes its login with `[bot]`.
    Bot,
    /// An organisation, which owns repositories and teams.
    Organization,
}

impl AccountKind {
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Bot => "Bot",
            Self::Organization => "Organization",
        }
    }
}

/// An account as it was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The login without the suffix `[bot]`.
    pub login: String,
    /// What it is.
    pub kind: AccountKind,
    /// The database id.
    pub id: u64,
    /// The node id.
    pub node_id: String,
    pub(crate) created_at: Timestamp,
    pub(crate) deleted: bool,
}

/// An index into [`State::accounts`].
pub(crate) type AccountIx = usize;
/// An index into [`State::teams`].
pub(crate) type TeamIx = usize;

#[derive(Debug, Clone)]
pub(crate) struct Team {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) org: AccountIx,
    pub(crate) slug: String,
    pub(crate) members: BTreeSet<AccountIx>,
    pub(crate) created_at: Timestamp,
}

/// The state of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullState {
    /// Open, a draft or not.
    Open,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged,
}

/// The state of a review, as GraphQL spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// Not submitted; only its author sees it.
    Pending,
    /// Submitted without a verdict.
    Commented,
    /// Submitted as an approval.
    Approved,
    /// Submitted with changes requested.
    ChangesRequested,
    /// Dismissed after it was submitted.
    Dismissed,
}

impl ReviewState {
    /// GitHub's word for it, such as `CHANGES_REQUESTED`.
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

/// What submitting a review says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewEvent {
    /// An approval.
    Approve,
    /// Changes requested.
    RequestChanges,
    /// Neither.
    Comment,
}

impl ReviewEvent {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "APPROVE" => Some(Self::Approve),
            "REQUEST_CHANGES" => Some(Self::RequestChanges),
            "COMMENT" => Some(Self::Comment),
            _ => None,
        }
    }

    pub(crate) fn state(self) -> ReviewState {
        match self {
            Self::Approve => ReviewState::Approved,
            Self::RequestChanges => ReviewState::ChangesRequested,
            Self::Comment => ReviewState::Commented,
        }
    }
}

/// The side of a diff a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The base.
    Left,
    /// The head.
    Right,
}

impl Side {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "LEFT" => Some(Self::Left),
            "RIGHT" => Some(Self::Right),
            _ => None,
        }
    }
}

/// An inline comment to be made with a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInlineComment {
    /// The file.
    pub path: String,
    /// The line it ends at, in the file of its side.
    pub line: u64,
    /// The side.
    pub side: Side,
    /// Where it starts, for one of several lines.
    pub start_line: Option<u64>,
    /// The text.
    pub body: String,
}

impl NewInlineComment {
    /// A comment on one line of the head's side.
    pub fn new(path: &str, line: u64, body: &str) -> Self {
        Self { path: path.to_owned(), line, side: Side::Right, start_line: None, body: body.to_owned() }
    }
}

/// A pull request to be opened.
#[derive(Debug, Clone, Default)]
pub struct NewPullRequest {
    /// `owner/name` of the base repository.
    pub repo: String,
    /// Who opens it; added as a user when unknown.
    pub author: String,
    /// The title, also its first commit's message.
    pub title: String,
    /// The description.
    pub body: String,
    /// The head branch.
    pub branch: String,
    /// The base branch; empty means the default branch.
    pub base: String,
    /// What its one commit changes; `None` deletes the file.
    pub files: Vec<(String, Option<String>)>,
    /// Opened as a draft.
    pub draft: bool,
    /// Comes from a fork of the author's.
    pub cross_repository: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) author: AccountIx,
    pub(crate) state: ReviewState,
    pub(crate) body: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) submitted_at: Option<Timestamp>,
    pub(crate) commit: String,
}

#[derive(Debug, Clone)]
pub(crate) struct InlineComment {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    /// The review it belongs to.
    pub(crate) review: u64,
    pub(crate) author: AccountIx,
    pub(crate) body: String,
    pub(crate) path: String,
    pub(crate) side: Side,
    /// Where it is in the present diff; none once outdated.
    pub(crate) line: Option<u64>,
    pub(crate) start_line: Option<u64>,
    pub(crate) position: Option<u64>,
    pub(crate) original_line: u64,
    pub(crate) original_start_line: Option<u64>,
    pub(crate) original_position: u64,
    /// The commented line's text, by which it is found again after a push.
    pub(crate) text: String,
    pub(crate) hunk: String,
    pub(crate) commit: String,
    pub(crate) original_commit: String,
    pub(crate) in_reply_to: Option<u64>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub(crate) node_id: String,
    /// The id of its first comment.
    pub(crate) root: u64,
    pub(crate) resolved_by: Option<AccountIx>,
}

#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) author: AccountIx,
    pub(crate) body: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reviewer {
    User(AccountIx),
    Team(TeamIx),
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) reviewer: Reviewer,
}

#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) name: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) at: Timestamp,
    pub(crate) actor: AccountIx,
    pub(crate) what: Happening,
}

#[derive(Debug, Clone)]
pub(crate) enum Happening {
    ReviewRequested(Reviewer),
    ReviewRequestRemoved(Reviewer),
    Commit(String),
    ForcePushed { before: String, after: String },
    ReadyForReview,
    ConvertToDraft,
    Closed,
    Reopened,
    Merged(String),
    Locked,
    Unlocked,
    Labeled(String),
    Assigned(AccountIx),
    Reviewed(u64),
    Commented(u64),
}

/// How a check on a commit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// A check run that waits.
    Queued,
    /// A check run that runs.
    InProgress,
    /// A check run that ended, with its conclusion in lower case, such as `failure`.
    Completed(String),
    /// A status context, with its state in lower case: `success`, `failure`, `pending`, `error`.
    Status(String),
}

#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) name: String,
    pub(crate) outcome: CheckOutcome,
    pub(crate) started_at: Timestamp,
    pub(crate) changed_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    /// Issues and pull requests have their own database ids.
    pub(crate) issue_id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) author: AccountIx,
    pub(crate) state: PullState,
    pub(crate) draft: bool,
    pub(crate) locked: bool,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) closed_at: Option<Timestamp>,
    pub(crate) merged_at: Option<Timestamp>,
    pub(crate) merged_by: Option<AccountIx>,
    pub(crate) merge_commit: Option<String>,
    pub(crate) head_ref: String,
    pub(crate) head_sha: String,
    pub(crate) cross_repository: bool,
    pub(crate) fork_deleted: bool,
    pub(crate) base_ref: String,
    pub(crate) base_sha: String,
    pub(crate) mergeable: Option<bool>,
    pub(crate) mergeable_held: Option<Option<bool>>,
    pub(crate) labels: Vec<Label>,
    pub(crate) assignees: Vec<AccountIx>,
    pub(crate) requests: Vec<Request>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) inline: Vec<InlineComment>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) timeline: Vec<Event>,
    /// The commits now in it, oldest first.
    pub(crate) commits: Vec<String>,
    pub(crate) files: Vec<FileDiff>,
}

impl Pull {
    pub(crate) fn additions(&self) -> u64 {
        self.files.iter().map(|file| file.additions).sum()
    }

    pub(crate) fn deletions(&self) -> u64 {
        self.files.iter().map(|file| file.deletions).sum()
    }

    pub(crate) fn review(&self, id: u64) -> Option<&Review> {
        self.reviews.iter().find(|review| review.id == id)
    }

    pub(crate) fn inline_comment(&self, id: u64) -> Option<&InlineComment> {
        self.inline.iter().find(|comment| comment.id == id)
    }

    /// The reviews that `viewer` may see: pending ones are their author's alone.
    pub(crate) fn reviews_for(&self, viewer: Option<AccountIx>) -> impl Iterator<Item = &Review> {
        self.reviews.iter().filter(move |review| review.state != ReviewState::Pending || Some(review.author) == viewer)
    }

    /// Whether a comment belongs to a review that was submitted.
    pub(crate) fn is_published(&self, comment: &InlineComment) -> bool {
        self.review(comment.review).is_none_or(|review| review.state != ReviewState::Pending)
    }

    /// The inline comments of submitted reviews.
    pub(crate) fn inline_published(&self) -> impl Iterator<Item = &InlineComment> {
        self.inline.iter().filter(|comment| self.is_published(comment))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Repo {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) owner: AccountIx,
    pub(crate) name: String,
    pub(crate) full_name: String,
    pub(crate) public: bool,
    pub(crate) archived: bool,
    pub(crate) requires_review: bool,
    pub(crate) default_branch: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) pushed_at: Timestamp,
    pub(crate) next_number: u64,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    /// Every commit that a pull request ever held, by its id.
    pub(crate) commits: BTreeMap<String, CommitInfo>,
    pub(crate) checks: BTreeMap<String, Vec<Check>>,
    /// Accounts that may not see it.
    pub(crate) hidden_from: BTreeSet<AccountIx>,
    pub(crate) git: Git,
}

impl Repo {
    pub(crate) fn visible_to(&self, viewer: AccountIx) -> bool {
        !self.hidden_from.contains(&viewer)
    }

    pub(crate) fn checks_on(&self, sha: &str) -> &[Check] {
        self.checks.get(sha).map_or(&[], Vec::as_slice)
    }
}

/// What is left of one sort of quota.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    pub(crate) limit: u64,
    pub(crate) used: u64,
    pub(crate) reset: i64,
}

impl Quota {
    pub(crate) fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// Everything the small GitHub holds.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) clock: Clock,
    pub(crate) dir: PathBuf,
    pub(crate) seed: u64,
    pub(crate) last_id: u64,
    pub(crate) accounts: Vec<Account>,
    pub(crate) teams: Vec<Team>,
    pub(crate) tokens: BTreeMap<String, AccountIx>,
    /// By full name in lower case.
    pub(crate) repos: BTreeMap<String, Repo>,
    /// Old full name to new one, in lower case.
    pub(crate) renamed: BTreeMap<String, String>,
    pub(crate) quotas: BTreeMap<&'static str, Quota>,
}

/// A login as it is compared: lower case, without `[bot]`.
pub(crate) fn login_key(login: &str) -> String {
    let lower = login.to_lowercase();
    lower.strip_suffix("[bot]").unwrap_or(&lower).to_owned()
}

impl State {
    pub(crate) fn new(dir: PathBuf, seed: u64) -> Self {
        // The seed moves the first id, so that two worlds do not share their ids by accident.
        let first = 1_000 + (seed % 9_973) * 100_000;
        Self {
            clock: Clock::default(),
            dir,
            seed,
            last_id: first,
            accounts: Vec::new(),
            teams: Vec::new(),
            tokens: BTreeMap::new(),
            repos: BTreeMap::new(),
            renamed: BTreeMap::new(),
            quotas: BTreeMap::new(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A new database id and the node id that goes with it.
    pub(crate) fn ids(&mut self, prefix: &str) -> (u64, String) {
        self.last_id += 1;
        (self.last_id, node_id(prefix, self.seed, self.last_id))
    }

    pub(crate) fn account_ix(&self, login: &str) -> Option<AccountIx> {
        let key = login_key(login);
        self.accounts.iter().position(|account| login_key(&account.login) == key)
    }

    pub(crate) fn known_account(&self, login: &str) -> Result<AccountIx, WorldError> {
        self.account_ix(login).ok_or_else(|| WorldError::UnknownAccount(login.to_owned()))
    }

    /// The account, or none for one that was deleted.
    pub(crate) fn live(&self, ix: AccountIx) -> Option<&Account> {
        self.accounts.get(ix).filter(|account| !account.deleted)
    }

    pub(crate) fn login(&self, ix: AccountIx) -> &str {
        self.live(ix).map_or("ghost", |account| account.login.as_str())
    }

    pub(crate) fn team_ix(&self, org: &str, slug: &str) -> Option<TeamIx> {
        let org = self.account_ix(org)?;
        self.teams.iter().position(|team| team.org == org && team.slug.eq_ignore_ascii_case(slug))
    }

    pub(crate) fn repo(&self, name: &str) -> Result<&Repo, WorldError> {
        let key = name.to_lowercase();
        let key = self.renamed.get(&key).unwrap_or(&key);
        self.repos.get(key).ok_or_else(|| WorldError::UnknownRepository(name.to_owned()))
    }

    pub(crate) fn repo_mut(&mut self, name: &str) -> Result<&mut Repo, WorldError> {
        let key = name.to_lowercase();
        let key = self.renamed.get(&key).cloned().unwrap_or(key);
        self.repos.get_mut(&key).ok_or_else(|| WorldError::UnknownRepository(name.to_owned()))
    }

    pub(crate) fn pull(&self, repo: &str, number: u64) -> Result<&Pull, WorldError> {
        self.repo(repo)?.pulls.get(&number).ok_or_else(|| WorldError::UnknownPull { repo: repo.to_owned(), number })
    }

    pub(crate) fn pull_mut(&mut self, repo: &str, number: u64) -> Result<&mut Pull, WorldError> {
        self.repo_mut(repo)?.pulls.get_mut(&number).ok_or_else(|| WorldError::UnknownPull { repo: repo.to_owned(), number })
    }

    /// How an account stands to a repository, in GitHub's words.
    pub(crate) fn association(&self, repo: &Repo, pull: &Pull, who: AccountIx) -> &'static str {
        let Some(account) = self.live(who) else { return "NONE" };
        if who == repo.owner {
            "OWNER"
        } else if account.kind == AccountKind::Bot {
            "CONTRIBUTOR"
        } else if pull.cross_repository && who == pull.author {
            "NONE"
        } else if self.teams.iter().any(|team| team.org == repo.owner && team.members.contains(&who)) {
            "MEMBER"
        } else {
            "COLLABORATOR"
        }
    }

    /// GitHub's `reviewDecision`: null where the base branch asks for no review.
    pub(crate) fn review_decision(&self, repo: &Repo, pull: &Pull) -> Option<&'static str> {
        if !repo.requires_review {
            return None;
        }
        let mut standing: BTreeMap<AccountIx, ReviewState> = BTreeMap::new();
        for review in &pull.reviews {
            let verdict = matches!(review.state, ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed);
            if verdict && review.author != pull.author {
                standing.insert(review.author, review.state);
            }
        }
        let any = |state| standing.values().any(|held| *held == state);
        if any(ReviewState::ChangesRequested) {
            Some("CHANGES_REQUESTED")
        } else if any(ReviewState::Approved) {
            Some("APPROVED")
        } else {
            Some("REVIEW_REQUIRED")
        }
    }
}

/// `PR_kw…`: the same for the same seed and number, and opaque.
pub(crate) fn node_id(prefix: &str, seed: u64, id: u64) -> String {
    const DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut text = String::new();
    for mut number in [seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40, id] {
        for _ in 0..6 {
            let digit = usize::try_from(number % 62).unwrap_or(0);
            text.insert(0, char::from(DIGITS[digit]));
            number /= 62;
        }
    }
    format!("{prefix}_kw{text}")
}
