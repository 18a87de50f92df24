//! The Model Context Protocol server of an agent's session. It checks nothing and decides nothing: a call goes to the caller's
//! side as it came, and the answer goes back (MCP-05).

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::tools::{Refusal, tools};

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAnswer {
    /// It was carried out; an object.
    Done(Value),
    /// It was not, and nothing changed.
    Refused(Refusal),
}

/// Whoever carries out a call: the daemon, reached over its socket.
pub trait ToolCaller: Send + Sync + 'static {
    /// Carries out a call of `tool` with `arguments`, an object. An error of the way there is a refusal `unavailable`.
    fn call<'a>(&'a self, tool: &'a str, arguments: Value) -> BoxFuture<'a, ToolAnswer>;
}

/// Why the server ended otherwise than by the agent closing its side.
#[derive(Debug, thiserror::Error)]
pub enum ServeFault {
    /// What came was no start of the protocol.
    #[error("the session did not start with the protocol's own messages; `wloop mcp` is started by an agent, not by hand")]
    Start(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server's task failed.
    #[error("the tools' server stopped")]
    Stopped(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Serves the tools of table M1 until the agent closes its side (MCP-01).
///
/// # Errors
/// When the other side does not speak the protocol, or the server fails.
pub async fn serve_mcp<R, W>(input: R, output: W, caller: Arc<dyn ToolCaller>) -> Result<(), ServeFault>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let running = Server { caller }.serve((input, output)).await.map_err(|e| ServeFault::Start(Box::new(e)))?;
    running.waiting().await.map(|_| ()).map_err(|e| ServeFault::Stopped(Box::new(e)))
}

struct Server {
    caller: Arc<dyn ToolCaller>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("wloop", env!("CARGO_PKG_VERSION")))
            .with_instructions("Read your task with `task_read` first, and call `record` once at the end.")
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools().into_iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(CallToolResponse::Complete(result(self.caller.call(&request.name, arguments).await)))
    }
}

fn listed(tool: crate::tools::Tool) -> Tool {
    let hints = ToolAnnotations::new().read_only(tool.reads_only).destructive(false).idempotent(true);
    Tool::new(tool.name, tool.description, tool.schema).with_annotations(hints)
}

