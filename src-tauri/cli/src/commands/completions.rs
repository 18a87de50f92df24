//! `wloop completions`.

use std::io::Write as _;

use clap::CommandFactory as _;

use crate::args::Arguments;
use crate::failure::Failure;

/// Prints the completion script of a shell.
pub(crate) fn run(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "wloop", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(())
}
