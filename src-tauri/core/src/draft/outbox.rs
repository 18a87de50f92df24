//! The groups of the Outbox: drafts by why they were drafted (OUT-04 to OUT-10).

use std::collections::BTreeMap;

use super::Proposer;
use crate::rules::profile::DraftWords;

/// The heading of drafts whose proposer gave no purpose.
const UNNAMED: &str = "Other";

/// A group with the places of its drafts in the list that was grouped, in the list's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// A stable name: `by_hand`, `workflow:<name>` or `purpose:<purpose>`.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// What it is about; may be empty.
    pub about: String,
    /// The workflow whose drafts these are (OUT-11).
    pub workflow: Option<String>,
    /// Where its drafts stand in the list.
    pub places: Vec<usize>,
}

/// Groups drafts, given as proposer and purpose, newest first. `workflow` words a workflow's group: its heading and what it is about.
/// The largest group comes first, groups of one size by heading (OUT-09); inside, the order of the list stays (OUT-10).
#[must_use]
pub fn groups<'a>(
    drafts: impl IntoIterator<Item = (&'a Proposer, &'a str)>,
    words: &DraftWords,
    workflow: impl Fn(&str) -> (String, String),
) -> Vec<Group> {
    let mut found: BTreeMap<String, Group> = BTreeMap::new();
    for (place, (proposer, purpose)) in drafts.into_iter().enumerate() {
        let (key, title, about, name) = match proposer {
            Proposer::Person => ("by_hand".to_owned(), words.by_hand.clone(), words.by_hand_about.clone(), None),
            Proposer::Workflow(name) => {
                let (title, about) = workflow(name);
                (format!("workflow:{name}"), title, about, Some(name.clone()))
            }
            Proposer::Intent(_) | Proposer::Rule(_) => {
                let title = words.purposes.get(purpose).map_or(purpose, String::as_str);
                let title = if title.is_empty() { UNNAMED } else { title };
                (format!("purpose:{purpose}"), title.to_owned(), String::new(), None)
            }
        };
        let group = found.entry(key.clone()).or_insert(Group { key, title, about, workflow: name, places: Vec::new() });
        group.places.push(place);
    }
    let mut groups: Vec<Group> = found.into_values().collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.places.len()), group.title.to_lowercase()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> DraftWords {
        DraftWords {
            by_hand: "Yours".into(),
            by_hand_about: "What you wrote".into(),
            purposes: BTreeMap::from([("nudge".to_owned(), "Reminders".to_owned())]),
            states: BTreeMap::new(),
        }
    }

    #[test]
    fn drafts_stand_under_why_they_were_drafted() {
        // OUT-05, OUT-07, OUT-08, OUT-09, OUT-10
        let (me, agent) = (Proposer::Person, Proposer::Intent("review".into()));
        let flow = Proposer::Workflow("slack-closure".into());
        let drafts = [(&agent, "nudge"), (&me, "nudge"), (&agent, "thanks"), (&agent, "nudge"), (&flow, "nudge"), (&agent, "")];
        let groups = groups(drafts, &words(), |name| (format!("of {name}"), "about it".into()));
        let shown: Vec<(&str, &str, &[usize])> =
            groups.iter().map(|g| (g.title.as_str(), g.about.as_str(), g.places.as_slice())).collect();
        assert_eq!(
            shown,
            [
                ("Reminders", "", &[0, 3][..]),
                ("of slack-closure", "about it", &[4]),
                ("Other", "", &[5]),
                ("thanks", "", &[2]),
                ("Yours", "What you wrote", &[1]),
            ]
        );
        assert_eq!(groups[1].workflow.as_deref(), Some("slack-closure"));
        assert_eq!(super::groups([], &words(), |_| Default::default()), []);
    }
}
