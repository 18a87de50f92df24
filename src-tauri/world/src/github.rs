//! The handle on a running small GitHub: what tests and the demo hold.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::error::WorldError;
use crate::faults::{Call, Fault, Match};
use crate::git::Change;
use crate::model::{
    Account, AccountIx, AccountKind, CheckOutcome, NewInlineComment, NewPullRequest, PullState, ReviewEvent, Reviewer, State,
};
use crate::reviews::{AskedComment, AskedReview, Place, check_writable};
use crate::server;
use crate::world::World;

/// How a small GitHub is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder in which its bare repositories are made.
    pub dir: PathBuf,
    /// The port on 127.0.0.1; 0 takes any that is free.
    pub port: u16,
    /// Ids follow from the seed and the order of acts.
    pub seed: u64,
}

/// A sort of request with a quota of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// REST.
    Core,
    /// GraphQL.
    Graphql,
    /// REST searches.
    Search,
}

/// A running small GitHub. A clone is another handle on the same one; dropping the last stops the server.
#[derive(Clone)]
pub struct SmallGithub {
    running: Arc<Running>,
}

struct Running {
    world: Arc<World>,
    server: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.world.stop.cancel();
    }
}

impl fmt::Debug for SmallGithub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmallGithub").field("api_url", &self.running.world.base).finish_non_exhaustive()
    }
}

impl SmallGithub {
    /// Starts the server on the current runtime, with nothing in it.
    ///
    /// # Errors
    /// When the port is taken or the folder cannot be made.
    pub async fn start(options: Options) -> Result<Self, WorldError> {
        let Options { dir, port, seed } = options;
        let folder = |source| WorldError::Folder { path: dir.display().to_string(), source };
        std::fs::create_dir_all(&dir).map_err(folder)?;
        let dir = std::fs::canonicalize(&dir).map_err(folder)?;
        let refused = |source| WorldError::Listen { port, source };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let world = Arc::new(World::new(format!("http://127.0.0.1:{port}"), State::new(dir, seed)));
        let server = tokio::spawn(server::serve(Arc::clone(&world), listener));
        Ok(Self { running: Arc::new(Running { world, server: Mutex::new(Some(server)) }) })
    }

    /// Stops the server and waits until its connections are closed.
    pub async fn shutdown(&self) {
        self.running.world.stop.cancel();
        let server = self.running.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(server) = server {
            drop(server.await);
        }
    }

    /// Refuses every connection and ends those there are, until it is told otherwise: nothing that a caller sends leaves its machine.
    pub async fn refuse_connections(&self, refuse: bool) {
        let mut shut = self.world().shut.subscribe();
        self.world().wanted_shut.send_replace(refuse);
        // A server that stopped refuses for good.
        drop(shut.wait_for(|shut| *shut == refuse).await);
    }

