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

# coverage-guided fuzzing of all readers, each target for SECONDS seconds; needs a nightly toolchain and `cargo install cargo-fuzz`
fuzz SECONDS="60":
    for target in networks decisions companions; do \
        cargo +nightly fuzz run $target -- -max_total_time={{SECONDS}} -max_len=65536 -rss_limit_mb=4096 -timeout=60 \
            || exit 1; \
    done

# tests of the libraries under a sanitizer, address or thread, optionally those with a name; needs a nightly toolchain
# with its sources. Leaks are not looked for: rayon never frees the pool that a thread is to itself
sanitize KIND="address" *NAME:
    ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 TSAN_OPTIONS=allocator_may_return_null=1 \
        RUSTFLAGS=-Zsanitizer={{KIND}} cargo +nightly test --lib -Zbuild-std --target x86_64-unknown-linux-gnu \
        --target-dir target/sanitize-{{KIND}} {{NAME}}

# tests of the model under Miri, as far as they are short; needs a nightly toolchain with Miri. All unsafe code is in
# calls of CUDA, which Miri cannot make, and files and clocks are not its own
miri *NAME:
    MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows -Zmiri-deterministic-floats" \
        cargo +nightly miri test --lib --package fangs-model {{NAME}} -- --skip graph:: --skip rounding::
