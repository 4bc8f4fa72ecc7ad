//! Random problems of every task of Fangs, with random options and limits; each claim that comes back is checked
//! against enumeration by the campaign's own code. Failures are shrunk and written to files.
//!
//! [`tasks::TASKS`] lists the tasks. A new one implements [`task::Task`] in a file of its own.

pub mod call;
pub mod campaign;
pub mod command;
pub mod diagram;
pub mod library;
pub mod network;
pub mod number;
pub mod play;
pub mod process;
pub mod task;
pub mod tasks;
