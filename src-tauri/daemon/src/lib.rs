//! The running core of wloop: the engine, its jobs, the server on the socket, and what works without them (doctor).

mod caller;
mod doctor;
pub mod edge;
pub mod engine;
pub mod face;
mod gh;
mod health;
pub mod home;
mod hub;
pub mod input;
mod mcp;
pub mod refusal;
mod run;
mod runner;
mod secret;
mod server;
pub mod settings;
mod tool;
mod view;
