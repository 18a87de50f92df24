//! What people and their tools do in the world: each act changes the state as GitHub would.

use jiff::Timestamp;

use crate::error::WorldError;
use crate::git::{Change, Git, Signature};
use crate::model::{
    Account, AccountIx, AccountKind, Check, CheckOutcome, Comment, Event, Happening, Label, NewPullRequest, Pull, PullState,
    Repo, Request, Reviewer, State, Team,
};

impl State {
    pub(crate) fn add_account(&mut self, login: &str, kind: AccountKind) -> AccountIx {
        if let Some(known) = self.account_ix(login) {
            return known;
        }
        let prefix = match kind {
            AccountKind::User => "U",
            AccountKind::Bot => "BOT",
            AccountKind::Organization => "O",
        };
        let (id, node_id) = self.ids(prefix);
        let login = login.strip_suffix("[bot]").unwrap_or(login).to_owned();
        let created_at = self.now();
        self.accounts.push(Account { login, kind, id, node_id, created_at, deleted: false });
        self.accounts.len() - 1
    }

    pub(crate) fn add_team(&mut self, org: &str, slug: &str, members: &[&str]) {
        let org_ix = self.add_account(org, AccountKind::Organization);
        let members: Vec<AccountIx> = members.iter().map(|login| self.add_account(login, AccountKind::User)).collect();
        if let Some(known) = self.team_ix(org, slug).and_then(|ix| self.teams.get_mut(ix)) {
            known.members.extend(members);
            return;
        }
        let (id, node_id) = self.ids("T");
        let created_at = self.now();
        let members = members.into_iter().collect();
        self.teams.push(Team { id, node_id, org: org_ix, slug: slug.to_owned(), members, created_at });
    }

    fn signature(&self, who: AccountIx) -> Signature {
        Signature { name: self.login(who).to_owned(), at: self.now() }
    }

    pub(crate) fn add_repository(&mut self, full_name: &str, files: &[(&str, &str)]) -> Result<(), WorldError> {
        let refuse = |why| WorldError::RepositoryName { name: full_name.to_owned(), why };
        let sound = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        let (owner, name) = full_name
            .split_once('/')
            .filter(|(owner, name)| sound(owner) && sound(name))
            .ok_or_else(|| refuse("write it as `owner/name`"))?;
        if self.repos.contains_key(&full_name.to_lowercase()) {
            return Err(refuse("it exists"));
        }
        if self.renamed.contains_key(&full_name.to_lowercase()) {
            return Err(refuse("it redirects to the repository that had this name"));
        }
        let owner_ix = self.add_account(owner, AccountKind::Organization);
        let git = Git::init(self.dir.join(owner).join(format!("{name}.git")))?;
        let changes: Vec<Change<'_>> = files.iter().map(|(path, content)| (*path, Some(*content))).collect();
        git.commit("refs/heads/main", None, &self.signature(owner_ix), "Initial commit", &changes)?;
        let (id, node_id) = self.ids("R");
        let now = self.now();
        let repo = Repo {
            id,
            node_id,
            owner: owner_ix,
            name: name.to_owned(),
            full_name: full_name.to_owned(),
            public: true,
            archived: false,
            requires_review: true,
            default_branch: "main".to_owned(),
            created_at: now,
            updated_at: now,
            pushed_at: now,
            next_number: 1,
            pulls: Default::default(),
            commits: Default::default(),
            checks: Default::default(),
            hidden_from: Default::default(),
            git,
        };
        self.repos.insert(full_name.to_lowercase(), repo);
        Ok(())
    }

    pub(crate) fn rename_repository(&mut self, from: &str, to: &str) -> Result<(), WorldError> {
        let old = self.repo(from)?.full_name.to_lowercase();
        let new = to.to_lowercase();
        let (owner, name) = to
            .split_once('/')
            .ok_or_else(|| WorldError::RepositoryName { name: to.to_owned(), why: "write it as `owner/name`" })?;
        if self.repos.contains_key(&new) {
            return Err(WorldError::RepositoryName { name: to.to_owned(), why: "it exists" });
        }
        let owner_ix = self.add_account(owner, AccountKind::Organization);
        let Some(mut repo) = self.repos.remove(&old) else {
            return Err(WorldError::UnknownRepository(from.to_owned()));
        };
        repo.owner = owner_ix;
        repo.name = name.to_owned();
        repo.full_name = to.to_owned();
        for target in self.renamed.values_mut().filter(|target| **target == old) {
            target.clone_from(&new);
        }
        self.renamed.insert(old, new.clone());
        self.renamed.remove(&new);
        self.repos.insert(new, repo);
        Ok(())
    }

