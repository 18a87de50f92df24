//! The JSON of REST answers, as GitHub's own description of its API wants it.

use serde_json::{Map, Value, json};

use crate::clock::iso;
use crate::diff::FileDiff;
use crate::git::CommitInfo;
use crate::model::{
    AccountIx, AccountKind, Check, CheckOutcome, Comment, InlineComment, Label, Pull, PullState, Repo, Review, ReviewState,
    Reviewer, State, Team,
};

/// Writes answers for one viewer.
#[derive(Clone, Copy)]
pub(crate) struct Shapes<'a> {
    pub(crate) state: &'a State,
    /// The address below which everything lies.
    pub(crate) base: &'a str,
}

/// What an account's address is followed by, under which name.
const ACCOUNT_LINKS: [(&str, &str); 9] = [
    ("followers_url", "/followers"),
    ("following_url", "/following{/other_user}"),
    ("gists_url", "/gists{/gist_id}"),
    ("starred_url", "/starred{/owner}{/repo}"),
    ("subscriptions_url", "/subscriptions"),
    ("organizations_url", "/orgs"),
    ("repos_url", "/repos"),
    ("events_url", "/events{/privacy}"),
    ("received_events_url", "/received_events"),
];

/// The same for a repository.
const REPOSITORY_LINKS: [(&str, &str); 37] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
    ("url", ""),
];

fn extend(value: &mut Value, more: Value) {
    if let (Some(into), Value::Object(more)) = (value.as_object_mut(), more) {
        into.extend(more);
    }
}

