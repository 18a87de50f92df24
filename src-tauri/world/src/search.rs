//! GitHub's search language, as far as pull requests are searched with it.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::model::{AccountIx, Pull, PullState, Repo, ReviewState, Reviewer, State};

/// The pull requests that match, in the order asked for, newest first without one.
///
/// A malformed qualifier matches nothing, as GitHub's does.
pub(crate) fn search<'a>(state: &'a State, viewer: AccountIx, query: &str) -> Vec<(&'a Repo, &'a Pull)> {
    let terms = words(query);
    let mut found: Vec<(&Repo, &Pull)> = Vec::new();
    for repo in state.repos.values().filter(|repo| repo.visible_to(viewer)) {
        for pull in repo.pulls.values() {
            if terms.iter().all(|term| matches(state, viewer, repo, pull, term)) {
                found.push((repo, pull));
            }
        }
    }
    let order = terms.iter().rev().find_map(|term| term.strip_prefix("sort:")).unwrap_or("created-desc");
    let (key, ascending) = match order.rsplit_once('-') {
        Some((key, "asc")) => (key, true),
        Some((key, _)) => (key, false),
        None => (order, false),
    };
    found.sort_by_key(|(_, pull)| {
        let first = match key {
            "updated" => pull.updated_at.as_second(),
            "comments" => i64::try_from(pull.comments.len()).unwrap_or(i64::MAX),
            _ => pull.created_at.as_second(),
        };
        (first, pull.id)
    });
    if !ascending {
        found.reverse();
    }
    found
}

/// The words of a query; quotes keep blanks together and are dropped.
fn words(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in query.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn matches(state: &State, viewer: AccountIx, repo: &Repo, pull: &Pull, term: &str) -> bool {
    if let Some(rest) = term.strip_prefix('-').filter(|rest| rest.contains(':')) {
        return !matches(state, viewer, repo, pull, rest);
    }
    let Some((key, value)) = term.split_once(':') else {
        let term = term.to_lowercase();
        return pull.title.to_lowercase().contains(&term) || pull.body.to_lowercase().contains(&term);
    };
    let who = |login: &str| if login == "@me" { Some(viewer) } else { state.account_ix(login) };
    let is = |ix: AccountIx| who(value) == Some(ix);
    let requested_directly = |ix: AccountIx| pull.requests.iter().any(|held| held.reviewer == Reviewer::User(ix));
    match key {
        "is" | "type" | "state" => is_state(repo, pull, value),
        "archived" => value == if repo.archived { "true" } else { "false" },
        "draft" => value == if pull.draft { "true" } else { "false" },
        "author" => is(pull.author),
        "assignee" => pull.assignees.iter().any(|ix| is(*ix)),
        "user-review-requested" => who(value).is_some_and(requested_directly),
        "review-requested" => who(value).is_some_and(|ix| {
            requested_directly(ix)
                || pull.requests.iter().any(|held| match held.reviewer {
                    Reviewer::Team(team) => state.teams.get(team).is_some_and(|team| team.members.contains(&ix)),
                    Reviewer::User(_) => false,
                })
        }),
        "team-review-requested" => value
            .split_once('/')
            .and_then(|(org, slug)| state.team_ix(org, slug))
            .is_some_and(|team| pull.requests.iter().any(|held| held.reviewer == Reviewer::Team(team))),
        "reviewed-by" => pull.reviews.iter().any(|held| is(held.author) && held.state != ReviewState::Pending),
        "commenter" => pull.comments.iter().any(|held| is(held.author)) || pull.inline_published().any(|held| is(held.author)),
        "involves" => {
            is(pull.author) || pull.assignees.iter().any(|ix| is(*ix)) || pull.comments.iter().any(|held| is(held.author))
        }
        "repo" => repo.full_name.eq_ignore_ascii_case(value),
        "org" | "user" => is(repo.owner),
        "label" => pull.labels.iter().any(|label| label.name.eq_ignore_ascii_case(value)),
        "head" => pull.head_ref == value,
        "base" => pull.base_ref == value,
        "review" => match value {
            "none" => pull.reviews.iter().all(|held| held.state == ReviewState::Pending),
            "approved" => state.review_decision(repo, pull) == Some("APPROVED"),
            "changes_requested" => state.review_decision(repo, pull) == Some("CHANGES_REQUESTED"),
            "required" => state.review_decision(repo, pull) == Some("REVIEW_REQUIRED"),
            _ => false,
        },
        "updated" => in_range(value, Some(pull.updated_at)),
        "created" => in_range(value, Some(pull.created_at)),
        "closed" => in_range(value, pull.closed_at),
        "merged" => in_range(value, pull.merged_at),
        "sort" | "in" => true,
        _ => false,
    }
}

fn is_state(repo: &Repo, pull: &Pull, value: &str) -> bool {
    match value {
        "pr" | "pull-request" => true,
        "open" => pull.state == PullState::Open,
        "closed" => pull.state != PullState::Open,
        "merged" => pull.state == PullState::Merged,
        "unmerged" => pull.state != PullState::Merged,
        "draft" => pull.draft,
        "locked" => pull.locked,
        "unlocked" => !pull.locked,
        "public" => repo.public,
        "private" => !repo.public,
        _ => false,
    }
}

/// The first and the last instant that a written date or time stands for.
fn instants(text: &str) -> Option<(Timestamp, Timestamp)> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some((at, at));
    }
    let day: Date = text.parse().ok()?;
    let start = day.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp();
    let end = Timestamp::from_second(start.as_second() + 86_399).ok()?;
    Some((start, end))
}

fn in_range(value: &str, at: Option<Timestamp>) -> bool {
    let Some(at) = at else { return false };
    let compare =
        |text: &str, holds: fn(Timestamp, (Timestamp, Timestamp)) -> bool| instants(text).is_some_and(|range| holds(at, range));
    if let Some((from, to)) = value.split_once("..") {
        return (from == "*" || compare(from, |at, range| at >= range.0))
            && (to == "*" || compare(to, |at, range| at <= range.1));
    }
    if let Some(text) = value.strip_prefix(">=") {
        compare(text, |at, range| at >= range.0)
    } else if let Some(text) = value.strip_prefix("<=") {
        compare(text, |at, range| at <= range.1)
    } else if let Some(text) = value.strip_prefix('>') {
        compare(text, |at, range| at > range.1)
    } else if let Some(text) = value.strip_prefix('<') {
        compare(text, |at, range| at < range.0)
    } else {
        compare(value, |at, range| at >= range.0 && at <= range.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_blanks() {
        assert_eq!(words(r#"is:pr label:"good first" x"#), ["is:pr", "label:good first", "x"]);
    }

    #[test]
    fn dates_and_times_bound_a_range() {
        let at = Some("2026-03-02T12:00:00Z".parse().unwrap());
        for yes in
            [">=2026-03-02", "<=2026-03-02", "2026-03-02", "2026-03-01..2026-03-03", ">2026-03-02T11:59:59Z", "*..2026-03-02"]
        {
            assert!(in_range(yes, at), "{yes}");
        }
        for no in [">2026-03-02", "<2026-03-02", "2026-03-01", ">=2026-03-02T12:00:01Z", "soon"] {
            assert!(!in_range(no, at), "{no}");
        }
    }
}
