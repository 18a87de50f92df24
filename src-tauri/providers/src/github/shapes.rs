//! The shapes of GitHub's answers, as far as they are read. Whatever may be `null` is an `Option` (GH-SYNC-22).

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

/// An account as GraphQL shows it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Who {
    #[serde(rename = "__typename")]
    pub(crate) kind: String,
    pub(crate) login: String,
    #[serde(default)]
    pub(crate) id: Option<String>,
}

/// An account as REST shows it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestUser {
    pub(crate) login: String,
    pub(crate) node_id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

/// Whom a review is requested from: an account or a team.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Asked {
    #[serde(rename = "__typename")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) login: Option<String>,
    #[serde(default, rename = "combinedSlug")]
    pub(crate) team: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Repository {
    pub(crate) name_with_owner: String,
    #[serde(default)]
    pub(crate) visibility: Option<String>,
    #[serde(default)]
    pub(crate) is_archived: Option<bool>,
    #[serde(default)]
    pub(crate) viewer_permission: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Rollup {
    pub(crate) state: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Commit {
    pub(crate) oid: String,
    #[serde(default)]
    pub(crate) status_check_rollup: Option<Rollup>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PullCommit {
    pub(crate) commit: Commit,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Nodes<T> {
    #[serde(default = "Option::default")]
    pub(crate) nodes: Option<Vec<Option<T>>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) id: String,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) state: String,
    pub(crate) is_draft: bool,
    pub(crate) head_ref_oid: String,
    pub(crate) updated_at: Timestamp,
    pub(crate) mergeable: String,
    pub(crate) repository: Repository,
    #[serde(default)]
    pub(crate) commits: Option<Nodes<PullCommit>>,
}

/// The plain fields of a detail; its connections are read apart.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plain {
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) author_association: Option<String>,
    pub(crate) created_at: Timestamp,
    #[serde(default)]
    pub(crate) merged_at: Option<Timestamp>,
    #[serde(default)]
    pub(crate) closed_at: Option<Timestamp>,
    pub(crate) base_ref_name: String,
    pub(crate) base_ref_oid: String,
    pub(crate) head_ref_name: String,
    pub(crate) is_cross_repository: bool,
    pub(crate) locked: bool,
    #[serde(default)]
    pub(crate) maintainer_can_modify: Option<bool>,
    pub(crate) changed_files: u64,
    #[serde(default)]
    pub(crate) review_decision: Option<String>,
    #[serde(default)]
    pub(crate) author: Option<Who>,
    #[serde(default)]
    pub(crate) head_repository: Option<Repository>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Label {
    pub(crate) name: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewRequest {
    #[serde(default)]
    pub(crate) requested_reviewer: Option<Asked>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimelineItem {
    #[serde(rename = "__typename")]
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) created_at: Timestamp,
    #[serde(default)]
    pub(crate) actor: Option<Who>,
    #[serde(default)]
    pub(crate) requested_reviewer: Option<Asked>,
    #[serde(default)]
    pub(crate) after_commit: Option<Oid>,
}

/// A check run or a status context.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", tag = "__typename")]
pub(crate) enum Check {
    #[serde(rename = "CheckRun", rename_all = "camelCase")]
    Run {
        #[serde(default)]
        database_id: Option<u64>,
        name: String,
        status: String,
        #[serde(default)]
        conclusion: Option<String>,
        #[serde(default)]
        started_at: Option<Timestamp>,
        #[serde(default)]
        completed_at: Option<Timestamp>,
        #[serde(default)]
        check_suite: Option<CheckSuite>,
    },
    #[serde(rename = "StatusContext", rename_all = "camelCase")]
    Context { context: String, state: String, created_at: Timestamp },
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CheckSuite {
    #[serde(default)]
    pub(crate) app: Option<App>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct App {
    #[serde(default)]
    pub(crate) slug: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Id {
    pub(crate) id: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Oid {
    pub(crate) oid: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Review {
    pub(crate) id: String,
    #[serde(default, deserialize_with = "big")]
    pub(crate) full_database_id: Option<u64>,
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) submitted_at: Option<Timestamp>,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) author: Option<Who>,
    #[serde(default)]
    pub(crate) commit: Option<Oid>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comment {
    pub(crate) id: String,
    #[serde(default, deserialize_with = "big")]
    pub(crate) full_database_id: Option<u64>,
    #[serde(default)]
    pub(crate) body: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) author: Option<Who>,
    #[serde(default)]
    pub(crate) pull_request_review: Option<Id>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thread {
    pub(crate) id: String,
    pub(crate) is_resolved: bool,
    pub(crate) is_outdated: bool,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) line: Option<u64>,
}

/// A pull request as REST shows it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestPull {
    pub(crate) node_id: String,
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) merged_at: Option<Timestamp>,
    #[serde(default)]
    pub(crate) draft: Option<bool>,
    #[serde(default)]
    pub(crate) locked: bool,
    pub(crate) head: RestHead,
    pub(crate) base: RestBase,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestHead {
    pub(crate) sha: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestBase {
    #[serde(default)]
    pub(crate) repo: Option<RestRepo>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestRepo {
    #[serde(default)]
    pub(crate) archived: bool,
}

/// A changed file as REST shows it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestFile {
    pub(crate) filename: String,
    #[serde(default)]
    pub(crate) previous_filename: Option<String>,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) patch: Option<String>,
}

/// A team as REST shows it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestTeam {
    pub(crate) slug: String,
    pub(crate) organization: RestOrganization,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestOrganization {
    pub(crate) login: String,
}

/// A comment, reply or review as REST shows it: what a write answers and a look-up compares.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RestPost {
    pub(crate) id: u64,
    pub(crate) node_id: String,
    pub(crate) html_url: String,
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) user: Option<RestUser>,
    #[serde(default)]
    pub(crate) state: Option<String>,
}

/// A 64-bit number, which GraphQL writes as text.
fn big<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }
    match Option::<Either>::deserialize(from)? {
        None => Ok(None),
        Some(Either::Number(number)) => Ok(Some(number)),
        Some(Either::Text(text)) => text.parse().map(Some).map_err(serde::de::Error::custom),
    }
}
