//! Files that accompany a network: the first line names the kind, the rest is the file. Certificates and checkpoints
//! are sealed here, because mutations would never produce a valid seal.

#![no_main]

use fangs_model::certificate::Certificate;
use fangs_check::Replay;
use fangs_formats::{
    Format, ReadOptions, read_evidence, read_from, read_policy, read_solution, read_start, read_variables,
};
use fangs_heuristics::language::Heuristic;
use fangs_model::model::Network;
use fangs_elimination::order::Order;
use fangs_search::Checkpoint;
use fangs_base::stop::Stop;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::LazyLock;

/// Limit in bytes on the memory that verifying a certificate may take.
const MEMORY: u64 = 1 << 24;

static NETWORK: LazyLock<Network> = LazyLock::new(|| {
    let text = include_bytes!("../../tests/corpus/small.cfn");
    read_from(&text[..], "small.cfn", Format::Cfn, &ReadOptions::default(), &Stop::new()).expect("a network")
});

/// A network without global cost functions, for which there are certificates.
static PLAIN: LazyLock<Network> = LazyLock::new(|| {
    let text = include_bytes!("../../tests/corpus/plain.wcsp");
    read_from(&text[..], "plain.wcsp", Format::Wcsp, &ReadOptions::default(), &Stop::new()).expect("a network")
});

/// Returns the first line of a text, followed by the line that seals it.
fn sealed(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let digest: String = Sha256::digest(line.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{line}\nsha256 {digest}\n")
}

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|&byte| byte == b'\n') else { return };
    let (kind, bytes) = (&data[..end], &data[end + 1..]);
    let (text, stop) = (String::from_utf8_lossy(bytes), Stop::new());
    match kind {
        b"order" => drop(Order::parse_sequence(&text)),
        b"heuristic" => drop(Heuristic::parse("f.toml", &text, NETWORK.variables())),
        b"checkpoint" => drop(Checkpoint::from_text(&sealed(&text))),
        b"certificate" => {
            if let Ok(certificate) = Certificate::from_text(&sealed(&text))
                && let Ok(replay) = Replay::new(&PLAIN, &certificate)
            {
                let _ = replay.run(MEMORY);
            }
        }
        _ => {
            let file = tempfile::NamedTempFile::new().expect("a temporary file");
            std::fs::write(file.path(), bytes).expect("a temporary file");
            read(kind, file.path(), &stop);
        }
    }
});

fn read(kind: &[u8], path: &Path, stop: &Stop) {
    match kind {
        b"evidence" => drop(read_evidence(path, NETWORK.variables(), stop)),
        b"variables" => drop(read_variables(path, NETWORK.variables(), stop)),
        b"solution" => drop(read_solution(path, &NETWORK, stop)),
        b"start" => drop(read_start(path, &NETWORK, stop)),
        b"policy" => drop(read_policy(path, stop)),
        _ => {}
    }
}
