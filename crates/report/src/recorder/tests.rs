use super::*;
use crate::console::Verbosity;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};

/// An output that counts events and fails as it is made to.
#[derive(Debug)]
struct Fake {
    events: Arc<Mutex<usize>>,
    fails: Option<ErrorKind>,
    panics: bool,
}

impl Output for Fake {
    fn event(&mut self, _: &Recording<'_>) -> io::Result<()> {
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        assert!(!self.panics, "on purpose");
        self.fails.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn end(&mut self, ending: &Ending<'_>) -> Result<(), Error> {
        let shown = ending.results().map(|results| results.rows.len());
        match self.fails {
            Some(_) => Err(Error::Internal(format!("{shown:?} rows"))),
            None => Ok(()),
        }
    }
}

fn event(kind: EventKind) -> Event {
    Event {
        kind,
        time_s: 1.0,
        cost: None,
        bound: None,
        gap: None,
        maximise: None,
        round: 0,
        moves: 0,
        ratings: 0,
        source: "test".into(),
        solution: None,
        message: None,
        facts: None,
    }
}

/// Returns a recorder of outputs that fail, panic and work, and the numbers of events that they received.
fn recorder(fails: ErrorKind) -> (Recorder, [Arc<Mutex<usize>>; 3]) {
    let counts: [Arc<Mutex<usize>>; 3] = Default::default();
    let mut recorder = Recorder::new(Console::new(Verbosity::Quiet));
    for (index, count) in counts.iter().enumerate() {
        let fails = (index == 0).then_some(fails);
        let output = Fake { events: count.clone(), fails, panics: index == 1 };
        recorder.outputs.push(Member { kind: &OUTPUTS[index], output: Some(Box::new(output)), reported: false });
    }
    (recorder, counts)
}

#[test]
fn a_failing_output_touches_no_other_and_is_reported_once() {
    let (mut recorder, counts) = recorder(ErrorKind::StorageFull);
    for _ in 0..5 {
        recorder.observe(&event(EventKind::Bound), |_| String::new());
    }
    let counts = counts.map(|count| *count.lock().unwrap_or_else(PoisonError::into_inner));
    // an output with an internal error gets no further event
    assert_eq!(counts, [5, 1, 5]);
    assert_eq!(recorder.outputs.iter().map(|member| member.reported).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(recorder.outputs.iter().map(|member| member.output.is_some()).collect::<Vec<_>>(), [true, false, true]);
    let ended = recorder.finish(&Stop::new(), None);
    assert_eq!(ended.incomplete, [OUTPUTS[0].name, OUTPUTS[1].name]);
    assert!(!ended.is_complete() && !ended.has_solution());
}

#[test]
fn a_reader_of_a_pipe_may_come_until_the_next_tick() {
    let (mut recorder, _) = recorder(ErrorKind::WouldBlock);
    recorder.observe(&event(EventKind::Bound), |_| String::new());
    assert!(!recorder.outputs[0].reported);
    recorder.observe(&event(EventKind::Tick), |_| String::new());
    assert!(recorder.outputs[0].reported);
}

#[test]
fn a_solution_is_rendered_once_for_all_outputs() {
    let rendered = Mutex::new(0);
    let render = |_: &[u32]| {
        *rendered.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        "0 1".to_string()
    };
    let found = Event { solution: Some([0, 1].into()), ..event(EventKind::Solution) };
    let recording = Recording::new(&found, &render);
    assert_eq!((recording.solution(), recording.solution()), (Some("0 1"), Some("0 1")));
    assert_eq!(*rendered.lock().unwrap_or_else(PoisonError::into_inner), 1);
    let tick = Event { solution: Some([0, 1].into()), ..event(EventKind::Tick) };
    assert_eq!(Recording::new(&tick, &render).solution(), None);
}
