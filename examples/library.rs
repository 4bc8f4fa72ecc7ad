//! Builds a small network, solves it in the background, and handles the events as they come.
//!
//! `cargo run --release --example library`

use fangs::model::Network;
use fangs::search::{EventKind, Options, start};
use std::time::Duration;

fn main() -> Result<(), fangs::Error> {
    // ten shifts in a row, three people; two shifts in sequence are tiresome, and each person has likes and dislikes
    let mut builder = Network::builder("shifts");
    let shifts = (0..10).map(|_| builder.variable(3)).collect::<Result<Vec<_>, _>>()?;
    for (k, &shift) in shifts.iter().enumerate() {
        let _ = builder.dense(&[shift], (0..3).map(|person| (7 * k as i64 + 5 * person) % 11).collect())?;
    }
    for pair in shifts.windows(2) {
        let _ = builder.dense(pair, vec![9, 0, 0, 0, 9, 0, 0, 0, 9])?;
    }
    let options = Options::default().with(|options| options.time = Some(Duration::from_secs(10)));
    let mut session = start(builder.build(), options);
    for event in session.by_ref().filter(|event| event.kind != EventKind::Tick) {
        println!("{:.4} s  {:?} .. {:?}  {}", event.time_s, event.lower(), event.upper(), event.source);
    }
    let summary = session.finish()?;
    println!("{}: {:?}", summary.status.name(), summary.solution);
    Ok(())
}
