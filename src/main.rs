//! The `fangs` command.

fn main() {}
