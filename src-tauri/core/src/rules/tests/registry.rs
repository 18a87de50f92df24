//! The registry against the list of facts that stands beside this file, which is the specification's own.

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::predicate::Predicate;
use crate::rules::registry::{KNOWN, Provider, Scope, known};

const FACTS: &str = include_str!("facts.toml");

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    slots: BTreeSet<String>,
    #[serde(default)]
    untrusted: bool,
    #[serde(default)]
    on_demand: bool,
}

#[test]
fn the_registry_is_the_list_both_ways() {
    // FACT-01
    let mut listed: BTreeMap<String, Vec<Fact>> = toml::from_str(FACTS).unwrap();
    let mut listed = listed.remove("fact").unwrap();
    listed.sort();
    let ours: Vec<Fact> = KNOWN
        .iter()
        .map(|row| Fact {
            name: row.name.to_owned(),
            kind: row.kind.as_str().to_owned(),
            slots: row.slots.iter().map(|slot| slot.as_str().to_owned()).collect(),
            untrusted: row.untrusted,
            on_demand: row.on_demand,
        })
        .collect();
    assert_eq!(ours, listed);
    assert_eq!(ours.len(), 270);
}

#[test]
fn every_fact_is_found_by_its_name_and_says_what_it_is() {
    // FACT-01
    assert!(KNOWN.windows(2).all(|pair| pair[0].name < pair[1].name), "the parts are cut in order");
    for row in KNOWN {
        assert_eq!(known(row.name), Some(row));
        assert!(row.about.ends_with('.') && row.about.len() > 8, "{}: {}", row.name, row.about);
        let of: BTreeSet<Option<Provider>> =
            row.slots.iter().map(|slot| slot.as_str().strip_prefix("workflow.")).map(|word| word.and_then(provider)).collect();
        assert!(of.iter().flatten().count() <= 1, "{} is a fact of two providers", row.name);
    }
    assert_eq!(known("pr"), None);
}

fn provider(word: &str) -> Option<Provider> {
    Provider::ALL.iter().find(|(name, _)| *name == word).map(|(_, provider)| *provider)
}

#[test]
fn a_workflow_reads_its_own_provider_and_what_stands_around_it() {
    // FACT-01, FACT-08
    let reads = |text: &str, of| Predicate::parse_in(text, Scope::Workflow(of)).map(|_| ()).map_err(|fault| fault.to_string());
    for (text, of) in [
        ("pr.mine && trigger.kind == \"sweep\" && config.turns.per_day > 1", Provider::Github),
        ("brief.risk == \"low\"", Provider::Github),
        ("slack.ended && brief.goal == \"\"", Provider::Slack),
        ("task.link_signal.ready && task.undone == []", Provider::Task),
        ("session.idle_for > config.cleanup.idle", Provider::Session),
        ("workspace.dirty == 0", Provider::Workspace),
    ] {
        assert_eq!(reads(text, of), Ok(()), "{text}");
    }
    let refusal = reads("pr.mine && slack.ended", Provider::Github).unwrap_err();
    assert_eq!(
        refusal,
        "at character 12: `slack.ended` cannot be read in a workflow on pull requests; it is a fact of `slack`, and here those of \
         `github` are read"
    );
    let refusal = reads("brief.goal == \"\"", Provider::Session).unwrap_err();
    assert!(
        refusal.contains("`brief.goal` cannot be read in a workflow on sessions; it is open in `workflow.brief`"),
        "{refusal}"
    );
    let refusal = reads("draft.items_owed > 0", Provider::Github).unwrap_err();
    assert!(refusal.contains("it is open in `drafts_withdraw`"), "{refusal}");
    assert!(Predicate::parse_in("draft.items_owed > 0 && pr.mine", Scope::DraftsWithdraw(Provider::Github)).is_ok());
    // One name and one spelling everywhere.
    for scope in [Scope::Action, Scope::Turn, Scope::Workflow(Provider::Github), Scope::Rule(None), Scope::Unit] {
        for name in ["pr.repo", "pr.repo_name", "pr.slug"] {
            assert!(scope.admits(known(name).unwrap()), "{name} in {}", scope.as_str());
        }
    }
}