    pub(crate) fn open_pull_request(&mut self, new: &NewPullRequest) -> Result<u64, WorldError> {
        let author = self.add_account(&new.author, AccountKind::User);
        let by = self.signature(author);
        let repo = self.repo(&new.repo)?;
        let base_ref = if new.base.is_empty() { repo.default_branch.clone() } else { new.base.clone() };
        let refuse = |message: String| WorldError::Refused { status: 422, message };
        let base_sha =
            repo.git.resolve(&format!("refs/heads/{base_ref}")).ok_or_else(|| refuse(format!("no base branch `{base_ref}`")))?;
        let number = repo.next_number;
        let branch = format!("refs/heads/{}", new.branch);
        if !new.cross_repository && repo.git.resolve(&branch).is_some() {
            return Err(refuse(format!("the branch `{}` exists; name another", new.branch)));
        }
        let kept = format!("refs/pull/{number}/head");
        let to = if new.cross_repository { &kept } else { &branch };
        let changes: Vec<Change<'_>> = new.files.iter().map(|(path, content)| (path.as_str(), content.as_deref())).collect();
        let head = repo.git.commit(to, Some(&base_sha), &by, &new.title, &changes)?;
        repo.git.set_ref(&kept, &head)?;
        let (id, node_id) = self.ids("PR");
        let (issue_id, _) = self.ids("I");
        let now = self.now();
        let pull = Pull {
            id,
            node_id,
            issue_id,
            number,
            title: new.title.clone(),
            body: new.body.clone(),
            author,
            state: PullState::Open,
            draft: new.draft,
            locked: false,
            created_at: now,
            updated_at: now,
            closed_at: None,
            merged_at: None,
            merged_by: None,
            merge_commit: None,
            head_ref: new.branch.clone(),
            head_sha: head,
            cross_repository: new.cross_repository,
            fork_deleted: false,
            base_ref,
            base_sha,
            mergeable: None,
            mergeable_held: None,
            labels: Vec::new(),
            assignees: Vec::new(),
            requests: Vec::new(),
            reviews: Vec::new(),
            inline: Vec::new(),
            threads: Vec::new(),
            comments: Vec::new(),
            timeline: Vec::new(),
            commits: Vec::new(),
            files: Vec::new(),
        };
        let repo = self.repo_mut(&new.repo)?;
        repo.next_number += 1;
        repo.pushed_at = now;
        repo.pulls.insert(number, pull);
        self.read_git(&new.repo, number)?;
        for sha in self.pull(&new.repo, number)?.commits.clone() {
            self.happened(&new.repo, number, author, Happening::Commit(sha))?;
        }
        Ok(number)
    }

    /// Records an event and moves `updated_at`.
    pub(crate) fn happened(&mut self, repo: &str, number: u64, actor: AccountIx, what: Happening) -> Result<(), WorldError> {
        let prefix = match &what {
            Happening::ReviewRequested(_) => "RRE",
            Happening::ReviewRequestRemoved(_) => "RRRE",
            Happening::Commit(_) => "PURC",
            Happening::ForcePushed { .. } => "HRFPE",
            Happening::ReadyForReview => "RFRE",
            Happening::ConvertToDraft => "CTDE",
            Happening::Closed => "CE",
            Happening::Reopened => "REE",
            Happening::Merged(_) => "ME",
            Happening::Locked => "LOE",
            Happening::Unlocked => "UNLOE",
            Happening::Labeled(_) => "LE",
            Happening::Assigned(_) => "AE",
            Happening::Reviewed(_) | Happening::Commented(_) => "TI",
        };
        let (id, node_id) = self.ids(prefix);
        let at = self.now();
        let pull = self.pull_mut(repo, number)?;
        pull.timeline.push(Event { id, node_id, at, actor, what });
        pull.updated_at = at;
        Ok(())
    }

