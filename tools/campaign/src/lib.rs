//! Random problems of every task of Fangs, with random options and limits; each claim of a result is checked by
//! enumeration with the campaign's own code. Failures are shrunk and written to files.
//!
//! [`tasks::TASKS`] lists the tasks. A new task implements [`task::Task`] in a separate file.

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
