//! `wloop` under the name `gh`, as an agent finds it first on its path: it reads the files that a call names with the agent's own
//! rights, hands the call to the daemon and prints what comes back (GH-PUB-23, GH-PUB-24). It knows no token and decides nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use wloop_api::types::GhRequest;
use wloop_daemon::face;

use crate::context::Context;
use crate::failure::Failure;

/// How long one call may take: longer than the daemon waits for a post.
const LIMIT: Duration = Duration::from_secs(180);
/// How much of a file is read, in bytes; a text for GitHub is far below.
const FILE: u64 = 512 * 1024;

/// Whether the program was called as `gh`.
pub(crate) fn is_called(arguments: &[OsString]) -> bool {
    let name = arguments.first().and_then(|path| std::path::Path::new(path).file_name().map(|name| name.to_owned()));
    name.is_some_and(|name| name == "gh")
}

/// Runs one call.
pub(crate) fn run(context: &Context, arguments: &[OsString]) -> ExitCode {
    match call(context, arguments) {
        Ok(code) => code,
        Err(words) => {
            let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
            let _nobody = writeln!(std::io::stderr(), "gh: {line}");
            ExitCode::FAILURE
        }
    }
}

fn call(context: &Context, arguments: &[OsString]) -> Result<ExitCode, String> {
    let words: Option<Vec<String>> = arguments.iter().skip(1).map(|word| word.clone().into_string().ok()).collect();
    let words = words.ok_or("an argument is no UTF-8")?;
    let session = context.session();
    let session = session.ok_or("this `gh` belongs to an agent's session of wloop; use your own `gh`, by its path")?;
    let mut files = BTreeMap::new();
    for name in face::gh_files(&words) {
        files.insert(name.clone(), read(&name)?);
    }
    let socket = context.socket().map_err(|fault| fault.to_string())?;
    let client = wloop_api::client::Client::connect(socket, Some(session.clone())).with_limit(LIMIT);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|fault| fault.to_string())?;
    let request = GhRequest { arguments: words, files };
    let answer = runtime
        .block_on(client.gh(&session, &request))
        .map_err(|fault| Failure::from(fault).line("wloop daemon").unwrap_or_else(|| "the daemon does not answer".to_owned()))?;
    // Whoever reads may be gone already.
    let _out = std::io::stdout().write_all(answer.out.as_bytes());
    let _err = std::io::stderr().write_all(answer.err.as_bytes());
    Ok(ExitCode::from(u8::try_from(answer.code).unwrap_or(1)))
}

fn read(name: &str) -> Result<String, String> {
    let mut text = String::new();
    let done = match name {
        "-" => std::io::stdin().take(FILE + 1).read_to_string(&mut text),
        path => std::fs::File::open(path).and_then(|file| file.take(FILE + 1).read_to_string(&mut text)),
    };
    match done {
        Ok(length) if length as u64 > FILE => Err(format!("`{name}` is longer than {FILE} bytes; shorten it")),
        Ok(_) => Ok(text),
        Err(fault) => Err(format!("`{name}` cannot be read: {fault}")),
    }
}