    /// Reads commits, files and mergeability again, after the head or the base moved.
    pub(crate) fn read_git(&mut self, name: &str, number: u64) -> Result<(), WorldError> {
        let repo = self.repo_mut(name)?;
        let Some(pull) = repo.pulls.get_mut(&number) else {
            return Err(WorldError::UnknownPull { repo: name.to_owned(), number });
        };
        if pull.state != PullState::Merged
            && let Some(tip) = repo.git.resolve(&format!("refs/heads/{}", pull.base_ref))
        {
            pull.base_sha = tip;
        }
        let from = repo.git.merge_base(&pull.base_sha, &pull.head_sha).unwrap_or_else(|| pull.base_sha.clone());
        pull.files = repo.git.diff(&from, &pull.head_sha)?;
        let commits = repo.git.log(&format!("{}..{}", pull.base_sha, pull.head_sha))?;
        pull.commits = commits.iter().map(|commit| commit.sha.clone()).collect();
        repo.commits.extend(commits.into_iter().map(|commit| (commit.sha.clone(), commit)));
        pull.mergeable = Some(repo.git.merge_tree(&pull.base_sha, &pull.head_sha).is_some());
        place_comments(pull);
        Ok(())
    }

    /// Takes note of a new head of the pull request's branch.
    pub(crate) fn head_moved(&mut self, name: &str, number: u64, head: &str, by: AccountIx) -> Result<(), WorldError> {
        let now = self.now();
        let repo = self.repo_mut(name)?;
        repo.pushed_at = now;
        repo.git.set_ref(&format!("refs/pull/{number}/head"), head)?;
        let pull = self.pull_mut(name, number)?;
        let before = std::mem::replace(&mut pull.head_sha, head.to_owned());
        let known = pull.commits.clone();
        self.read_git(name, number)?;
        let forced = !self.repo(name)?.git.is_ancestor(&before, head);
        if forced {
            let after = head.to_owned();
            self.happened(name, number, by, Happening::ForcePushed { before, after })?;
        }
        for sha in self.pull(name, number)?.commits.clone() {
            if !known.contains(&sha) {
                self.happened(name, number, by, Happening::Commit(sha))?;
            }
        }
        Ok(())
    }

    fn head_ref(pull: &Pull) -> String {
        if pull.cross_repository { format!("refs/pull/{}/head", pull.number) } else { format!("refs/heads/{}", pull.head_ref) }
    }

