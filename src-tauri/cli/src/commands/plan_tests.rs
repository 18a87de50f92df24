//! The plan as a table with countdowns, and what a pipe is told of its changes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use wloop_api::types::PlanItem;

use super::{changed, fields, listing};
use crate::output::{Output, tabbed};

const NOW: i64 = 1_767_607_200;

fn item(id: &str, number: u32, state: &str) -> PlanItem {
    serde_json::from_value(json!({
        "id": id,
        "unit": {"id": format!("github:PR_{number}"), "label": format!("acme/api#{number}"), "title": "Round discounts", "url": "u"},
        "workflow": "review", "intent": "review", "stage": "first", "state": state, "reason": "you were asked",
        "gate": "cc", "deadline": if state == "counting_down" { Some("2026-01-05T10:00:42Z") } else { None },
        "planned_at": "2026-01-05T09:59:00Z"
    }))
    .unwrap()
}

fn table(plan: &[PlanItem], seconds: i64) -> String {
    let out = Output { terminal: true, colour: false, error_terminal: false, error_colour: false };
    out.list_text(&listing(plan, Timestamp::from_second(NOW + seconds).unwrap()), Some(100))
}

// WIN-06
#[test]
fn a_countdown_ticks_to_its_deadline() {
    let plan = [item("aa", 1, "counting_down"), item("bb", 2, "waiting")];
    assert_eq!(
        table(&plan, 0),
        "UNIT        ROUND   STATE           WHAT\n\
         acme/api#1  review  starts in 42 s  Round discounts · you were asked\n\
         acme/api#2  review  waits for you   Round discounts · you were asked\n"
    );
    assert!(table(&plan, 1).contains("starts in 41 s"));
    assert!(table(&plan, 42).contains("starts now"));
    assert_eq!(table(&[], 0), "no round is planned\n");
}

// RUN-28
#[test]
fn a_queued_round_is_shown_with_its_place() {
    let mut plan = [item("aa", 1, "released"), item("bb", 2, "released"), item("cc", 3, "released")];
    (plan[0].place, plan[1].place) = (Some(1), Some(2));
    let told = table(&plan, 0);
    for (unit, state) in [(1, "starts next"), (2, "queued, number 2"), (3, "released ")] {
        assert!(told.contains(&format!("acme/api#{unit}  review  {state}")), "{told}");
    }
    assert!(super::fields(&plan[1]).ends_with(&["2".to_owned()]));
}

// GH-SYNC-38
#[test]
fn a_round_that_waits_for_github_says_until_when() {
    let mut plan = [item("aa", 1, "released")];
    let until = Timestamp::from_second(NOW + 300).unwrap();
    plan[0].waiting_until = Some(until);
    plan[0].reason = "the pull request could not be read: github asks to wait until 2026-01-05T10:05:00Z: slow".to_owned();
    let told = table(&plan, 0);
    assert!(told.ends_with(&format!("  {} · Round discounts\n", crate::words::waits(until))), "{told}");
}

#[test]
fn guidance_gets_a_column_when_there_is_some() {
    let mut plan = [item("aa", 1, "released")];
    assert!(!table(&plan, 0).contains("GUIDANCE"));
    plan[0].guidance = Some("be brief".to_owned());
    assert!(table(&plan, 0).contains("GUIDANCE") && table(&plan, 0).contains("be brief"));
}

// interfaces.md, "Command line": tab-separated when piped
#[test]
fn a_pipe_is_told_each_change_once_and_what_is_gone() {
    let mut known = BTreeMap::new();
    let told = |lines: Vec<PlanItem>| lines.into_iter().map(|line| format!("{} {}", line.id, line.state)).collect::<Vec<_>>();
    assert_eq!(
        told(changed(&mut known, vec![item("bb", 2, "waiting"), item("aa", 1, "counting_down")])),
        ["bb waiting", "aa counting_down"]
    );
    assert_eq!(told(changed(&mut known, vec![item("bb", 2, "waiting"), item("aa", 1, "counting_down")])), Vec::<String>::new());
    assert_eq!(told(changed(&mut known, vec![item("aa", 1, "released")])), ["aa released", "bb gone"]);
    assert_eq!(told(changed(&mut known, Vec::new())), ["aa gone"]);
    assert_eq!(
        tabbed(&fields(&item("aa", 1, "counting_down"))),
        "aa\tcounting_down\tgithub:PR_1\tacme/api#1\treview\treview\tfirst\t2026-01-05T10:00:42Z\tcc\tyou were asked\t\t\t\t"
    );
}
