//! What others wrote, prepared for a prompt: fenced by lines that no text of theirs can hold, its hidden characters shown (INT-10).

use std::fmt::Write as _;

use jiff::Timestamp;

use super::facts::AdmittedTeams;
use super::publish::strip_markers;
use super::{Account, Comment, Detail, ReviewState, Thread};

/// The most characters of one text that a prompt holds.
pub const MATERIAL_LIMIT: usize = 20_000;

/// The fenced texts of a pull request, ready for the places `Material.description`, `.threads` and `.request` of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Material {
    /// Title and description.
    pub description: String,
    /// The threads in question, each comment in a fence of its own; empty when there are none.
    pub threads: String,
    /// Who asked for the review and what they wrote in the conversation; empty when nobody did.
    pub request: String,
}

/// What the turn that the material is for looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Everything: a first review, and any other round.
    Whole,
    /// What is new to a reviewer: the viewer's unresolved threads, and words of the request newer than the viewer's last review.
    FollowUp,
}

/// A word that occurs in none of the texts, made of as many drawn words as that takes.
#[must_use]
pub fn boundary<T: AsRef<str>>(mut word_source: impl FnMut() -> String, texts: &[T]) -> String {
    let mut word = word_source();
    while word.is_empty() || texts.iter().any(|text| text.as_ref().contains(&word)) {
        let more = word_source();
        // It grows with every turn of the loop, so it ends even when the source repeats itself or is silent.
        word.push_str(if more.is_empty() { "=" } else { &more });
    }
    word
}

/// Every text of a pull request that others could write, for `boundary`.
#[must_use]
pub fn texts(detail: &Detail) -> Vec<&str> {
    let mut all = vec![detail.summary.title.as_str(), detail.body.as_str(), detail.summary.url.as_str()];
    let threads = detail.threads.iter().flat_map(|thread| {
        std::iter::once(thread.path.as_str()).chain(thread.comments.iter().flat_map(|c| [c.body.as_str(), c.url.as_str()]))
    });
    all.extend(threads);
    all.extend(detail.comments.iter().flat_map(|comment| [comment.body.as_str(), comment.url.as_str()]));
    all
}

/// The material of one turn. `boundary` is a word of `boundary` over `texts`; should it occur in a text all the same, the text
/// loses it, so that nothing inside a fence can end it.
#[must_use]
pub fn material(detail: &Detail, viewer: &Account, part: Part, teams: &AdmittedTeams, boundary: &str) -> Material {
    let fence = Fence { word: boundary };
    let title = visible(&detail.summary.title);
    let about = format!("{} by {}: {title}", detail.slug(), login(detail.author.as_ref()));
    let mut made =
        Material { description: fence.text("description", &about, &detail.body, &detail.summary.url), ..Material::default() };
    for thread in detail.threads.iter().filter(|thread| covers(thread, viewer, part)) {
        for comment in &thread.comments {
            let about = format!("{} by {}", place(thread), login(comment.author.as_ref()));
            made.threads.push_str(&fence.text("thread", &about, &comment.body, &comment.url));
        }
    }
    made.request = request(detail, viewer, part, teams, &fence);
    made
}

fn request(detail: &Detail, viewer: &Account, part: Part, teams: &AdmittedTeams, fence: &Fence<'_>) -> String {
    let since = match part {
        Part::Whole => None,
        Part::FollowUp => last_review(detail, viewer),
    };
    let mut made = String::new();
    let mut askers = Vec::new();
    for (request, team) in super::facts::requests(detail, viewer, teams) {
        let Some(asked) = &request.requested else {
            continue;
        };
        if since.is_some_and(|since| asked.at <= since) {
            continue;
        }
        let of = team.map(|team| format!(" of {team}")).unwrap_or_default();
        let by = if asked.by.is_empty() { "ghost" } else { &asked.by };
        let line = format!("review requested{of} by {by} at {}", asked.at);
        made.push_str(&fence.text("request", &line, "", &detail.summary.url));
        askers.push(asked.by.to_ascii_lowercase());
    }
    let newer = |comment: &&Comment| since.is_none_or(|since| comment.created_at > since);
    let theirs = |comment: &&Comment| {
        comment.author.as_ref().is_some_and(|author| {
            author.id != viewer.id && askers.iter().any(|asker| *asker == author.login.to_ascii_lowercase())
        })
    };
    for comment in detail.comments.iter().filter(newer).filter(theirs) {
        let about = format!("comment by {}", login(comment.author.as_ref()));
        made.push_str(&fence.text("request", &about, &comment.body, &comment.url));
    }
    made
}

