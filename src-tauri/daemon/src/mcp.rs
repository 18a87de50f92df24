//! The tools' server of an agent session: each call passed to the daemon's one route for tools.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use wloop_agents::mcp::{ToolAnswer, ToolCaller, serve_mcp};
use wloop_agents::tools::{Refusal, RefusalCode};
use wloop_api::client::{Client, ClientError};
use wloop_api::types as api;

/// How long one call may take: longer than the daemon waits for a post.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(180);

struct ToDaemon {
    client: Option<Client>,
    session: String,
}

impl ToolCaller for ToDaemon {
    fn call<'a>(&'a self, tool: &'a str, arguments: Value) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let Some(client) = &self.client else {
                let hint = "start the agent through wloop";
                return ToolAnswer::Refused(Refusal::new(
                    RefusalCode::NotInTurn,
                    "`WLOOP_SESSION` is not set: this is no session of wloop",
                    hint,
                ));
            };
            match client.tool(&self.session, tool, &arguments).await {
                Ok(api::ToolAnswer::Done(value)) => ToolAnswer::Done(value),
                Ok(api::ToolAnswer::Refused(refusal)) => {
                    ToolAnswer::Refused(Refusal { code: code(&refusal.code), message: refusal.message, hint: refusal.hint })
                }
                Err(ClientError::Problem(problem)) => {
                    ToolAnswer::Refused(Refusal::new(RefusalCode::Refused, problem.detail, "do not try another way"))
                }
                Err(fault) => ToolAnswer::Refused(Refusal::new(
                    RefusalCode::Unavailable,
                    fault.to_string(),
                    "wloop does not answer; the same call may be repeated",
                )),
            }
        })
    }
}

fn code(word: &str) -> RefusalCode {
    RefusalCode::from_word(word).unwrap_or(RefusalCode::Refused)
}

/// Serves the tools on standard streams until the agent closes its side.
pub(crate) async fn serve(socket: PathBuf, session: Option<String>) -> Result<(), wloop_agents::mcp::ServeFault> {
    let client = session.clone().map(|session| Client::connect(socket, Some(session)).with_limit(LIMIT));
    let caller = ToDaemon { client, session: session.unwrap_or_default() };
    serve_mcp(tokio::io::stdin(), tokio::io::stdout(), Arc::new(caller)).await
}
