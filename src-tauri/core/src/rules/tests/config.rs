use super::only;
use crate::github::RepoName;
use crate::rules::config::{
    AgentEntry, Config, Headless, Late, Output, Preset, ReviewDrafts, RoundMode, SecretSource, TeamPolicy,
};
use crate::rules::policy::ModeWord;
use crate::rules::profile::Act;
use jiff::SignedDuration;

fn refusal(text: &str) -> String {
    only(&Config::parse("config.toml", text).unwrap_err())
}

fn repo(name: &str) -> RepoName {
    name.parse().unwrap()
}

#[test]
fn an_empty_file_is_every_default() {
    // APPR-06
    let config = Config::parse("config.toml", "").unwrap();
    assert_eq!(format!("{config:?}"), format!("{:?}", Config::empty()));
    assert_eq!(config.github.api_url, "https://api.github.com");
    assert_eq!(config.sweep.fast, SignedDuration::from_secs(60));
    assert_eq!((config.github.rounds.per_day, config.github.rounds.per_pull_request, config.github.rounds.per_head), (30, 6, 2));
    assert_eq!(config.github_for(&repo("acme/api")).review.max_files, 300);
    assert!(config.github.repos.admits(&repo("acme/api")));
    assert!(config.workflow("review").enabled && config.workflow("review").approval.is_none());
}

const FULL: &str = r##"
profile = "me"
language = "de"

[time]
zone = "Europe/Berlin"
working_days = ["Mon", "Tue"]
working_hours = "08:30-17:00"

[windows]
late = "announce"

[daemon]
drain_deadline = "1h30m"

[sweep]
fast = "30s"
slow = "2d"

[turns]
per_day = 7

[plugins.github]
api_url = "http://127.0.0.1:8080/api/v3/"
token = "cmd:gh auth token"
teams = ["acme/core"]
automated_reviewers = ["lint-bot"]
repos = { include = ["Acme/*"], exclude = ["acme/old-*"] }
review = { drafts = "requested", settle = "1m" }
signature = "sent by wloop"
followups_without_workspace = true

[plugins.github.rounds]
per_day = 3

[plugins.github.repositories."Acme/API"]
review = { mode = "off" }
signature = ""
profile = "mine"

[plugins.slack]
whatever = [1, 2]

[agents]
default = "helper"
max_running = 1
environment = ["MY_AGENT"]

[agents.helper]
preset = "command"
headless = { command = ["helper", "--quiet"], output = "plain", resume = ["helper", "--again"] }
env = { pass = ["HELPER_*"], set = { MODE = "quiet" } }
max_running = 1
forks = true

[workspaces]
root = "/srv/w"
repos = ["/srv/src"]

[workflows.review]
enabled = false
mode = "observe"
[workflows.review.gates.approval]
window = "5m"
rule = []

[notifications]
enabled = false

[tasks]
undo_within = "7d"

[events]
keep = "400d"

[people.sam]
keys = ["github:sam"]
"##;

#[test]
fn every_key_is_read() {
    // PROF-05, RUN-01
    let config = Config::parse("config.toml", FULL).unwrap_or_else(|faults| panic!("{faults:#?}"));
    assert_eq!(
        (config.profile.as_str(), config.language.as_deref(), config.zone.as_deref()),
        ("me", Some("de"), Some("Europe/Berlin"))
    );
    assert_eq!((config.windows.late, config.turns_per_day), (Late::Announce, 7));
    assert_eq!(config.daemon.drain_deadline, SignedDuration::from_mins(90));
    assert_eq!(config.sweep.slow, SignedDuration::from_hours(48));
    assert_eq!(config.github.api_url, "http://127.0.0.1:8080/api/v3");
    assert_eq!(config.github.token, Some(SecretSource::Command(vec!["gh".into(), "auth".into(), "token".into()])));
    assert_eq!(config.github.teams, TeamPolicy::Only(vec!["acme/core".into()]));
    assert_eq!(config.github.rounds.per_day, 3);
    let admitted = ["acme/api", "acme/old-api", "other/api"].map(|name| config.github.repos.admits(&repo(name)));
    assert_eq!(admitted, [true, false, false]);
    let agent = AgentEntry {
        preset: Some(Preset::Command),
        headless: Some(Headless {
            command: Some(vec!["helper".into(), "--quiet".into()]),
            output: Some(Output::Plain),
            resume: Some(vec!["helper".into(), "--again".into()]),
        }),
        session_command: None,
        env_pass: vec!["HELPER_*".into()],
        env_set: [("MODE".to_owned(), "quiet".to_owned())].into(),
        max_running: Some(1),
        forks: true,
    };
    assert_eq!(config.agents["helper"], agent);
    assert_eq!((config.agents_default.as_deref(), config.agents_max_running), (Some("helper"), 1));
    let review = config.workflow("review");
    assert_eq!((review.enabled, review.mode), (false, Some(Act::Observe)));
    let approval = review.approval.unwrap();
    assert_eq!((approval.mode, approval.window, approval.rules), (None, Some(SignedDuration::from_mins(5)), Some(Vec::new())));
}