impl Shapes<'_> {
    pub(crate) fn repo_api(&self, repo: &Repo) -> String {
        format!("{}/repos/{}", self.base, repo.full_name)
    }

    pub(crate) fn pull_web(&self, repo: &Repo, number: u64) -> String {
        format!("{}/{}/pull/{number}", self.base, repo.full_name)
    }

    /// An account; one that was deleted shows as the user `ghost`, as GitHub does.
    pub(crate) fn account(&self, ix: AccountIx) -> Value {
        let live = self.state.live(ix);
        let login = live.map_or("ghost".to_owned(), |account| match account.kind {
            AccountKind::Bot => format!("{}[bot]", account.login),
            AccountKind::User | AccountKind::Organization => account.login.clone(),
        });
        let api = format!("{}/users/{login}", self.base);
        let mut value = json!({
            "login": login,
            "id": live.map_or(10_137, |account| account.id),
            "node_id": live.map_or("MDQ6VXNlcjEwMTM3", |account| account.node_id.as_str()),
            "avatar_url": format!("{}/avatars/{login}", self.base),
            "gravatar_id": "",
            "url": api,
            "html_url": format!("{}/{login}", self.base),
            "type": live.map_or("User", |account| account.kind.type_name()),
            "site_admin": false,
            "user_view_type": "public",
        });
        let links: Map<String, Value> =
            ACCOUNT_LINKS.iter().map(|(key, tail)| ((*key).to_owned(), format!("{api}{tail}").into())).collect();
        extend(&mut value, Value::Object(links));
        value
    }

    /// The answer of `GET /user`.
    pub(crate) fn viewer(&self, ix: AccountIx) -> Value {
        let mut value = self.account(ix);
        let since = self.state.live(ix).map_or_else(|| self.state.now(), |account| account.created_at);
        extend(
            &mut value,
            json!({
                "user_view_type": "private", "name": self.state.login(ix), "company": null, "blog": "",
                "location": null, "email": null, "hireable": null, "bio": null, "twitter_username": null,
                "public_repos": 0, "public_gists": 0, "followers": 0, "following": 0,
                "created_at": iso(since), "updated_at": iso(since), "private_gists": 0,
                "total_private_repos": 0, "owned_private_repos": 0, "disk_usage": 0, "collaborators": 0,
                "two_factor_authentication": true,
            }),
        );
        value
    }

    pub(crate) fn team(&self, team: &Team) -> Value {
        let org = self.state.accounts.get(team.org);
        let api = format!("{}/organizations/{}/team/{}", self.base, org.map_or(0, |org| org.id), team.id);
        json!({
            "id": team.id, "node_id": team.node_id, "name": team.slug, "slug": team.slug, "description": "",
            "privacy": "closed", "notification_setting": "notifications_enabled", "permission": "push",
            "url": api, "html_url": format!("{}/orgs/{}/teams/{}", self.base, self.state.login(team.org), team.slug),
            "members_url": format!("{api}/members{{/member}}"), "repositories_url": format!("{api}/repos"),
            "type": "organization", "organization_id": org.map_or(0, |org| org.id), "parent": null,
        })
    }

    /// A team with its counts and organisation, as `GET /user/teams` lists it.
    pub(crate) fn full_team(&self, team: &Team) -> Value {
        let mut value = self.team(team);
        let login = self.state.login(team.org);
        let org = self.state.accounts.get(team.org);
        let api = format!("{}/orgs/{login}", self.base);
        let at = iso(team.created_at);
        let repos = self.state.repos.values().filter(|repo| repo.owner == team.org).count();
        extend(
            &mut value,
            json!({
                "members_count": team.members.len(), "repos_count": repos, "created_at": at, "updated_at": at,
                "organization": {
                    "login": login, "id": org.map_or(0, |org| org.id),
                    "node_id": org.map_or("", |org| org.node_id.as_str()),
                    "url": api, "repos_url": format!("{api}/repos"), "events_url": format!("{api}/events"),
                    "hooks_url": format!("{api}/hooks"), "issues_url": format!("{api}/issues"),
                    "members_url": format!("{api}/members{{/member}}"),
                    "public_members_url": format!("{api}/public_members{{/member}}"),
                    "avatar_url": format!("{}/avatars/{login}", self.base), "description": null,
                    "html_url": format!("{}/{login}", self.base), "has_organization_projects": true,
                    "has_repository_projects": true, "public_repos": 0, "public_gists": 0, "followers": 0,
                    "following": 0, "created_at": at, "updated_at": at, "archived_at": null, "type": "Organization",
                },
            }),
        );
        value
    }

    /// A repository, full enough for each shape that GitHub describes.
    pub(crate) fn repository(&self, repo: &Repo) -> Value {
        self.repository_as(repo, &repo.full_name, self.account(repo.owner), false)
    }

    fn repository_as(&self, repo: &Repo, full_name: &str, owner: Value, fork: bool) -> Value {
        let api = format!("{}/repos/{full_name}", self.base);
        let web = format!("{}/{full_name}", self.base);
        let open = repo.pulls.values().filter(|pull| pull.state == PullState::Open).count();
        let mut value = json!({
            // A fork's numbers only have to differ from those of what it was forked from.
            "id": if fork { repo.id + 50_000 } else { repo.id },
            "node_id": if fork { format!("{}F", repo.node_id) } else { repo.node_id.clone() },
            "name": repo.name, "full_name": full_name, "owner": owner, "private": !repo.public,
            "visibility": if repo.public { "public" } else { "private" },
            "html_url": web, "description": null, "fork": fork, "git_url": format!("{web}.git"),
            "ssh_url": format!("{web}.git"), "clone_url": format!("{web}.git"), "svn_url": web,
            "mirror_url": null, "homepage": null, "language": null, "license": null,
            "forks_count": 0, "forks": 0, "stargazers_count": 0, "watchers_count": 0, "watchers": 0, "size": 1,
            "default_branch": repo.default_branch, "open_issues_count": open, "open_issues": open,
            "is_template": false, "topics": [], "has_issues": true, "has_projects": false, "has_wiki": false,
            "has_pages": false, "has_downloads": false, "has_discussions": false, "archived": repo.archived,
            "disabled": false, "pushed_at": iso(repo.pushed_at), "created_at": iso(repo.created_at),
            "updated_at": iso(repo.updated_at), "subscribers_count": 0, "network_count": 0,
            "permissions": {"admin": false, "maintain": false, "push": true, "triage": true, "pull": true},
        });
        let links: Map<String, Value> =
            REPOSITORY_LINKS.iter().map(|(key, tail)| ((*key).to_owned(), format!("{api}{tail}").into())).collect();
        extend(&mut value, Value::Object(links));
        value
    }

    fn head_repository(&self, repo: &Repo, pull: &Pull) -> Value {
        if pull.cross_repository {
            if pull.fork_deleted || self.state.live(pull.author).is_none() {
                return Value::Null;
            }
            let full_name = format!("{}/{}", self.state.login(pull.author), repo.name);
            return self.repository_as(repo, &full_name, self.account(pull.author), true);
        }
        self.repository(repo)
    }

    fn label(&self, repo: &Repo, label: &Label) -> Value {
        json!({
            "id": label.id, "node_id": label.node_id, "name": label.name, "description": "",
            "url": format!("{}/labels/{}", self.repo_api(repo), label.name), "color": "ededed", "default": false,
        })
    }

    fn reviewers(&self, pull: &Pull) -> (Vec<Value>, Vec<Value>) {
        let (mut users, mut teams) = (Vec::new(), Vec::new());
        for request in &pull.requests {
            match request.reviewer {
                Reviewer::User(ix) => {
                    if self.state.live(ix).is_some() {
                        users.push(self.account(ix));
                    }
                }
                Reviewer::Team(ix) => teams.extend(self.state.teams.get(ix).map(|team| self.team(team))),
            }
        }
        (users, teams)
    }

    pub(crate) fn requested_reviewers(&self, pull: &Pull) -> Value {
        let (users, teams) = self.reviewers(pull);
        json!({"users": users, "teams": teams})
    }

    /// A pull request as lists show it.
    pub(crate) fn pull_simple(&self, repo: &Repo, pull: &Pull) -> Value {
        let api = format!("{}/pulls/{}", self.repo_api(repo), pull.number);
        let issue = format!("{}/issues/{}", self.repo_api(repo), pull.number);
        let web = self.pull_web(repo, pull.number);
        let statuses = format!("{}/statuses/{}", self.repo_api(repo), pull.head_sha);
        let (users, teams) = self.reviewers(pull);
        let head_owner = if pull.cross_repository { pull.author } else { repo.owner };
        json!({
            "url": api, "id": pull.id, "node_id": pull.node_id, "html_url": web,
            "diff_url": format!("{web}.diff"), "patch_url": format!("{web}.patch"), "issue_url": issue,
            "commits_url": format!("{api}/commits"), "review_comments_url": format!("{api}/comments"),
            "review_comment_url": format!("{}/pulls/comments{{/number}}", self.repo_api(repo)),
            "comments_url": format!("{issue}/comments"), "statuses_url": statuses, "number": pull.number,
            "state": if pull.state == PullState::Open { "open" } else { "closed" },
            "locked": pull.locked, "active_lock_reason": null, "title": pull.title,
            "user": self.account(pull.author),
            "body": if pull.body.is_empty() { Value::Null } else { pull.body.clone().into() },
            "labels": pull.labels.iter().map(|label| self.label(repo, label)).collect::<Vec<_>>(),
            "milestone": null, "created_at": iso(pull.created_at), "updated_at": iso(pull.updated_at),
            "closed_at": pull.closed_at.map(iso), "merged_at": pull.merged_at.map(iso),
            "merge_commit_sha": pull.merge_commit,
            "assignee": pull.assignees.first().map(|ix| self.account(*ix)),
            "assignees": pull.assignees.iter().map(|ix| self.account(*ix)).collect::<Vec<_>>(),
            "requested_reviewers": users, "requested_teams": teams,
            "head": {
                "label": format!("{}:{}", self.state.login(head_owner), pull.head_ref), "ref": pull.head_ref,
                "sha": pull.head_sha, "user": self.account(head_owner), "repo": self.head_repository(repo, pull),
            },
            "base": {
                "label": format!("{}:{}", self.state.login(repo.owner), pull.base_ref), "ref": pull.base_ref,
                "sha": pull.base_sha, "user": self.account(repo.owner), "repo": self.repository(repo),
            },
            "_links": {
                "self": {"href": api}, "html": {"href": web}, "issue": {"href": issue},
                "comments": {"href": format!("{issue}/comments")},
                "review_comments": {"href": format!("{api}/comments")},
                "review_comment": {"href": format!("{}/pulls/comments{{/number}}", self.repo_api(repo))},
                "commits": {"href": format!("{api}/commits")}, "statuses": {"href": statuses},
            },
            "author_association": self.state.association(repo, pull, pull.author),
            "auto_merge": null, "draft": pull.draft,
        })
    }

    /// A pull request by itself.
    pub(crate) fn pull(&self, repo: &Repo, pull: &Pull) -> Value {
        let mut value = self.pull_simple(repo, pull);
        let mergeable = pull.mergeable_held.unwrap_or(pull.mergeable);
        let open = pull.state == PullState::Open;
        extend(
            &mut value,
            json!({
                "merged": pull.state == PullState::Merged,
                "mergeable": if open { mergeable.into() } else { Value::Null },
                "rebaseable": if open { mergeable.into() } else { Value::Null },
                "mergeable_state": match mergeable {
                    Some(true) if open => if pull.draft { "draft" } else { "clean" },
                    Some(false) if open => "dirty",
                    Some(_) | None => "unknown",
                },
                "merged_by": pull.merged_by.map(|ix| self.account(ix)),
                "comments": pull.comments.len(), "review_comments": pull.inline_published().count(),
                "maintainer_can_modify": pull.cross_repository, "commits": pull.commits.len(),
                "additions": pull.additions(), "deletions": pull.deletions(), "changed_files": pull.files.len(),
            }),
        );
        value
    }

    /// A pull request as the issue it also is; `search` adds what a search result has.
    pub(crate) fn issue(&self, repo: &Repo, pull: &Pull, search: bool) -> Value {
        let api = format!("{}/issues/{}", self.repo_api(repo), pull.number);
        let web = self.pull_web(repo, pull.number);
        let mut value = json!({
            "id": pull.issue_id, "node_id": pull.node_id, "url": api, "repository_url": self.repo_api(repo),
            "labels_url": format!("{api}/labels{{/name}}"), "comments_url": format!("{api}/comments"),
            "events_url": format!("{api}/events"), "html_url": web, "number": pull.number,
            "state": if pull.state == PullState::Open { "open" } else { "closed" }, "state_reason": null,
            "title": pull.title, "user": self.account(pull.author),
            "labels": pull.labels.iter().map(|label| self.label(repo, label)).collect::<Vec<_>>(),
            "assignee": pull.assignees.first().map(|ix| self.account(*ix)),
            "assignees": pull.assignees.iter().map(|ix| self.account(*ix)).collect::<Vec<_>>(),
            "milestone": null, "locked": pull.locked, "active_lock_reason": null,
            "comments": pull.comments.len(), "created_at": iso(pull.created_at),
            "updated_at": iso(pull.updated_at), "closed_at": pull.closed_at.map(iso), "draft": pull.draft,
            "pull_request": {
                "url": format!("{}/pulls/{}", self.repo_api(repo), pull.number), "html_url": web,
                "diff_url": format!("{web}.diff"), "patch_url": format!("{web}.patch"),
                "merged_at": pull.merged_at.map(iso),
            },
            "author_association": self.state.association(repo, pull, pull.author),
            "timeline_url": format!("{api}/timeline"),
        });
        if search {
            extend(&mut value, json!({"body": pull.body, "score": 1.0}));
        } else {
            let body = if pull.body.is_empty() { Value::Null } else { pull.body.clone().into() };
            extend(&mut value, json!({"body": body}));
        }
        value
    }

    pub(crate) fn comment(&self, repo: &Repo, pull: &Pull, comment: &Comment) -> Value {
        let web = self.pull_web(repo, pull.number);
        json!({
            "id": comment.id, "node_id": comment.node_id,
            "url": format!("{}/issues/comments/{}", self.repo_api(repo), comment.id),
            "html_url": format!("{web}#issuecomment-{}", comment.id), "body": comment.body,
            "user": self.account(comment.author), "created_at": iso(comment.created_at),
            "updated_at": iso(comment.updated_at),
            "issue_url": format!("{}/issues/{}", self.repo_api(repo), pull.number),
            "author_association": self.state.association(repo, pull, comment.author),
            "performed_via_github_app": null,
        })
    }

    pub(crate) fn review(&self, repo: &Repo, pull: &Pull, review: &Review) -> Value {
        let web = format!("{}#pullrequestreview-{}", self.pull_web(repo, pull.number), review.id);
        let api = format!("{}/pulls/{}", self.repo_api(repo), pull.number);
        let mut value = json!({
            "id": review.id, "node_id": review.node_id, "user": self.account(review.author), "body": review.body,
            "state": review.state.as_str(), "html_url": web, "pull_request_url": api,
            "_links": {"html": {"href": web}, "pull_request": {"href": api}}, "commit_id": review.commit,
            "author_association": self.state.association(repo, pull, review.author),
        });
        if review.state != ReviewState::Pending {
            extend(&mut value, json!({"submitted_at": review.submitted_at.map(iso)}));
        }
        value
    }

    pub(crate) fn inline(&self, repo: &Repo, pull: &Pull, comment: &InlineComment) -> Value {
        let api = format!("{}/pulls/comments/{}", self.repo_api(repo), comment.id);
        let web = format!("{}#discussion_r{}", self.pull_web(repo, pull.number), comment.id);
        let on = format!("{}/pulls/{}", self.repo_api(repo), pull.number);
        let mut value = json!({
            "url": api, "pull_request_review_id": comment.review, "id": comment.id, "node_id": comment.node_id,
            "diff_hunk": comment.hunk, "path": comment.path, "original_position": comment.original_position,
            "commit_id": comment.commit, "original_commit_id": comment.original_commit,
            "user": self.account(comment.author), "body": comment.body, "created_at": iso(comment.created_at),
            "updated_at": iso(comment.updated_at), "html_url": web, "pull_request_url": on,
            "author_association": self.state.association(repo, pull, comment.author),
            "_links": {"self": {"href": api}, "html": {"href": web}, "pull_request": {"href": on}},
            "start_line": comment.start_line, "original_start_line": comment.original_start_line,
            "start_side": comment.original_start_line.map(|_| comment.side.as_str()),
            "original_line": comment.original_line, "side": comment.side.as_str(), "subject_type": "line",
        });
        // GitHub answers null for an outdated one, which its own description of lists forbids: left out there.
        if let Some((line, position)) = comment.line.zip(comment.position) {
            extend(&mut value, json!({"line": line, "position": position}));
        }
        if let Some(to) = comment.in_reply_to {
            extend(&mut value, json!({"in_reply_to_id": to}));
        }
        value
    }

    pub(crate) fn file(&self, repo: &Repo, at: &str, file: &FileDiff) -> Value {
        let web = format!("{}/{}", self.base, repo.full_name);
        let path = percent_encoding::utf8_percent_encode(&file.path, percent_encoding::NON_ALPHANUMERIC).to_string();
        let mut value = json!({
            "sha": file.sha, "filename": file.path, "status": file.status, "additions": file.additions,
            "deletions": file.deletions, "changes": file.additions + file.deletions,
            "blob_url": format!("{web}/blob/{at}/{path}"), "raw_url": format!("{web}/raw/{at}/{path}"),
            "contents_url": format!("{}/contents/{path}?ref={at}", self.repo_api(repo)),
        });
        if let Some(patch) = &file.patch {
            extend(&mut value, json!({"patch": patch}));
        }
        if let Some(previous) = &file.previous {
            extend(&mut value, json!({"previous_filename": previous}));
        }
        value
    }

    pub(crate) fn commit(&self, repo: &Repo, commit: &CommitInfo) -> Value {
        let api = self.repo_api(repo);
        let url = format!("{api}/commits/{}", commit.sha);
        let web = format!("{}/{}/commit", self.base, repo.full_name);
        let at = jiff::Timestamp::from_second(commit.at).map_or_else(|_| String::new(), iso);
        let who = json!({"name": commit.author, "email": commit.email, "date": at});
        let account = self.state.account_ix(&commit.author).map(|ix| self.account(ix));
        let parents: Vec<Value> = commit
            .parents
            .iter()
            .map(|sha| json!({"sha": sha, "url": format!("{api}/commits/{sha}"), "html_url": format!("{web}/{sha}")}))
            .collect();
        json!({
            "url": url, "sha": commit.sha, "node_id": format!("C_kw{}", commit.sha),
            "html_url": format!("{web}/{}", commit.sha), "comments_url": format!("{url}/comments"),
            "commit": {
                "url": format!("{api}/git/commits/{}", commit.sha), "author": who, "committer": who,
                "message": commit.message, "comment_count": 0,
                "tree": {"sha": commit.tree, "url": format!("{api}/git/trees/{}", commit.tree)},
                "verification": {
                    "verified": false, "reason": "unsigned", "payload": null, "signature": null, "verified_at": null,
                },
            },
            "author": account, "committer": account, "parents": parents,
        })
    }

    pub(crate) fn check_run(&self, repo: &Repo, sha: &str, check: &Check) -> Option<Value> {
        let (status, conclusion) = match &check.outcome {
            CheckOutcome::Queued => ("queued", None),
            CheckOutcome::InProgress => ("in_progress", None),
            CheckOutcome::Completed(conclusion) => ("completed", Some(conclusion.as_str())),
            CheckOutcome::Status(_) => return None,
        };
        let api = format!("{}/check-runs/{}", self.repo_api(repo), check.id);
        let web = format!("{}/{}/runs/{}", self.base, repo.full_name, check.id);
        Some(json!({
            "id": check.id, "head_sha": sha, "node_id": check.node_id, "external_id": null, "url": api,
            "html_url": web, "details_url": web, "status": status, "conclusion": conclusion,
            "started_at": iso(check.started_at), "completed_at": conclusion.map(|_| iso(check.changed_at)),
            "output": {
                "title": null, "summary": null, "text": null, "annotations_count": 0,
                "annotations_url": format!("{api}/annotations"),
            },
            "name": check.name, "check_suite": null, "app": null, "pull_requests": [],
        }))
    }

    pub(crate) fn combined_status(&self, repo: &Repo, sha: &str) -> Value {
        let url = format!("{}/statuses/{sha}", self.repo_api(repo));
        let mut states = Vec::new();
        let mut statuses = Vec::new();
        for check in repo.checks_on(sha) {
            let CheckOutcome::Status(state) = &check.outcome else { continue };
            states.push(state.as_str());
            statuses.push(json!({
                "description": null, "id": check.id, "node_id": check.node_id, "state": state,
                "context": check.name, "target_url": null, "avatar_url": null, "url": url,
                "created_at": iso(check.started_at), "updated_at": iso(check.changed_at),
            }));
        }
        let state = if states.iter().any(|state| matches!(*state, "failure" | "error")) {
            "failure"
        } else if !states.is_empty() && states.iter().all(|state| *state == "success") {
            "success"
        } else {
            "pending"
        };
        json!({
            "state": state, "total_count": statuses.len(), "statuses": statuses, "sha": sha,
            "repository": self.repository(repo),
            "commit_url": format!("{}/commits/{sha}", self.repo_api(repo)),
            "url": format!("{}/commits/{sha}/status", self.repo_api(repo)),
        })
    }
}
