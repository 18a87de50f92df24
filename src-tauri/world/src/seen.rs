//! What the small GitHub holds of a conversation, for assertions.

use crate::clock::iso;
use crate::github::SmallGithub;
use crate::model::{ReviewState, Side};

/// A review as the small GitHub holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewSeen {
    /// The database id.
    pub id: u64,
    /// The node id.
    pub node_id: String,
    /// Its author's login.
    pub author: String,
    /// Its state.
    pub state: ReviewState,
    /// Its body.
    pub body: String,
    /// The commit it is about.
    pub commit: String,
    /// The web address.
    pub url: String,
    /// When it was submitted, as GitHub writes times; none while pending.
    pub submitted_at: Option<String>,
    /// Its inline comments.
    pub comments: Vec<InlineSeen>,
}

/// An inline comment as the small GitHub holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineSeen {
    /// The database id.
    pub id: u64,
    /// The node id.
    pub node_id: String,
    /// The file.
    pub path: String,
    /// The line it was made on.
    pub line: u64,
    /// The first line, of several.
    pub start_line: Option<u64>,
    /// The side of the diff.
    pub side: Side,
    /// Its text.
    pub body: String,
    /// The first comment of its thread, for a reply.
    pub in_reply_to: Option<u64>,
    /// The web address.
    pub url: String,
}

/// A conversation comment as the small GitHub holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentSeen {
    /// The database id.
    pub id: u64,
    /// The node id.
    pub node_id: String,
    /// Its author's login.
    pub author: String,
    /// Its text.
    pub body: String,
    /// The web address.
    pub url: String,
    /// When it was made, as GitHub writes times.
    pub created_at: String,
}

impl SmallGithub {
    /// Every review, oldest first, pending ones and those around replies included; empty for an unknown pull request.
    pub fn reviews(&self, repo: &str, number: u64) -> Vec<ReviewSeen> {
        let web = self.pull_url(repo, number);
        self.with(|state| {
            let Ok(pull) = state.pull(repo, number) else { return Vec::new() };
            let seen = pull.reviews.iter().map(|review| ReviewSeen {
                id: review.id,
                node_id: review.node_id.clone(),
                author: state.login(review.author).to_owned(),
                state: review.state,
                body: review.body.clone(),
                commit: review.commit.clone(),
                url: format!("{web}#pullrequestreview-{}", review.id),
                submitted_at: review.submitted_at.map(iso),
                comments: pull
                    .inline
                    .iter()
                    .filter(|comment| comment.review == review.id)
                    .map(|comment| InlineSeen {
                        id: comment.id,
                        node_id: comment.node_id.clone(),
                        path: comment.path.clone(),
                        line: comment.original_line,
                        start_line: comment.original_start_line,
                        side: comment.side,
                        body: comment.body.clone(),
                        in_reply_to: comment.in_reply_to,
                        url: format!("{web}#discussion_r{}", comment.id),
                    })
                    .collect(),
            });
            seen.collect()
        })
    }

    /// Every conversation comment, oldest first; empty for an unknown pull request.
    pub fn comments(&self, repo: &str, number: u64) -> Vec<CommentSeen> {
        let web = self.pull_url(repo, number);
        self.with(|state| {
            let Ok(pull) = state.pull(repo, number) else { return Vec::new() };
            let seen = pull.comments.iter().map(|comment| CommentSeen {
                id: comment.id,
                node_id: comment.node_id.clone(),
                author: state.login(comment.author).to_owned(),
                body: comment.body.clone(),
                url: format!("{web}#issuecomment-{}", comment.id),
                created_at: iso(comment.created_at),
            });
            seen.collect()
        })
    }
}