    fn world(&self) -> &World {
        &self.running.world
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.world().state())
    }

    /// `http://127.0.0.1:PORT`: REST; GraphQL is below it at `/graphql`, web pages and git right below it.
    pub fn api_url(&self) -> String {
        self.world().base.clone()
    }

    /// The web address of a pull request.
    pub fn pull_url(&self, repo: &str, number: u64) -> String {
        format!("{}/{repo}/pull/{number}", self.world().base)
    }

    /// Holds the clock at an instant, or lets it go on with `None`.
    pub fn set_now(&self, at: Option<Timestamp>) {
        self.with(|state| state.clock.hold(at));
    }

    /// Adds an account; one that is known by this login stays as it is.
    pub fn add_user(&self, login: &str, kind: AccountKind) -> Account {
        self.with(|state| {
            let ix = state.add_account(login, kind);
            state.accounts[ix].clone()
        })
    }

    /// Deletes an account: what it wrote stays, and is by nobody.
    ///
    /// # Errors
    /// When there is none of this login.
    pub fn delete_user(&self, login: &str) -> Result<(), WorldError> {
        self.with(|state| {
            let ix = state.known_account(login)?;
            state.accounts[ix].deleted = true;
            Ok(())
        })
    }

    /// Adds a team, or members to one; organisation and members are added when unknown.
    pub fn add_team(&self, org: &str, slug: &str, members: &[&str]) {
        self.with(|state| state.add_team(org, slug, members));
    }

    /// Makes a token valid for an account, which is added as a user when unknown.
    pub fn add_token(&self, login: &str, token: &str) {
        self.with(|state| {
            let ix = state.add_account(login, AccountKind::User);
            state.tokens.insert(token.to_owned(), ix);
        });
    }

    /// Makes a token invalid.
    pub fn revoke_token(&self, token: &str) {
        self.with(|state| state.tokens.remove(token));
    }

    /// Adds a public repository: a bare one with one commit on `main`.
    ///
    /// # Errors
    /// When the name is none, is taken, or git refuses.
    pub fn add_repository(&self, full_name: &str, files: &[(&str, &str)]) -> Result<(), WorldError> {
        self.with(|state| state.add_repository(full_name, files))
    }

    /// Gives a repository another name; the old one redirects.
    ///
    /// # Errors
    /// When there is no such repository, or the new name is taken.
    pub fn rename_repository(&self, from: &str, to: &str) -> Result<(), WorldError> {
        self.with(|state| state.rename_repository(from, to))
    }

    /// Makes a repository public or private: whether git asks for a token.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn set_public(&self, repo: &str, public: bool) -> Result<(), WorldError> {
        self.with(|state| {
            state.repo_mut(repo)?.public = public;
            Ok(())
        })
    }

    /// Archives a repository, or brings it back.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn set_archived(&self, repo: &str, archived: bool) -> Result<(), WorldError> {
        self.with(|state| {
            state.repo_mut(repo)?.archived = archived;
            Ok(())
        })
    }

    /// Sets whether the base branches ask for a review; without, `reviewDecision` is null.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn set_requires_review(&self, repo: &str, required: bool) -> Result<(), WorldError> {
        self.with(|state| {
            state.repo_mut(repo)?.requires_review = required;
            Ok(())
        })
    }

    /// Hides a repository from an account, which then gets 404, or shows it again.
    ///
    /// # Errors
    /// When there is no such repository or account.
    pub fn set_hidden(&self, repo: &str, from: &str, hidden: bool) -> Result<(), WorldError> {
        self.with(|state| {
            let ix = state.known_account(from)?;
            let hidden_from = &mut state.repo_mut(repo)?.hidden_from;
            if hidden {
                hidden_from.insert(ix)
            } else {
                hidden_from.remove(&ix)
            };
            Ok(())
        })
    }

    /// Opens a pull request of one commit and answers its number.
    ///
    /// # Errors
    /// When repository or base branch are unknown, the branch exists, or git refuses.
    pub fn open_pull_request(&self, new: NewPullRequest) -> Result<u64, WorldError> {
        self.with(|state| state.open_pull_request(&new))
    }

    /// Pushes a commit of the author's to the head and answers its id; `None` deletes a file.
    ///
    /// # Errors
    /// When there is no such pull request, or git refuses.
    pub fn push_commit(
        &self,
        repo: &str,
        number: u64,
        message: &str,
        files: &[(&str, Option<&str>)],
    ) -> Result<String, WorldError> {
        self.with(|state| state.push(repo, number, message, files, false))
    }

    /// Replaces the head's commits by one on the base, with a force push.
    ///
    /// # Errors
    /// When there is no such pull request, or git refuses.
    pub fn force_push(
        &self,
        repo: &str,
        number: u64,
        message: &str,
        files: &[(&str, Option<&str>)],
    ) -> Result<String, WorldError> {
        self.with(|state| state.push(repo, number, message, files, true))
    }

    /// Merges the base into the head, as the button "Update branch" does.
    ///
    /// # Errors
    /// When they conflict, or there is no such pull request.
    pub fn update_branch(&self, repo: &str, number: u64) -> Result<String, WorldError> {
        self.with(|state| state.update_branch(repo, number))
    }

    /// Commits to a branch that is nobody's head, such as `main`.
    ///
    /// # Errors
    /// When there is no such repository, or git refuses.
    pub fn commit_to_branch(
        &self,
        repo: &str,
        branch: &str,
        message: &str,
        files: &[(&str, Option<&str>)],
    ) -> Result<String, WorldError> {
        let files: Vec<Change<'_>> = files.to_vec();
        self.with(|state| state.commit_to_branch(repo, branch, message, &files))
    }

    /// Asks an account for a review; asked again, it is a new request.
    ///
    /// # Errors
    /// When account or pull request are unknown, or the reviewer is its author.
    pub fn request_review(&self, repo: &str, number: u64, by: &str, reviewer: &str) -> Result<(), WorldError> {
        self.with(|state| {
            let (by, reviewer) = (state.known_account(by)?, state.known_account(reviewer)?);
            state.request(repo, number, by, Reviewer::User(reviewer))
        })
    }

    /// Asks a team, written `org/slug`, for a review.
    ///
    /// # Errors
    /// When account, team or pull request are unknown.
    pub fn request_team_review(&self, repo: &str, number: u64, by: &str, team: &str) -> Result<(), WorldError> {
        self.with(|state| {
            let by = state.known_account(by)?;
            let ix = team
                .split_once('/')
                .and_then(|(org, slug)| state.team_ix(org, slug))
                .ok_or_else(|| WorldError::UnknownTeam(team.to_owned()))?;
            state.request(repo, number, by, Reviewer::Team(ix))
        })
    }

    /// Takes back a request to an account.
    ///
    /// # Errors
    /// When account or pull request are unknown.
    pub fn remove_review_request(&self, repo: &str, number: u64, by: &str, reviewer: &str) -> Result<(), WorldError> {
        self.with(|state| {
            let (by, reviewer) = (state.known_account(by)?, state.known_account(reviewer)?);
            state.remove_request(repo, number, by, Reviewer::User(reviewer))
        })
    }

    /// Closes without a merge.
    ///
    /// # Errors
    /// When account or pull request are unknown.
    pub fn close(&self, repo: &str, number: u64, by: &str) -> Result<(), WorldError> {
        self.with(|state| {
            let by = state.known_account(by)?;
            state.close(repo, number, by)
        })
    }

    /// Merges into the base and answers the merge commit.
    ///
    /// # Errors
    /// When it is not open, a draft or in conflict, or account or pull request are unknown.
    pub fn merge(&self, repo: &str, number: u64, by: &str) -> Result<String, WorldError> {
        self.with(|state| {
            let by = state.known_account(by)?;
            state.merge(repo, number, by)
        })
    }

    /// Opens a closed one again.
    ///
    /// # Errors
    /// When it was merged, or account or pull request are unknown.
    pub fn reopen(&self, repo: &str, number: u64, by: &str) -> Result<(), WorldError> {
        self.with(|state| {
            let by = state.known_account(by)?;
            state.reopen(repo, number, by)
        })
    }

    /// Makes it a draft, or ready for review.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn set_draft(&self, repo: &str, number: u64, draft: bool) -> Result<(), WorldError> {
        self.with(|state| state.set_draft(repo, number, draft))
    }

    /// Locks the conversation, or unlocks it.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn lock(&self, repo: &str, number: u64, locked: bool) -> Result<(), WorldError> {
        self.with(|state| state.lock(repo, number, locked))
    }

    /// Sets a label.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn add_label(&self, repo: &str, number: u64, label: &str) -> Result<(), WorldError> {
        self.with(|state| state.label(repo, number, label))
    }

    /// Assigns an account, which is added as a user when unknown.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn assign(&self, repo: &str, number: u64, login: &str) -> Result<(), WorldError> {
        self.with(|state| {
            let who = state.add_account(login, AccountKind::User);
            state.assign(repo, number, who)
        })
    }

    /// Holds what is said of mergeability: `Some(None)` is `UNKNOWN`; `None` lets git say it again.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn set_mergeable(&self, repo: &str, number: u64, held: Option<Option<bool>>) -> Result<(), WorldError> {
        self.with(|state| {
            state.pull_mut(repo, number)?.mergeable_held = held;
            Ok(())
        })
    }

    /// Sets how a check on the head stands.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn set_check(&self, repo: &str, number: u64, name: &str, outcome: CheckOutcome) -> Result<(), WorldError> {
        self.with(|state| state.set_check(repo, number, name, outcome))
    }

    /// Deletes the fork that a pull request comes from.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn delete_fork(&self, repo: &str, number: u64) -> Result<(), WorldError> {
        self.with(|state| {
            state.pull_mut(repo, number)?.fork_deleted = true;
            Ok(())
        })
    }

    /// Submits a review of another person's, who is added as a user when unknown; without an event it stays pending.
    /// Answers its database id.
    ///
    /// # Errors
    /// When GitHub would refuse it.
    pub fn submit_review(
        &self,
        repo: &str,
        number: u64,
        login: &str,
        event: Option<ReviewEvent>,
        body: &str,
        comments: &[NewInlineComment],
    ) -> Result<u64, WorldError> {
        self.with(|state| {
            let author = state.add_account(login, AccountKind::User);
            let comments = comments
                .iter()
                .map(|comment| AskedComment {
                    path: comment.path.clone(),
                    body: comment.body.clone(),
                    place: Place::Line {
                        line: comment.line,
                        side: comment.side,
                        start: comment.start_line.map(|start| (start, comment.side)),
                    },
                })
                .collect();
            let asked = AskedReview { author, event, body: body.to_owned(), commit: None, comments };
            Ok(state.review(repo, number, asked)?)
        })
    }

    /// Deletes the pending review of an account.
    ///
    /// # Errors
    /// When account or pull request are unknown.
    pub fn discard_pending_review(&self, repo: &str, number: u64, login: &str) -> Result<(), WorldError> {
        self.with(|state| {
            let author = state.known_account(login)?;
            state.discard_pending(repo, number, author)
        })
    }

    /// Dismisses a submitted review.
    ///
    /// # Errors
    /// When there is no such review.
    pub fn dismiss_review(&self, repo: &str, number: u64, review: u64) -> Result<(), WorldError> {
        self.with(|state| state.dismiss(repo, number, review))
    }

    /// Replies in the thread of an inline comment and answers the reply's id.
    ///
    /// # Errors
    /// When GitHub would refuse it.
    pub fn reply(&self, repo: &str, number: u64, login: &str, to: u64, body: &str) -> Result<u64, WorldError> {
        self.with(|state| {
            let author = state.add_account(login, AccountKind::User);
            Ok(state.reply(repo, number, author, to, body)?)
        })
    }

    /// Adds a conversation comment and answers its id; the account is added as a user when unknown.
    ///
    /// # Errors
    /// When the conversation is locked, or there is no such pull request.
    pub fn add_comment(&self, repo: &str, number: u64, login: &str, body: &str) -> Result<u64, WorldError> {
        self.with(|state| {
            let author: AccountIx = state.add_account(login, AccountKind::User);
            check_writable(state.repo(repo)?, state.pull(repo, number)?)?;
            state.comment(repo, number, author, body)
        })
    }

    /// The commit at the head.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn head(&self, repo: &str, number: u64) -> Result<String, WorldError> {
        self.with(|state| Ok(state.pull(repo, number)?.head_sha.clone()))
    }

    /// The node id of a pull request.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn node_id(&self, repo: &str, number: u64) -> Result<String, WorldError> {
        self.with(|state| Ok(state.pull(repo, number)?.node_id.clone()))
    }

    /// Whether it is open, closed or merged.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn pull_state(&self, repo: &str, number: u64) -> Result<PullState, WorldError> {
        self.with(|state| Ok(state.pull(repo, number)?.state))
    }

    /// Leaves this much of a quota until its reset within the hour.
    pub fn set_remaining(&self, resource: Resource, remaining: u64) {
        let name = match resource {
            Resource::Core => "core",
            Resource::Graphql => "graphql",
            Resource::Search => "search",
        };
        self.with(|state| state.set_remaining(name, remaining));
    }

    /// Queues a fault; of several that fit a request, the oldest is used.
    pub fn push_fault(&self, fault: Fault) {
        self.world().push_fault(fault);
    }

    /// The faults that no request has used yet.
    pub fn faults_left(&self) -> Vec<Fault> {
        self.world().faults_left()
    }

    /// Forgets the faults that no request has used yet.
    pub fn clear_faults(&self) {
        self.world().clear_faults();
    }

    /// Lets every request go that a `Hang`, `ActedThenHang` or `Delay` holds now.
    pub fn release_held(&self) {
        self.world().releases.send_modify(|releases| *releases += 1);
    }

    /// How many requests are held now.
    pub fn held(&self) -> usize {
        self.world().held.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Every request so far, oldest first, the control face's excepted.
    pub fn calls(&self) -> Vec<Call> {
        self.world().calls()
    }

    /// Empties the record of calls.
    pub fn forget_calls(&self) {
        self.world().forget_calls();
    }

    /// Waits until a call that fits has arrived, now or before, and answers the first one. It may not have ended.
    pub async fn on_call(&self, on: &Match) -> Call {
        loop {
            let calls = self.calls_until(|calls| calls.iter().any(|call| on.fits_call(call))).await;
            if let Some(call) = calls.into_iter().find(|call| on.fits_call(call)) {
                return call;
            }
        }
    }

    /// Waits until the record of calls satisfies a condition, and answers it. The caller bounds the wait.
    pub async fn calls_until(&self, holds: impl Fn(&[Call]) -> bool) -> Vec<Call> {
        let mut news = self.world().news.subscribe();
        loop {
            let calls = self.calls();
            if holds(&calls) {
                return calls;
            }
            drop(news.changed().await);
        }
    }

    /// Waits until at least this many requests are held. The caller bounds the wait.
    pub async fn until_held(&self, count: usize) {
        let mut news = self.world().news.subscribe();
        while self.held() < count {
            drop(news.changed().await);
        }
    }
}
