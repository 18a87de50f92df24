//! Reviews and replies: what GitHub accepts, what it refuses, and what an accepted one changes.

use crate::diff::FileDiff;
use crate::error::WorldError;
use crate::git::Git;
use crate::model::{
    AccountIx, Happening, InlineComment, Pull, Repo, Review, ReviewEvent, ReviewState, Reviewer, Side, State, Thread,
};

/// The most characters a body may have.
pub(crate) const BODY_LIMIT: usize = 65_536;

/// Why GitHub refuses a write: the status, its message and the items of `errors`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) errors: Vec<String>,
}

impl Refusal {
    pub(crate) fn unprocessable(error: &str) -> Self {
        Self { status: 422, message: "Unprocessable Entity".to_owned(), errors: vec![error.to_owned()] }
    }

    pub(crate) fn forbidden(message: &str) -> Self {
        Self { status: 403, message: message.to_owned(), errors: Vec::new() }
    }

    pub(crate) fn not_found() -> Self {
        Self { status: 404, message: "Not Found".to_owned(), errors: Vec::new() }
    }
}

impl From<WorldError> for Refusal {
    fn from(error: WorldError) -> Self {
        match error {
            WorldError::Refused { status, message } => Self { status, message, errors: Vec::new() },
            WorldError::UnknownRepository(_)
            | WorldError::UnknownPull { .. }
            | WorldError::UnknownAccount(_)
            | WorldError::UnknownTeam(_) => Self::not_found(),
            WorldError::Listen { .. }
            | WorldError::Folder { .. }
            | WorldError::GitMissing { .. }
            | WorldError::Git { .. }
            | WorldError::RepositoryName { .. }
            | WorldError::Path(_) => Self { status: 500, message: error.to_string(), errors: Vec::new() },
        }
    }
}

impl From<Refusal> for WorldError {
    fn from(refusal: Refusal) -> Self {
        let message = [vec![refusal.message], refusal.errors].concat().join(": ");
        Self::Refused { status: refusal.status, message }
    }
}

/// Where an inline comment is to stand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Position(u64),
    Line { line: u64, side: Side, start: Option<(u64, Side)> },
}

/// An inline comment as it was asked for.
#[derive(Debug, Clone)]
pub(crate) struct AskedComment {
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) place: Place,
}

/// A review as it was asked for; without an event it stays pending.
#[derive(Debug, Clone)]
pub(crate) struct AskedReview {
    pub(crate) author: AccountIx,
    pub(crate) event: Option<ReviewEvent>,
    pub(crate) body: String,
    pub(crate) commit: Option<String>,
    pub(crate) comments: Vec<AskedComment>,
}

struct Placed {
    asked: AskedComment,
    side: Side,
    line: u64,
    start: Option<u64>,
    position: u64,
    hunk: String,
    text: String,
}

/// What forbids any writing on a pull request.
pub(crate) fn check_writable(repo: &Repo, pull: &Pull) -> Result<(), Refusal> {
    if repo.archived {
        return Err(Refusal::forbidden("Repository was archived so is read-only."));
    }
    if pull.locked {
        return Err(Refusal::forbidden("Unable to create comment because issue is locked."));
    }
    Ok(())
}

pub(crate) fn check_length(body: &str) -> Result<(), Refusal> {
    if body.chars().count() > BODY_LIMIT {
        return Err(Refusal::unprocessable("Body is too long (maximum is 65536 characters)"));
    }
    Ok(())
}

fn check_review(pull: &Pull, asked: &AskedReview) -> Result<(), Refusal> {
    check_length(&asked.body)?;
    if pull.reviews.iter().any(|held| held.author == asked.author && held.state == ReviewState::Pending) {
        return Err(Refusal::unprocessable("User can only have one pending review per pull request"));
    }
    if asked.author == pull.author {
        match asked.event {
            Some(ReviewEvent::Approve) => {
                return Err(Refusal::unprocessable("Review Can not approve your own pull request"));
            }
            Some(ReviewEvent::RequestChanges) => {
                return Err(Refusal::unprocessable("Review Can not request changes on your own pull request"));
            }
            Some(ReviewEvent::Comment) | None => {}
        }
    }
    let says_something = matches!(asked.event, Some(ReviewEvent::Comment | ReviewEvent::RequestChanges));
    if says_something && asked.body.trim().is_empty() && asked.comments.is_empty() {
        return Err(Refusal::unprocessable("Review body can't be blank"));
    }
    Ok(())
}

