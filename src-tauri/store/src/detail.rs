//! Core's values as JSON in columns. Core knows no serde, so each type has a mirror here that the compiler holds against the
//! original: a field that core gains and the mirror lacks does not build. A field added later needs `#[serde(default)]`, because
//! rows of before do not have it.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wloop_core::gate::{GateStatus, Intent};
use wloop_core::github::{
    Account, AccountKind, Check, CheckKind, Comment, Detail, InlineComment, Mergeable, PullState, Reason, RepoName, Requested,
    Review, ReviewRequest, ReviewState, Reviewer, Side, Summary, Thread,
};

/// A value that is written as JSON through its mirror.
pub(crate) trait Mirror: Sized {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

struct Given<'a, T>(&'a T);

impl<T: Mirror> Serialize for Given<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

struct Taken<T>(T);

impl<'de, T: Mirror> Deserialize<'de> for Taken<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self)
    }
}

/// The JSON of a value.
pub(crate) fn to_json<T: Mirror>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Given(value))
}

/// The value of a JSON text.
pub(crate) fn from_json<T: Mirror>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str::<Taken<T>>(text).map(|taken| taken.0)
}

/// For `#[serde(with = "via")]`.
mod via {
    use super::{Deserializer, Mirror, Serializer};

    pub(super) fn serialize<T: Mirror, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.write(serializer)
    }

    pub(super) fn deserialize<'de, T: Mirror, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

impl<T: Mirror> Mirror for Vec<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Given))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Taken<T>>::deserialize(deserializer)?.into_iter().map(|taken| taken.0).collect())
    }
}

impl<T: Mirror> Mirror for Option<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Given).serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Taken<T>>::deserialize(deserializer)?.map(|taken| taken.0))
    }
}

impl Mirror for Timestamp {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.as_millisecond())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_millisecond(i64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Mirror for RepoName {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

macro_rules! mirrors {
    ($($real:ty => $mirror:ident),* $(,)?) => {$(
        impl Mirror for $real {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $mirror::serialize(self, serializer)
            }

            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $mirror::deserialize(deserializer)
            }
        }
    )*};
}

