use super::{frame, text};
use crate::rules::registry::{Provider, Scope};
use crate::rules::value::{Frame, Value};
use crate::rules::words::{check_line, render_line, render_text};

const DIFF: &str = r#"Review the diff of {{ Facts["pr.slug"] }}, {{ Facts["pr.changed_files"] }} files changed"#;

#[test]
fn both_spellings_read_the_same_fact() {
    // PROF-08, GATE-26
    let facts = frame([("pr.slug", text("acme/api#12")), ("pr.changed_files", Value::Int(3)), ("unit.label", text("api 12"))]);
    assert_eq!(render_line(DIFF, &facts).unwrap(), "Review the diff of acme/api#12, 3 files changed");
    assert_eq!(render_line("{{ pr.slug }} {{ unit.label }}", &facts).unwrap(), "acme/api#12 api 12");
    assert_eq!(render_line("{{ pr.first.reason }}|", &facts).unwrap(), "|");
}

#[test]
fn a_facts_text_is_put_in_and_never_read() {
    // INT-10, LANG-10
    let hostile = frame([("unit.label", text("{{ 7 * 7 }} {% raw %}\n\u{1b}[2Jred\u{202e}&<b>"))]);
    let line = render_line("at {{ unit.label }}", &hostile).unwrap();
    assert_eq!(line, "at {{ 7 * 7 }} {% raw %} \\u{1b}[2Jred\\u{202e}&<b>");
}

#[test]
fn an_unknown_name_is_an_error() {
    // INT-09
    assert!(render_line("{{ Facts[\"pr.nope\"] }}", &Frame::new()).is_err());
    assert!(render_line("{{ nope }}", &Frame::new()).is_err());
    let fault =
        render_text("one\n{{ Unit.slug }}\n{{ Nope }}", minijinja::context! { Unit => minijinja::context! { slug => "s" } });
    assert_eq!(fault.unwrap_err().line, Some(3));
    assert!(render_text("{{ ", minijinja::context! {}).is_err());
    let near = check_line("{{ pr.slog }}", Scope::Workflow(Provider::Github)).unwrap_err();
    assert!(near.to_string().contains("did you mean `pr.slug`?"), "{near}");
    assert!(check_line("{{ row.kind }}", Scope::Workflow(Provider::Github)).is_err());
    assert!(check_line(DIFF, Scope::Workflow(Provider::Github)).is_ok());
}