fn place(files: &[FileDiff], asked: &AskedComment) -> Result<Placed, Refusal> {
    let file =
        files.iter().find(|file| file.path == asked.path).ok_or_else(|| Refusal::unprocessable("Path could not be resolved"))?;
    if asked.body.trim().is_empty() {
        return Err(Refusal::unprocessable("Body can't be blank"));
    }
    check_length(&asked.body)?;
    let unresolved = || Refusal::unprocessable("Line could not be resolved");
    let (side, line, start) = match asked.place {
        Place::Position(position) => {
            let line = file.at_position(position).ok_or_else(|| Refusal::unprocessable("Position could not be resolved"))?;
            let side = if line.right.is_some() { Side::Right } else { Side::Left };
            (side, line, None)
        }
        Place::Line { line, side, start } => {
            let end = file.line(side, line).ok_or_else(unresolved)?;
            let first = match start {
                None => None,
                Some((number, start_side)) => {
                    let first = file
                        .line(start_side, number)
                        .filter(|first| first.hunk == end.hunk && first.position < end.position)
                        .ok_or_else(|| Refusal::unprocessable("Start line could not be resolved"))?;
                    first.number(start_side)
                }
            };
            (side, end, first)
        }
    };
    let number = line.number(side).ok_or_else(unresolved)?;
    Ok(Placed {
        asked: asked.clone(),
        side,
        line: number,
        start,
        position: line.position,
        hunk: file.hunk_up_to(line.position),
        text: line.text,
    })
}

/// The diff of the pull request as it is at one of its commits.
fn files_at(git: &Git, pull: &Pull, commit: &str) -> Result<Vec<FileDiff>, Refusal> {
    if commit == pull.head_sha {
        return Ok(pull.files.clone());
    }
    let from = git.merge_base(&pull.base_sha, commit).unwrap_or_else(|| pull.base_sha.clone());
    Ok(git.diff(&from, commit)?)
}

impl State {
    /// Makes a review, or says why GitHub would not. Nothing changes when it is refused.
    pub(crate) fn review(&mut self, name: &str, number: u64, asked: AskedReview) -> Result<u64, Refusal> {
        let repo = self.repo(name)?;
        let pull = self.pull(name, number)?;
        check_writable(repo, pull)?;
        check_review(pull, &asked)?;
        let commit = match &asked.commit {
            None => pull.head_sha.clone(),
            Some(sha) => pull
                .commits
                .iter()
                .find(|held| *held == sha)
                .cloned()
                .ok_or_else(|| Refusal::unprocessable("The commit_id is not part of the pull request"))?,
        };
        let files = files_at(&repo.git, pull, &commit)?;
        let placed: Vec<Placed> = asked.comments.iter().map(|comment| place(&files, comment)).collect::<Result<_, _>>()?;

        let now = self.now();
        let (id, node_id) = self.ids("PRR");
        let state = asked.event.map_or(ReviewState::Pending, ReviewEvent::state);
        let submitted_at = asked.event.map(|_| now);
        let author = asked.author;
        let review = Review {
            id,
            node_id,
            author,
            state,
            body: asked.body,
            created_at: now,
            updated_at: now,
            submitted_at,
            commit: commit.clone(),
        };
        self.pull_mut(name, number)?.reviews.push(review);
        for placed in placed {
            let (comment, node_id) = self.ids("PRRC");
            let (_, thread) = self.ids("PRRT");
            let pull = self.pull_mut(name, number)?;
            pull.inline.push(InlineComment {
                id: comment,
                node_id,
                review: id,
                author,
                body: placed.asked.body,
                path: placed.asked.path,
                side: placed.side,
                line: Some(placed.line),
                start_line: placed.start,
                position: Some(placed.position),
                original_line: placed.line,
                original_start_line: placed.start,
                original_position: placed.position,
                text: placed.text,
                hunk: placed.hunk,
                commit: commit.clone(),
                original_commit: commit.clone(),
                in_reply_to: None,
                created_at: now,
                updated_at: now,
            });
            pull.threads.push(Thread { node_id: thread, root: comment, resolved_by: None });
        }
        if asked.event.is_some() {
            self.submitted(name, number, author, id)?;
        }
        // A review of an older commit may already be outdated.
        self.read_git(name, number)?;
        Ok(id)
    }

