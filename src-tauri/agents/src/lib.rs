//! How wloop runs an agent: the process and its limits, the worktree it works in, the environment it gets, and the tools it may
//! call. Nothing here decides whether a turn starts or what a turn may publish; the daemon does, and calls this crate to act.

pub mod block;
pub mod doctor;
pub mod environment;
pub mod gh;
pub mod git;
pub mod headless;
pub mod home;
mod listen;
pub mod mcp;
pub mod output;
pub mod preset;
pub mod process;
pub mod readings;
pub mod redact;
mod stream;
pub mod tools;
pub mod transcript;
pub mod worktree;

pub use block::{Block, BlockKind, Signs, recognise};
pub use doctor::{AgentCheck, doctor};
pub use environment::{Added, agent_environment};
pub use headless::{Ended, Limit, Limits, RunEnd, RunEvent, RunSpec, Spawned, StartFault, spawn};
pub use home::{AgentHome, HomeFault, trust};
pub use mcp::{ToolAnswer, ToolCaller, serve_mcp};
pub use output::{OutputFormat, ReportedError, ReportedKind, Usage};
pub use preset::{AgentConfig, Allowed, McpWiring, PresetFault, Resolved, resolve};
pub use process::{ProcessStart, end_group, find_program};
pub use redact::Redactor;
pub use tools::{PostWish, Refusal, RefusalCode, ReplyTo, ToolCall, check_arguments};
pub use worktree::{Worktree, WorktreeFault, WorktreeSpec, prepare};
