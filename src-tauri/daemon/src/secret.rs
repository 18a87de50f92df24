//! Where the token comes from: a literal, the environment or a command. It is never printed and never logged.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use secrecy::SecretString;
use wloop_core::rules::config::SecretSource;

/// How long a command may take to tell the token.
const LIMIT: Duration = Duration::from_secs(20);

/// Gets the token, or says why it is not to be had.
pub(crate) async fn token(source: &SecretSource, environment: &BTreeMap<String, String>) -> Result<SecretString, String> {
    let text = match source {
        SecretSource::Literal(text) => text.clone(),
        SecretSource::Env(name) => environment.get(name).cloned().ok_or_else(|| {
            format!("`plugins.github.token` names the variable `{name}`, which is not set; set it, or name another source")
        })?,
        SecretSource::Command(command) => of_command(command, environment).await?,
        SecretSource::Keychain(_) => {
            return Err(
                "`plugins.github.token` names the keychain, which this version does not read; use `env:NAME` or `cmd:COMMAND`"
                    .to_owned(),
            );
        }
    };
    let text = text.trim();
    if text.is_empty() || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("`plugins.github.token` gives an empty token, or one with blanks in it; look at its source".to_owned());
    }
    Ok(SecretString::from(text.to_owned()))
}

async fn of_command(command: &[String], environment: &BTreeMap<String, String>) -> Result<String, String> {
    let shown = command.join(" ");
    let Some((program, arguments)) = command.split_first() else {
        return Err("`plugins.github.token` names no command after `cmd:`".to_owned());
    };
    let mut child = tokio::process::Command::new(program);
    child.args(arguments).env_clear().envs(environment).stdin(Stdio::null()).kill_on_drop(true);
    let output = match tokio::time::timeout(LIMIT, child.output()).await {
        Err(_) => return Err(format!("`{shown}` did not tell the token within {} s; run it by hand and see", LIMIT.as_secs())),
        Ok(Err(fault)) => {
            return Err(format!(
                "`{shown}` could not be run for the token: {fault}; install it, or name another source in `plugins.github.token`"
            ));
        }
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        return Err(format!("`{shown}` told no token ({}); run it by hand and see", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{shown}` told something that is no text"))
}
