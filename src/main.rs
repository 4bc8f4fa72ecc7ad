//! The `fangs` command.

use fangs::command::{Allocator, Invocation};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() {
    Invocation::of_process().run()
}
