//! A unit's detail and its facts.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanItem, Skipped, UnitName};

/// `GET /api/units/{provider}/{key}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitDetail {
    /// The pull request.
    pub unit: UnitName,
    /// Whether it is watched.
    pub watched: bool,
    /// When it was last read whole, by the daemon's clock; absent before the first time, and all that follows is then empty.
    #[schemars(with = "Option<String>")]
    pub read_at: Option<Timestamp>,
    /// Why the last read failed.
    pub fault: Option<String>,
    /// `OPEN`, `CLOSED` or `MERGED`.
    pub state: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// Who wrote it; absent where the account is gone.
    pub author: Option<Reviewer>,
    /// The base branch.
    pub base: String,
    /// The head commit.
    pub head: String,
    /// The repository of the head; absent where it is gone.
    pub head_repository: Option<String>,
    /// Whether it counts as coming from a fork; one whose repository is gone does.
    pub fork: bool,
    /// The state of the checks on the head; empty for none.
    pub checks: String,
    /// The names of those that fail.
    pub failing_checks: Vec<String>,
    /// The submitted reviews, oldest first.
    pub reviews: Vec<Reviewed>,
    /// Its situation, such as `review_requested` or `ready`.
    pub kind: String,
    /// Whether it waits on the person.
    pub waits_on_user: bool,
    /// Whether it is the person's own, or one they took over.
    pub yours: bool,
    /// Why a review round is wanted, or that the review is finished.
    pub reason: Option<String>,
    /// Whether no round of it starts by itself: it is paused, or everything is.
    pub paused: bool,
    /// Whether it is paused by itself, so that it stays so when everything goes on.
    pub paused_itself: bool,
    /// Whether its rounds are not announced.
    pub muted: bool,
    /// Its planned rounds.
    pub rounds: Vec<PlanItem>,
    /// The workflows that have none planned, with the reason (GH-FACT-29).
    pub skipped: Vec<Skipped>,
    /// Guidance for its next round (WIN-36).
    pub guidance: Option<String>,
    /// Guidance that came too late: offered, and never handed over unasked (F10).
    pub guidance_kept: Vec<String>,
    /// What can be started on it, what comes first first.
    pub actions: Vec<UnitAction>,
}

/// An account as a detail names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reviewer {
    /// Its login.
    pub login: String,
    /// Whether it is automated: an app, or listed in `automated_reviewers`.
    pub automated: bool,
}

/// A submitted review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reviewed {
    /// By whom; absent where the account is gone.
    pub by: Option<Reviewer>,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED` or `DISMISSED`.
    pub state: String,
    /// When.
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
}

/// What can be started on a unit: an intent's action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitAction {
    /// The intent.
    pub intent: String,
    /// Its words.
    pub label: String,
    /// Whether it can be started now.
    pub enabled: bool,
    /// Why it cannot.
    pub disabled: Option<String>,
    /// Whether it comes first.
    pub primary: bool,
}

/// A workflow on a unit: whether it would act now, and why (`GET /api/units/{provider}/{key}/explain`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// The workflow.
    pub workflow: String,
    /// What it does, in its own words.
    pub summary: String,
    /// Whether it acts: its round is planned, or is at the next sweep.
    pub acts: bool,
    /// How that comes, in words.
    pub because: String,
    /// Its `when`, as it was written.
    pub when: String,
    /// Each term of its `when`.
    pub terms: Vec<ExplainedTerm>,
}

/// A term of a workflow's `when`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTerm {
    /// The term, as it was written.
    pub term: String,
    /// Whether it holds; absent where that cannot be told.
    pub holds: Option<bool>,
    /// Why it cannot be told.
    pub failed: Option<String>,
    /// The facts it reads.
    pub facts: Vec<Fact>,
}

/// One fact of `GET /api/units/{provider}/{key}/facts`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// Its dotted name.
    pub name: String,
    /// `bool`, `int`, `string`, `list`, `duration` or `timestamp`.
    pub kind: String,
    /// Its value: a length of time as `1h 30m`, a time as RFC 3339.
    pub value: serde_json::Value,
    /// Whether no rule that releases may read it.
    pub untrusted: bool,
}
