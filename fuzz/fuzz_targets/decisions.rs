//! Decision problems: the first line is the extension of a file, the rest is the file. For a diagram in three files,
//! `uai`, the parts are separated by zero bytes.

#![no_main]

use fangs_decide::{Options, solve_diagram, solve_pomdp};
use fangs_formats::{Decision, DiagramParts, Source, parse_diagram, parse_idid, parse_pomdp, read_decision};
use fangs_base::stop::Stop;
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::time::{Duration, Instant};

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|&byte| byte == b'\n') else { return };
    let (ending, text) = (&data[..end], &data[end + 1..]);
    let stop = Stop::new();
    stop.set_at(Instant::now() + Duration::from_millis(200));
    let options = Options { memory: 1 << 20, nodes: 100, exact_limit: 100.0, horizon: Some(2), ..Options::default() };
    let words = String::from_utf8_lossy(text);
    match ending {
        b"uai" => {
            let mut parts = text.splitn(3, |&byte| byte == 0);
            let mut part = || parts.next().unwrap_or_default();
            let parts = DiagramParts { uai: ("f.uai", part()), id: ("f.id", part()), pvo: ("f.pvo", part()) };
            if let Ok((diagram, _)) = parse_diagram(&parts, &stop) {
                let options = Options { horizon: None, ..options };
                let _ = solve_diagram(&diagram, &options, &stop, &mut |_| ());
            }
        }
        b"POMDP" => {
            if let Ok((pomdp, _)) = parse_pomdp(&words, "f.POMDP", &stop) {
                let _ = solve_pomdp(&pomdp, &options, &stop, &mut |_| ());
            }
        }
        b"idid" => drop(parse_idid(&words, "f.idid", Path::new("/nonexistent"), &stop)),
        b"bifxml" | b"xdsl" => {
            let ending = if ending == b"xdsl" { ".xdsl" } else { ".bifxml" };
            let file = tempfile::Builder::new().suffix(ending).tempfile().expect("a temporary file");
            std::fs::write(file.path(), text).expect("a temporary file");
            if let Ok((Decision::Diagram(diagram), _)) = read_decision(&Source::new(file.path()), None, &stop) {
                let options = Options { horizon: None, ..options };
                let _ = solve_diagram(&diagram, &options, &stop, &mut |_| ());
            }
        }
        _ => {}
    }
});
