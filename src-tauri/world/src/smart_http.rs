//! Clone, fetch and push: `git http-backend` over the bare repositories.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;

use crate::answer::{Answer, Asked, Content};
use crate::git;
use crate::server::authenticate;
use crate::world::World;

/// Whether a path is one of a repository that git speaks to.
pub(crate) fn is_git(path: &str) -> bool {
    split(path).is_some()
}

/// `/owner/name.git/rest` as the full name and the rest; git itself also asks without the `.git`.
fn split(path: &str) -> Option<(String, &str)> {
    let (owner, rest) = path.strip_prefix('/')?.split_once('/')?;
    let (name, rest) = rest.split_once('/')?;
    matches!(rest, "info/refs" | "git-upload-pack" | "git-receive-pack" | "HEAD").then_some(())?;
    Some((format!("{owner}/{}", name.strip_suffix(".git").unwrap_or(name)), rest))
}

pub(crate) async fn answer(world: &Arc<World>, asked: &Asked) -> Answer {
    let Some((name, rest)) = split(&asked.path) else { return Answer::not_found() };
    let writes = rest == "git-receive-pack" || asked.parameter("service").as_deref() == Some("git-receive-pack");
    let (dir, who) = {
        let state = world.state();
        let viewer = authenticate(&state, asked);
        let repo = state.repo(&name).ok();
        let open = repo.is_some_and(|repo| repo.public) && !writes;
        match (repo, viewer) {
            (Some(repo), Ok(viewer)) if repo.visible_to(viewer) => {
                (repo.git.dir.clone(), Some((viewer, state.login(viewer).to_owned())))
            }
            (_, Ok(_)) => return Answer::text(404, "text/plain", "Repository not found.\n".to_owned()),
            // A wrong token is refused even where none is needed, as GitHub does.
            (Some(repo), Err(_)) if open && asked.header("authorization").is_none() => (repo.git.dir.clone(), None),
            (_, Err(_)) => {
                let answer = Answer::text(401, "text/plain", "Authentication required.\n".to_owned());
                return answer.with("www-authenticate", "Basic realm=\"GitHub\"");
            }
        }
    };
    let answer = match backend(&dir, rest, asked, who.as_ref().map(|(_, login)| login.as_str())).await {
        Ok(output) => cgi(&output),
        Err(error) => {
            tracing::warn!(%error, "git http-backend could not run");
            Answer::text(500, "text/plain", "git http-backend could not run\n".to_owned())
        }
    };
    if rest == "git-receive-pack"
        && let Some((viewer, _)) = who
    {
        let world = Arc::clone(world);
        let noted = tokio::task::spawn_blocking(move || world.state().branches_moved(&name, viewer)).await;
        if let Ok(Err(error)) = noted {
            tracing::warn!(%error, "a push could not be taken note of");
        }
    }
    answer
}

async fn backend(dir: &PathBuf, rest: &str, asked: &Asked, user: Option<&str>) -> std::io::Result<Vec<u8>> {
    let mut command = git::command(dir);
    let protocol = asked.header("git-protocol").unwrap_or_default();
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", dir)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", format!("/{rest}"))
        .env("REQUEST_METHOD", &asked.method)
        .env("QUERY_STRING", &asked.query)
        .env("CONTENT_TYPE", asked.header("content-type").unwrap_or_default())
        .env("CONTENT_LENGTH", asked.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", asked.header("content-encoding").unwrap_or_default())
        .env("HTTP_GIT_PROTOCOL", protocol)
        .env("GIT_PROTOCOL", protocol)
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(user) = user {
        command.env("REMOTE_USER", user);
    }
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let stdin = child.stdin.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            // It may end before it has read everything; its answer then says why.
            drop(stdin.write_all(&asked.body).await);
        }
    };
    let ((), output) = tokio::join!(write, child.wait_with_output());
    Ok(output?.stdout)
}

/// Reads the headers that a CGI program writes before its body.
fn cgi(output: &[u8]) -> Answer {
    let end = |pattern: &[u8]| output.windows(pattern.len()).position(|window| window == pattern);
    let (head, body) = match (end(b"\r\n\r\n"), end(b"\n\n")) {
        (Some(at), _) => (&output[..at], &output[at + 4..]),
        (None, Some(at)) => (&output[..at], &output[at + 2..]),
        (None, None) => return Answer::text(502, "text/plain", "git http-backend said nothing\n".to_owned()),
    };
    let mut answer = Answer { status: 200, headers: Vec::new(), content: Content::Bytes("", body.to_vec()), resource: None };
    for line in String::from_utf8_lossy(head).lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("status") {
            answer.status = value.trim().split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(500);
        } else {
            answer.headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
    }
    answer
}
