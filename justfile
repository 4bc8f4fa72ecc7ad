# Entry points for developers; `.ci/run` does all checks.

# everything that CI checks
all:
    .ci/run

# format the code
fmt:
    cargo fmt

# lints, warnings are errors
lint:
    cargo clippy --release --all-targets -- -D warnings

# tests, optionally those with a name
test *NAME:
    cargo test --release {{NAME}}

# the documentation, in a browser
doc:
    cargo doc --release --no-deps --open

# benchmarks of the inner loops
bench *NAME:
    cargo bench {{NAME}}

# random problems of every task against enumeration, for so many seconds
campaign SECONDS="120" *OPTIONS:
    cargo build --release
    cargo run --release --package fangs-campaign -- --seconds {{SECONDS}} --binary target/release/fangs {{OPTIONS}}