    /// A submitted review ends the direct request to its author.
    fn submitted(&mut self, name: &str, number: u64, author: AccountIx, review: u64) -> Result<(), WorldError> {
        let pull = self.pull_mut(name, number)?;
        pull.requests.retain(|request| request.reviewer != Reviewer::User(author));
        self.happened(name, number, author, Happening::Reviewed(review))
    }

    /// Submits a pending review of `author`.
    pub(crate) fn submit_pending(
        &mut self,
        name: &str,
        number: u64,
        author: AccountIx,
        review: u64,
        event: ReviewEvent,
    ) -> Result<(), Refusal> {
        let now = self.now();
        let pull = self.pull_mut(name, number)?;
        let held = pull
            .reviews
            .iter_mut()
            .find(|held| held.id == review && held.author == author && held.state == ReviewState::Pending)
            .ok_or_else(Refusal::not_found)?;
        held.state = event.state();
        held.submitted_at = Some(now);
        held.updated_at = now;
        Ok(self.submitted(name, number, author, review)?)
    }

    pub(crate) fn discard_pending(&mut self, name: &str, number: u64, author: AccountIx) -> Result<(), WorldError> {
        let pull = self.pull_mut(name, number)?;
        let gone: Vec<u64> = pull
            .reviews
            .iter()
            .filter(|held| held.author == author && held.state == ReviewState::Pending)
            .map(|held| held.id)
            .collect();
        pull.reviews.retain(|held| !gone.contains(&held.id));
        pull.inline.retain(|comment| !gone.contains(&comment.review));
        let kept: Vec<u64> = pull.inline.iter().map(|comment| comment.id).collect();
        pull.threads.retain(|thread| kept.contains(&thread.root));
        Ok(())
    }

    /// A reply in a thread; GitHub wraps it in a review of its own.
    pub(crate) fn reply(&mut self, name: &str, number: u64, author: AccountIx, to: u64, body: &str) -> Result<u64, Refusal> {
        let repo = self.repo(name)?;
        let pull = self.pull(name, number)?;
        check_writable(repo, pull)?;
        let target = pull.inline_comment(to).filter(|comment| pull.is_published(comment)).ok_or_else(Refusal::not_found)?.clone();
        check_length(body)?;
        if body.trim().is_empty() {
            return Err(Refusal::unprocessable("Body can't be blank"));
        }
        let now = self.now();
        let (review, review_node) = self.ids("PRR");
        let (id, node_id) = self.ids("PRRC");
        let pull = self.pull_mut(name, number)?;
        pull.reviews.push(Review {
            id: review,
            node_id: review_node,
            author,
            state: ReviewState::Commented,
            body: String::new(),
            created_at: now,
            updated_at: now,
            submitted_at: Some(now),
            commit: target.commit.clone(),
        });
        pull.inline.push(InlineComment {
            id,
            node_id,
            review,
            author,
            body: body.to_owned(),
            in_reply_to: Some(target.in_reply_to.unwrap_or(target.id)),
            created_at: now,
            updated_at: now,
            ..target
        });
        self.submitted(name, number, author, review)?;
        Ok(id)
    }

    pub(crate) fn dismiss(&mut self, name: &str, number: u64, review: u64) -> Result<(), WorldError> {
        let now = self.now();
        let pull = self.pull_mut(name, number)?;
        let held = pull
            .reviews
            .iter_mut()
            .find(|held| held.id == review)
            .ok_or_else(|| WorldError::Refused { status: 404, message: "Not Found".to_owned() })?;
        held.state = ReviewState::Dismissed;
        held.updated_at = now;
        pull.updated_at = now;
        Ok(())
    }

    /// Resolves a thread by its node id, or opens it again; says whether there is one.
    pub(crate) fn resolve_thread(&mut self, node_id: &str, by: Option<AccountIx>) -> Option<(String, u64)> {
        let now = self.now();
        for repo in self.repos.values_mut() {
            for pull in repo.pulls.values_mut() {
                if let Some(thread) = pull.threads.iter_mut().find(|thread| thread.node_id == node_id) {
                    thread.resolved_by = by;
                    pull.updated_at = now;
                    return Some((repo.full_name.clone(), pull.number));
                }
            }
        }
        None
    }
}