fn result(answer: ToolAnswer) -> CallToolResult {
    match answer {
        ToolAnswer::Done(value) => {
            let object = if value.is_object() { value } else { json!({ "result": value }) };
            CallToolResult::structured(object)
        }
        ToolAnswer::Refused(refusal) => {
            let text = format!("{refusal}. {}", refusal.hint);
            let content = json!({ "code": refusal.code.as_str(), "message": refusal.message, "hint": refusal.hint });
            let mut result = CallToolResult::structured_error(content);
            result.content = vec![ContentBlock::text(text)];
            result
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::tools::{RefusalCode, check_arguments};
    use rmcp::RoleClient;
    use rmcp::service::RunningService;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    /// The daemon's side, as small as can be: it checks arguments where the daemon does, and keeps what was asked.
    #[derive(Default)]
    struct Daemon {
        calls: Mutex<Vec<(String, Value)>>,
        no_turn: bool,
    }

    impl ToolCaller for Daemon {
        fn call<'a>(&'a self, tool: &'a str, arguments: Value) -> BoxFuture<'a, ToolAnswer> {
            Box::pin(async move {
                self.calls.lock().unwrap().push((tool.to_owned(), arguments.clone()));
                if self.no_turn {
                    return ToolAnswer::Refused(Refusal::new(RefusalCode::NotInTurn, "no turn", "end here"));
                }
                match check_arguments(tool, &arguments) {
                    Ok(_) => ToolAnswer::Done(json!({ "post": "p1", "url": "https://x" })),
                    Err(refusal) => ToolAnswer::Refused(refusal),
                }
            })
        }
    }

    async fn session(daemon: Arc<Daemon>) -> (RunningService<RoleClient, ()>, tokio::task::JoinHandle<Result<(), ServeFault>>) {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(far);
        let server = tokio::spawn(serve_mcp(read, write, daemon));
        (().serve(near).await.unwrap(), server)
    }

    fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
        CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
    }

    #[tokio::test]
    async fn the_list_is_the_same_in_every_state() {
        // MCP-01, MCP-02
        let mut lists = Vec::new();
        for no_turn in [false, true] {
            let (client, server) = session(Arc::new(Daemon { no_turn, ..Daemon::default() })).await;
            lists.push(client.list_all_tools().await.unwrap());
            if no_turn {
                // A call that the state does not allow is refused, not hidden.
                let answer = client.call_tool(call("record", json!({}))).await.unwrap();
                assert_eq!(answer.structured_content.unwrap()["code"], "not_in_turn");
            }
            lists.push(client.list_all_tools().await.unwrap());
            client.cancel().await.unwrap();
            server.await.unwrap().unwrap();
        }
        let names: Vec<&str> = lists[0].iter().map(|t| t.name.as_ref()).collect();
        assert_eq!(names, ["task_read", "github_post", "github_draft", "draft_withdraw", "record"]);
        assert!(lists.windows(2).all(|pair| pair[0] == pair[1]));
        for tool in &lists[0] {
            assert_eq!(tool.input_schema["type"], "object");
            assert!(tool.description.as_ref().is_some_and(|d| d.len() > 50));
        }
    }

    #[tokio::test]
    async fn a_result_is_structured_and_text_and_a_refusal_is_a_result() {
        // MCP-05
        let daemon = Arc::new(Daemon::default());
        let (client, _server) = session(daemon.clone()).await;
        let done = client.call_tool(call("github_post", json!({ "shape": "comment", "text": "t" }))).await.unwrap();
        assert_eq!(done.is_error, Some(false));
        let structured = done.structured_content.unwrap();
        assert_eq!(structured, json!({ "post": "p1", "url": "https://x" }));
        let text = |content: &[ContentBlock]| content[0].as_text().unwrap().text.clone();
        assert_eq!(serde_json::from_str::<Value>(&text(&done.content)).unwrap(), structured);

        let refused = client.call_tool(call("github_post", json!({ "text": "t" }))).await.unwrap();
        assert_eq!(refused.is_error, Some(true));
        let structured = refused.structured_content.unwrap();
        assert_eq!(structured["code"], "invalid");
        assert_eq!(structured.as_object().unwrap().len(), 3);
        assert!(text(&refused.content).contains("`shape` is missing"));

        let unknown = client.call_tool(call("merge", json!({}))).await.unwrap();
        assert_eq!(unknown.structured_content.unwrap()["code"], "not_found");
        let bare = client.call_tool(CallToolRequestParams::new("task_read")).await.unwrap();
        assert_eq!(bare.is_error, Some(false));
        assert_eq!(daemon.calls.lock().unwrap().last().unwrap(), &("task_read".to_owned(), json!({})));
    }

    #[tokio::test]
    async fn only_a_malformed_request_is_a_protocol_error() {
        // MCP-05
        let (near, far) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(far);
        let daemon = Arc::new(Daemon::default());
        let server = tokio::spawn(serve_mcp(read, write, daemon.clone()));
        let (read, mut write) = tokio::io::split(near);
        let mut lines = BufReader::new(read).lines();
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
        let bad = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "record", "arguments": [1] } });
        let good = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "task_read" } });
        for message in [hello, bad, json!("no message"), good] {
            write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
        let mut answers = Vec::new();
        while !answers.iter().any(|a: &Value| a["id"] == 3) {
            answers.push(serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap());
        }
        assert_eq!(answers[0]["result"]["serverInfo"]["name"], "wloop");
        assert!(answers[1..answers.len() - 1].iter().all(|a| a["error"].is_object()), "{answers:?}");
        assert_eq!(answers.last().unwrap()["result"]["isError"], false);
        assert_eq!(daemon.calls.lock().unwrap().len(), 1);
        drop((lines, write));
        server.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_person_who_types_into_it_is_told() {
        // MCP-01
        let fault = serve_mcp(&b""[..], tokio::io::sink(), Arc::new(Daemon::default())).await.unwrap_err();
        assert!(fault.to_string().contains("`wloop mcp`"));
    }
}
