use std::sync::{Arc, Mutex};

use super::*;
use rmcp::model::{CallToolResponse, CallToolResult, ErrorData, ListToolsResult, ServerCapabilities, ServerConfig, Tool};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = crate::git::command(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A session's tools, which answer as told and keep what they were asked.
#[derive(Clone)]
struct Tools {
    task: Value,
    refuse: Option<&'static str>,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<rmcp::model::PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Tool::new("task_read", "t", serde_json::Map::new())]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        self.calls.lock().unwrap().push((request.name.to_string(), arguments));
        Ok(CallToolResponse::Complete(if self.refuse == Some(&request.name) {
            CallToolResult::structured_error(json!({ "code": "head_moved", "message": "m", "hint": "h" }))
        } else if request.name == "task_read" {
            CallToolResult::structured(self.task.clone())
        } else {
            CallToolResult::structured(json!({ "url": "https://x/1" }))
        }))
    }
}

struct Bench {
    dir: tempfile::TempDir,
    base: String,
}

fn bench() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    let base = commit(dir.path(), &[("src/a.rs", "fn a() {}\n")]);
    Bench { dir, base }
}

fn commit(folder: &Path, files: &[(&str, &str)]) -> String {
    for (file, text) in files {
        std::fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        std::fs::write(folder.join(file), text).unwrap();
    }
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "c"]);
    git(folder, &["rev-parse", "HEAD"])
}

impl Bench {
    async fn run(
        &self,
        script: Script,
        head: &str,
        refuse: Option<&'static str>,
    ) -> (Result<(), AgentFault>, Vec<(String, Value)>) {
        let task = json!({ "unit": { "slug": "o/r#1" }, "guidance": "mind the parser",
            "turn": { "head": head, "merge_base": self.base, "stage": "first" } });
        let tools = Tools { task, refuse, calls: Arc::default() };
        let (near, far) = tokio::io::duplex(1 << 16);
        let calls = tools.calls.clone();
        let server = tokio::spawn(async move { tools.serve(far).await.unwrap().waiting().await.unwrap() });
        let agent = Agent { script, wait: None, folder: self.dir.path().to_owned(), prompt: "Review it.".to_owned() };
        let done = agent.review(near).await;
        server.await.unwrap();
        let calls = calls.lock().unwrap().clone();
        (done, calls)
    }
}

#[tokio::test]
async fn it_posts_what_is_so_and_records_it() {
    let bench = bench();
    let head = commit(bench.dir.path(), &[("src/a.rs", "fn a() {}\n// TODO later\nlet x = y.unwrap();\n")]);
    let (done, calls) = bench.run(Script::Honest, &head, None).await;
    done.unwrap();
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["task_read", "github_post", "record"]);
    let (post, record) = (&calls[1].1, &calls[2].1);
    assert_eq!((&post["shape"], &post["event"], &post["head"]), (&json!("review"), &json!("REQUEST_CHANGES"), &json!(head)));
    let places: Vec<_> = post["comments"].as_array().unwrap().iter().map(|c| (c["path"].clone(), c["line"].clone())).collect();
    assert_eq!(places, [(json!("src/a.rs"), json!(2)), (json!("src/a.rs"), json!(3))]);
    let text = post["text"].as_str().unwrap();
    assert!(text.contains("1 file changed, 2 lines added and 0 removed") && text.contains("no test did"), "{text}");
    assert!(text.contains("asked to look at") && !text.contains("parser"), "guidance is the person's, not the public's");
    assert_eq!((&record["verdict"], &record["findings"][1]["blocking"]), (&json!("published"), &json!(true)));
    assert!(record["summary"].as_str().unwrap().contains("mind the parser"));
}

#[tokio::test]
async fn it_asks_before_a_migration_goes_out() {
    let bench = bench();
    let head = commit(bench.dir.path(), &[("db/x.sql", "select 1;\nalter table t drop column c;\n")]);
    let (done, calls) = bench.run(Script::Honest, &head, None).await;
    done.unwrap();
    assert_eq!(calls.len(), 2);
    let record = &calls[1].1;
    assert_eq!((&record["verdict"], &record["condition"]), (&json!("asked"), &json!("risky_surface")));
    assert_eq!(record["draft"]["event"], "APPROVE");
    assert!(record["draft"]["body"].as_str().unwrap().contains("2 lines added"));
}

#[tokio::test]
async fn a_refusal_ends_it_and_its_scripts_do_as_told() {
    let bench = bench();
    let head = commit(bench.dir.path(), &[("README", "x\n")]);
    let (done, calls) = bench.run(Script::Honest, &head, Some("github_post")).await;
    assert_eq!(done.unwrap_err().to_string(), "`github_post` refused: head_moved: m (h)");
    assert_eq!(calls.len(), 2);
    let (_, calls) = bench.run(Script::Double, &head, None).await;
    assert_eq!(calls.len(), 4);
    assert_eq!(calls[1], calls[2]);
    let (done, calls) = bench.run(Script::NoRecord, &head, None).await;
    assert_eq!((done.is_ok(), calls.len()), (true, 2));
    let (_, calls) = bench.run(Script::Honest, &bench.base, None).await;
    assert_eq!(calls[1].1["verdict"], "nothing");
}

#[test]
fn a_diff_is_read_by_its_hunks() {
    let diff = "diff --git a/x y.rs b/x y.rs\n--- a/x y.rs\n+++ b/x y.rs\n@@ -1,2 +1,0 @@\n--- old\n-b\n@@ -9 +8,2 @@ fn\n-c\n+++ new\n+FIXME\n";
    let look = Look::of(diff);
    assert_eq!((look.added, look.removed), (2, 3));
    assert_eq!((look.findings[0].path.as_str(), look.findings[0].line), ("x y.rs", 9));
    assert!(Look::of("diff --git a/db/migrations/1.py b/db/migrations/1.py\n").risk.is_some());
    assert!(Look::of("diff --git a/q.sql b/q.sql\n@@ -0,0 +1 @@\n+select dropped from t\n").risk.is_none());
    let tested = Look::of("diff --git a/a.rs b/a.rs\ndiff --git a/tests/a.rs b/tests/a.rs\n");
    assert!(!tested.source_without_test() && Look::of("diff --git a/a.rs b/a.rs\n").source_without_test());
}