mirrors! {
    AccountKind => AccountKindMirror,
    Account => AccountMirror,
    Reason => ReasonMirror,
    PullState => PullStateMirror,
    Mergeable => MergeableMirror,
    Summary => SummaryMirror,
    Reviewer => ReviewerMirror,
    Requested => RequestedMirror,
    ReviewRequest => ReviewRequestMirror,
    ReviewState => ReviewStateMirror,
    Review => ReviewMirror,
    Comment => CommentMirror,
    CheckKind => CheckKindMirror,
    Check => CheckMirror,
    Thread => ThreadMirror,
    Detail => DetailMirror,
    Side => SideMirror,
    InlineComment => InlineCommentMirror,
    GateStatus => GateStatusMirror,
    Intent => IntentMirror,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AccountKind", rename_all = "snake_case")]
enum AccountKindMirror {
    User,
    Bot,
    Organization,
    Mannequin,
    EnterpriseUserAccount,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Account")]
struct AccountMirror {
    id: String,
    login: String,
    #[serde(with = "via")]
    kind: AccountKind,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Reason", rename_all = "snake_case")]
enum ReasonMirror {
    Requested,
    Team,
    Mine,
    Assigned,
    Reviewed,
    Asked,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "PullState", rename_all = "snake_case")]
enum PullStateMirror {
    Open,
    Closed,
    Merged,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Mergeable", rename_all = "snake_case")]
enum MergeableMirror {
    Mergeable,
    Conflicting,
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Summary")]
struct SummaryMirror {
    id: String,
    #[serde(with = "via")]
    repo: RepoName,
    number: u64,
    title: String,
    url: String,
    #[serde(with = "via")]
    state: PullState,
    draft: bool,
    head: String,
    #[serde(with = "via")]
    updated_at: Timestamp,
    #[serde(with = "via")]
    mergeable: Mergeable,
    checks: String,
    #[serde(with = "via")]
    reasons: Vec<Reason>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Reviewer", rename_all = "snake_case")]
enum ReviewerMirror {
    Account(#[serde(with = "via")] Account),
    Team(String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Requested")]
struct RequestedMirror {
    id: String,
    by: String,
    #[serde(with = "via")]
    at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ReviewRequest")]
struct ReviewRequestMirror {
    #[serde(with = "via")]
    reviewer: Reviewer,
    #[serde(with = "via")]
    requested: Option<Requested>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ReviewState", rename_all = "snake_case")]
enum ReviewStateMirror {
    Pending,
    Commented,
    Approved,
    ChangesRequested,
    Dismissed,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Review")]
struct ReviewMirror {
    id: String,
    database_id: u64,
    #[serde(with = "via")]
    author: Option<Account>,
    #[serde(with = "via")]
    state: ReviewState,
    body: String,
    #[serde(with = "via")]
    submitted_at: Option<Timestamp>,
    commit: String,
    url: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Comment")]
struct CommentMirror {
    id: String,
    database_id: u64,
    #[serde(with = "via")]
    author: Option<Account>,
    body: String,
    #[serde(with = "via")]
    created_at: Timestamp,
    url: String,
    #[serde(default)]
    review: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CheckKind", rename_all = "snake_case")]
enum CheckKindMirror {
    Run,
    Context,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Check")]
struct CheckMirror {
    #[serde(with = "via")]
    kind: CheckKind,
    app: String,
    name: String,
    outcome: String,
    #[serde(with = "via")]
    started_at: Option<Timestamp>,
    #[serde(with = "via")]
    completed_at: Option<Timestamp>,
    database_id: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Thread")]
struct ThreadMirror {
    id: String,
    resolved: bool,
    outdated: bool,
    path: String,
    line: Option<u64>,
    #[serde(with = "via")]
    comments: Vec<Comment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Detail")]
struct DetailMirror {
    #[serde(with = "via")]
    summary: Summary,
    body: String,
    #[serde(with = "via")]
    author: Option<Account>,
    association: String,
    #[serde(with = "via")]
    created_at: Timestamp,
    #[serde(with = "via")]
    merged_at: Option<Timestamp>,
    #[serde(with = "via")]
    closed_at: Option<Timestamp>,
    base: String,
    base_oid: String,
    head_branch: String,
    head_repo: Option<String>,
    cross_repository: bool,
    visibility: String,
    archived: bool,
    locked: bool,
    changed_files: u64,
    review_decision: String,
    labels: Vec<String>,
    #[serde(with = "via")]
    assignees: Vec<Account>,
    #[serde(with = "via")]
    review_requests: Vec<ReviewRequest>,
    #[serde(with = "via")]
    reviews: Vec<Review>,
    #[serde(with = "via")]
    threads: Vec<Thread>,
    #[serde(with = "via")]
    comments: Vec<Comment>,
    #[serde(default, with = "via")]
    checks: Vec<Check>,
    #[serde(default, with = "via")]
    last_requested_at: Option<Timestamp>,
    #[serde(default, with = "via")]
    head_forced_at: Option<Timestamp>,
    #[serde(default)]
    maintainer_can_modify: bool,
    #[serde(default)]
    can_push: bool,
    #[serde(with = "via")]
    read_at: Timestamp,
    skew_ms: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Side", rename_all = "snake_case")]
enum SideMirror {
    Left,
    Right,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "InlineComment")]
struct InlineCommentMirror {
    path: String,
    line: u64,
    start_line: Option<u64>,
    #[serde(with = "via")]
    side: Side,
    body: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "GateStatus", rename_all = "snake_case")]
enum GateStatusMirror {
    Open,
    Approved,
    Rejected,
    Answered,
    Dismissed,
    Superseded,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Intent")]
struct IntentMirror {
    name: String,
    label: String,
    #[serde(with = "via")]
    status: GateStatus,
    text: Option<String>,
}
