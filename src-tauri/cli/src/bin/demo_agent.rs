//! `wloop-demo-agent`: the scripted agent of `wloop demo`, which the daemon starts as it starts any other.

use std::process::ExitCode;

fn main() -> ExitCode {
    wloop_world::agent::run()
}