/// When the viewer last submitted a review.
fn last_review(detail: &Detail, viewer: &Account) -> Option<Timestamp> {
    let theirs = detail.reviews.iter().filter(|review| {
        review.state != ReviewState::Pending && review.author.as_ref().is_some_and(|author| author.id == viewer.id)
    });
    theirs.filter_map(|review| review.submitted_at).max()
}

fn covers(thread: &Thread, viewer: &Account, part: Part) -> bool {
    match part {
        Part::Whole => true,
        Part::FollowUp => !thread.resolved && started_by(thread, viewer),
    }
}

/// Whether an account opened a thread.
pub(super) fn started_by(thread: &Thread, account: &Account) -> bool {
    thread.comments.first().and_then(|first| first.author.as_ref()).is_some_and(|author| author.id == account.id)
}

/// Where a thread stands and how it stands.
fn place(thread: &Thread) -> String {
    let path = visible(&thread.path).replace(['\n', '\t'], " ");
    let line = thread.line.map(|line| format!(":{line}")).unwrap_or_default();
    let resolved = if thread.resolved { "resolved" } else { "unresolved" };
    let outdated = if thread.outdated { ", outdated" } else { "" };
    format!("{path}{line} ({resolved}{outdated})")
}

fn login(account: Option<&Account>) -> &str {
    account.map_or("ghost", |account| account.login.as_str())
}

/// The boundary lines of one turn.
struct Fence<'a> {
    word: &'a str,
}

impl Fence<'_> {
    /// One text between its boundary lines. Who wrote it, and where, stands inside too: a file's name and a title are others' words.
    fn text(&self, what: &str, about: &str, text: &str, url: &str) -> String {
        let text = strip_markers(text);
        let length = text.chars().count();
        let mut shown = visible(text.trim_end());
        if let Some((end, _)) = shown.char_indices().nth(MATERIAL_LIMIT) {
            shown.truncate(end);
            // Writing to a String cannot fail.
            let _ = write!(shown, "\n[cut here: the text has {length} characters; whole at {url}]");
        }
        let about = visible(about).replace('\n', " ");
        let inside = if shown.is_empty() { format!("{about}\n{url}") } else { format!("{about}\n{url}\n\n{shown}") };
        let inside = if self.word.is_empty() { inside } else { inside.replace(self.word, "⟨boundary⟩") };
        format!("----- {word} {what} -----\n{inside}\n----- {word} end -----\n", word = self.word)
    }
}

/// A text with its control, direction and other unseen characters shown in place, as `⟨U+202E⟩`; line ends become plain ones, tabs
/// stay. Joiners and variation selectors of scripts and emoji stay as well.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\r' && chars.peek() == Some(&'\n') {
            continue;
        }
        if is_hidden(c) {
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Characters that act on a reader, or carry text, without being seen.
fn is_hidden(c: char) -> bool {
    let control = c.is_control() && !matches!(c, '\n' | '\t');
    let direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let lines = matches!(c, '\u{2028}' | '\u{2029}');
    let empty = matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let smuggled = matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    control || direction || lines || empty || smuggled
}

#[cfg(test)]
#[path = "tests_material.rs"]
mod tests;