#[test]
fn a_repository_has_its_own_over_everybodys() {
    // GH-SYNC-01
    let config = Config::parse("config.toml", FULL).unwrap();
    let own = config.github_for(&repo("acme/api"));
    assert_eq!((own.review.mode, own.review.drafts, own.signature.as_str()), (RoundMode::Off, ReviewDrafts::Requested, ""));
    assert_eq!((own.profile.as_deref(), own.automated_reviewers), (Some("mine"), vec!["lint-bot".to_owned()]));
    let other = config.github_for(&repo("acme/web"));
    assert_eq!((other.review.mode, other.signature.as_str(), other.profile), (RoundMode::Act, "sent by wloop", None));
    assert!(other.followups_without_workspace);
}

#[test]
fn an_unknown_key_or_value_is_refused_with_its_place_and_the_nearest() {
    // PROF-05
    for (text, expected) in [
        ("profil = \"me\"", "config.toml:1:1: `profil`: unknown key `profil`; did you mean `profile`?"),
        ("[sweep]\nfats = \"1s\"", "config.toml:2:1: `sweep.fats`: unknown key `fats`; did you mean `fast`?"),
        (
            "[plugins.github.review]\n  setle = \"1s\"",
            "config.toml:2:3: `plugins.github.review.setle`: unknown key `setle`; did you mean `settle`?",
        ),
        (
            "[plugins.github.repositories.\"a/b\"]\ntoken = \"x\"",
            "`plugins.github.repositories.\"a/b\".token`: unknown key `token`",
        ),
        ("[plugins.jira]\nx = 1", "`plugins.jira`: unknown key `jira`"),
        ("[sweep]\nfast = 60", "config.toml:2:8: `sweep.fast`: found an integer; expected a text"),
        ("[sweep]\nfast = \"60\"", "`60` is no length of time"),
        ("[sweep]\nfast = \"0s\"", "it is no time at all"),
        (
            "[plugins.github]\nreview = { drafts = \"requestd\" }",
            "unknown value `requestd`; did you mean `requested`? known are `never`, `requested`, `always`",
        ),
        ("[plugins.github.repositories.nope]\n", "`nope` is no repository"),
        ("[plugins.github]\nrepos = { include = [\"a/[\"] }", "`a/[` is no pattern"),
        ("[plugins.github]\ntoken = \"env:\"", "it names no token"),
        ("[plugins.github]\napi_url = \"github.example.com\"", "`github.example.com` is no address"),
        ("[agents.a]\npreset = \"claude\"", "unknown value `claude`"),
        ("[agents.a]\nforks = true", "the agent has no command to run"),
        ("[agents.a]\npreset = \"command\"", "add `headless.command`"),
        ("[agents.a]\npreset = \"codex\"\nheadless = { output = \"json\" }", "unknown value `json`"),
        ("[agents]\ndefault = \"b\"\n[agents.a]\npreset = \"codex\"", "unknown value `b`"),
        ("[time]\nworking_days = [\"Mo\"]", "unknown value `Mo`"),
        ("[extraction]\nper_dya = 1", "did you mean `per_day`?"),
        ("[drafts]\nrepeat_after = 3", "found an integer; expected a text"),
        ("[people.sam]\nkey = []", "did you mean `keys`?"),
        ("a = 1\na = 2", "config.toml:2:1"),
    ] {
        let shown = match Config::parse("config.toml", text) {
            Ok(_) => panic!("loaded: {text}"),
            Err(faults) => faults[0].to_string(),
        };
        assert!(shown.contains(expected), "{text}: {shown}");
    }
    assert!(Config::parse("config.toml", "[agents]\ndefault = \"claude-code\"").is_ok());
    let both = Config::parse("config.toml", "profil = 1\n[sweep]\nslow = true").unwrap_err();
    assert_eq!(both.len(), 2, "{both:#?}");
}

#[test]
fn a_block_that_no_table_could_fix_is_refused() {
    // APPR-49
    let with = |body: &str| refusal(&format!("[workflows.review.gates.approval]\n{body}"));
    // (a)
    assert!(with("mode = \"later\"").contains("unknown value `later`"));
    // (b)
    assert!(with("mode = \"wait\"\nwindow = \"5m\"").contains("a window is only for the mode `delay`"));
    // (c)
    let rule = with("[[workflows.review.gates.approval.rule]]\nwhen = 'pr.mine'");
    assert!(rule.contains("`workflows.review.gates.approval.rule[0]`: the rule has no `mode`"), "{rule}");
    // (d)
    let untrusted = with("rule = [{ when = 'gate.kind == \"plan\" && pr.first.due', mode = \"run\" }]");
    assert!(untrusted.contains("pr.first.due"), "{untrusted}");
    let delay = Config::parse("config.toml", "[workflows.review.gates.approval]\nmode = \"delay\"").unwrap();
    assert_eq!(delay.workflow("review").approval.unwrap().mode, Some(ModeWord::Delay));
}

#[test]
fn a_token_is_never_shown() {
    // RUN-05
    let config = Config::parse("config.toml", "[plugins.github]\ntoken = \"ghp_secret\"").unwrap();
    assert_eq!(config.github.token, Some(SecretSource::Literal("ghp_secret".into())));
    assert!(!format!("{config:?}").contains("ghp_secret"));
    assert_eq!(SecretSource::parse("env:GH"), Some(SecretSource::Env("GH".into())));
    assert_eq!(SecretSource::parse("keychain:"), Some(SecretSource::Keychain(String::new())));
}