    /// A commit by the author on the head, or, when `anew`, one that replaces the branch's commits.
    pub(crate) fn push(
        &mut self,
        name: &str,
        number: u64,
        message: &str,
        files: &[Change<'_>],
        anew: bool,
    ) -> Result<String, WorldError> {
        let pull = self.pull(name, number)?;
        let (author, to) = (pull.author, Self::head_ref(pull));
        let by = self.signature(author);
        let from = if anew { pull.base_sha.clone() } else { pull.head_sha.clone() };
        let head = self.repo(name)?.git.commit(&to, Some(&from), &by, message, files)?;
        self.head_moved(name, number, &head, author)?;
        Ok(head)
    }

    /// The base merged into the head, as "Update branch" does.
    pub(crate) fn update_branch(&mut self, name: &str, number: u64) -> Result<String, WorldError> {
        let pull = self.pull(name, number)?;
        let (author, to, old) = (pull.author, Self::head_ref(pull), pull.head_sha.clone());
        let (base_ref, base) = (pull.base_ref.clone(), pull.base_sha.clone());
        let by = self.signature(author);
        let git = &self.repo(name)?.git;
        let tree = git
            .merge_tree(&old, &base)
            .ok_or_else(|| WorldError::Refused { status: 422, message: "merge conflict between base and head".to_owned() })?;
        let message = format!("Merge branch '{base_ref}'");
        let head = git.commit_tree(&tree, &[&old, &base], &by, &message)?;
        git.set_ref(&to, &head)?;
        self.head_moved(name, number, &head, author)?;
        Ok(head)
    }

    /// A commit by the owner on a branch that is not a pull request's, such as the base.
    pub(crate) fn commit_to_branch(
        &mut self,
        name: &str,
        branch: &str,
        message: &str,
        files: &[Change<'_>],
    ) -> Result<String, WorldError> {
        let repo = self.repo(name)?;
        let by = self.signature(repo.owner);
        let to = format!("refs/heads/{branch}");
        let from = repo.git.resolve(&to).or_else(|| repo.git.resolve(&format!("refs/heads/{}", repo.default_branch)));
        let sha = repo.git.commit(&to, from.as_deref(), &by, message, files)?;
        self.base_moved(name, branch)?;
        Ok(sha)
    }

    fn base_moved(&mut self, name: &str, branch: &str) -> Result<(), WorldError> {
        let open: Vec<u64> = self
            .repo(name)?
            .pulls
            .values()
            .filter(|pull| pull.state == PullState::Open && pull.base_ref == branch)
            .map(|pull| pull.number)
            .collect();
        for number in open {
            self.read_git(name, number)?;
        }
        Ok(())
    }

    /// Takes note of what a `git push` over HTTP moved.
    pub(crate) fn branches_moved(&mut self, name: &str, by: AccountIx) -> Result<(), WorldError> {
        let repo = self.repo(name)?;
        let mut moved = Vec::new();
        let mut bases = Vec::new();
        for pull in repo.pulls.values().filter(|pull| pull.state == PullState::Open) {
            if !pull.cross_repository
                && let Some(tip) = repo.git.resolve(&Self::head_ref(pull))
                && tip != pull.head_sha
            {
                moved.push((pull.number, tip));
            }
            if repo.git.resolve(&format!("refs/heads/{}", pull.base_ref)).is_some_and(|tip| tip != pull.base_sha) {
                bases.push(pull.number);
            }
        }
        for (number, tip) in moved {
            self.head_moved(name, number, &tip, by)?;
        }
        for number in bases {
            self.read_git(name, number)?;
        }
        Ok(())
    }

    pub(crate) fn request(&mut self, repo: &str, number: u64, by: AccountIx, reviewer: Reviewer) -> Result<(), WorldError> {
        let pull = self.pull(repo, number)?;
        if reviewer == Reviewer::User(pull.author) {
            return Err(WorldError::Refused {
                status: 422,
                message: "Review cannot be requested from pull request author.".to_owned(),
            });
        }
        if !pull.requests.iter().any(|request| request.reviewer == reviewer) {
            let (id, node_id) = self.ids("RR");
            self.pull_mut(repo, number)?.requests.push(Request { id, node_id, reviewer });
        }
        self.happened(repo, number, by, Happening::ReviewRequested(reviewer))
    }

    pub(crate) fn remove_request(
        &mut self,
        repo: &str,
        number: u64,
        by: AccountIx,
        reviewer: Reviewer,
    ) -> Result<(), WorldError> {
        self.pull_mut(repo, number)?.requests.retain(|request| request.reviewer != reviewer);
        self.happened(repo, number, by, Happening::ReviewRequestRemoved(reviewer))
    }

    /// Closes, without or after a merge.
    pub(crate) fn close(&mut self, repo: &str, number: u64, by: AccountIx) -> Result<(), WorldError> {
        let now = self.now();
        let pull = self.pull_mut(repo, number)?;
        if pull.state != PullState::Open {
            return Ok(());
        }
        pull.state = PullState::Closed;
        pull.closed_at = Some(now);
        self.happened(repo, number, by, Happening::Closed)
    }

    pub(crate) fn reopen(&mut self, repo: &str, number: u64, by: AccountIx) -> Result<(), WorldError> {
        let pull = self.pull_mut(repo, number)?;
        match pull.state {
            PullState::Open => return Ok(()),
            PullState::Merged => {
                return Err(WorldError::Refused { status: 422, message: "a merged pull request cannot be reopened".to_owned() });
            }
            PullState::Closed => {}
        }
        pull.state = PullState::Open;
        pull.closed_at = None;
        self.happened(repo, number, by, Happening::Reopened)?;
        self.read_git(repo, number)
    }

    pub(crate) fn merge(&mut self, name: &str, number: u64, by: AccountIx) -> Result<String, WorldError> {
        let refuse = |message: &str| WorldError::Refused { status: 405, message: message.to_owned() };
        let signature = self.signature(by);
        let repo = self.repo(name)?;
        let pull = self.pull(name, number)?;
        if pull.state != PullState::Open || pull.draft {
            return Err(refuse("Pull Request is not mergeable"));
        }
        let tree =
            repo.git.merge_tree(&pull.base_sha, &pull.head_sha).ok_or_else(|| refuse("Pull Request has merge conflicts"))?;
        let message = format!("Merge pull request #{number} from {}\n\n{}", pull.head_ref, pull.title);
        let sha = repo.git.commit_tree(&tree, &[&pull.base_sha, &pull.head_sha], &signature, &message)?;
        let base = pull.base_ref.clone();
        repo.git.set_ref(&format!("refs/heads/{base}"), &sha)?;
        if let Some(info) = repo.git.info(&sha) {
            self.repo_mut(name)?.commits.insert(sha.clone(), info);
        }
        let now = self.now();
        let pull = self.pull_mut(name, number)?;
        pull.state = PullState::Merged;
        pull.merged_at = Some(now);
        pull.closed_at = Some(now);
        pull.merged_by = Some(by);
        pull.merge_commit = Some(sha.clone());
        self.happened(name, number, by, Happening::Merged(sha.clone()))?;
        self.base_moved(name, &base)?;
        Ok(sha)
    }

    pub(crate) fn set_draft(&mut self, repo: &str, number: u64, draft: bool) -> Result<(), WorldError> {
        let pull = self.pull_mut(repo, number)?;
        if pull.draft == draft {
            return Ok(());
        }
        pull.draft = draft;
        let author = pull.author;
        let what = if draft { Happening::ConvertToDraft } else { Happening::ReadyForReview };
        self.happened(repo, number, author, what)
    }

    pub(crate) fn lock(&mut self, repo: &str, number: u64, locked: bool) -> Result<(), WorldError> {
        let owner = self.repo(repo)?.owner;
        self.pull_mut(repo, number)?.locked = locked;
        self.happened(repo, number, owner, if locked { Happening::Locked } else { Happening::Unlocked })
    }

    pub(crate) fn label(&mut self, repo: &str, number: u64, name: &str) -> Result<(), WorldError> {
        let (id, node_id) = self.ids("LA");
        let pull = self.pull_mut(repo, number)?;
        if pull.labels.iter().any(|label| label.name == name) {
            return Ok(());
        }
        pull.labels.push(Label { id, node_id, name: name.to_owned() });
        let author = pull.author;
        self.happened(repo, number, author, Happening::Labeled(name.to_owned()))
    }

    pub(crate) fn assign(&mut self, repo: &str, number: u64, who: AccountIx) -> Result<(), WorldError> {
        let pull = self.pull_mut(repo, number)?;
        if pull.assignees.contains(&who) {
            return Ok(());
        }
        pull.assignees.push(who);
        let author = pull.author;
        self.happened(repo, number, author, Happening::Assigned(who))
    }

    pub(crate) fn comment(&mut self, repo: &str, number: u64, author: AccountIx, body: &str) -> Result<u64, WorldError> {
        self.pull(repo, number)?;
        let (id, node_id) = self.ids("IC");
        let now = self.now();
        let body = body.to_owned();
        let comment = Comment { id, node_id, author, body, created_at: now, updated_at: now };
        self.pull_mut(repo, number)?.comments.push(comment);
        self.happened(repo, number, author, Happening::Commented(id))?;
        Ok(id)
    }

    /// Sets how a check on the head stands; checks do not move `updated_at`.
    pub(crate) fn set_check(&mut self, repo: &str, number: u64, name: &str, outcome: CheckOutcome) -> Result<(), WorldError> {
        let now: Timestamp = self.now();
        let head = self.pull(repo, number)?.head_sha.clone();
        let prefix = match outcome {
            CheckOutcome::Status(_) => "SC",
            CheckOutcome::Queued | CheckOutcome::InProgress | CheckOutcome::Completed(_) => "CR",
        };
        let (id, node_id) = self.ids(prefix);
        let checks = self.repo_mut(repo)?.checks.entry(head).or_default();
        if let Some(check) = checks.iter_mut().find(|check| check.name == name) {
            check.outcome = outcome;
            check.changed_at = now;
        } else {
            let name = name.to_owned();
            checks.push(Check { id, node_id, name, outcome, started_at: now, changed_at: now });
        }
        Ok(())
    }
}

/// Finds the line of each inline comment in the present diff; one that is gone is outdated.
fn place_comments(pull: &mut Pull) {
    let files = &pull.files;
    for comment in &mut pull.inline {
        let lines = files.iter().find(|file| file.path == comment.path).map(|file| file.lines()).unwrap_or_default();
        let same: Vec<_> = lines
            .iter()
            .filter(|line| line.number(comment.side).is_some() && line.text.get(1..) == comment.text.get(1..))
            .collect();
        let stays = same.iter().find(|line| line.number(comment.side) == Some(comment.original_line));
        let found = stays.or(if same.len() == 1 { same.first() } else { None });
        comment.line = found.and_then(|line| line.number(comment.side));
        comment.position = found.map(|line| line.position);
        let length = comment.original_start_line.map(|start| comment.original_line.saturating_sub(start));
        comment.start_line = comment.line.zip(length).map(|(line, length)| line.saturating_sub(length));
        if found.is_some() {
            comment.commit.clone_from(&pull.head_sha);
        }
    }
}
