//! The migration to a device that is being opened. Its driver takes a quarter of a second to start, and kernels that no
//! earlier run has compiled take a second or two. Until then the CPU searches, which already solves many networks.

use crate::annealing::{first_kernels, has_first_kernels};
use crate::core::context::SearchContext;
use crate::device::{Busy, Choice, DeviceError, Opened, Opening};
use crate::error::Error;
use crate::stop::{Cause, Stop};
use crate::threads;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

pub(crate) struct DeviceHandover {
    choice: Choice,
    thread: Option<JoinHandle<Result<Opened, Error>>>,
    over: Stop,
    /// Ends the waiting; set if the run ends without the device.
    left: Stop,
}

impl Drop for DeviceHandover {
    fn drop(&mut self) {
        self.left.set(Cause::Time);
    }
}

impl DeviceHandover {
    /// Returns the device if it is open with its kernels or the run waits for it; otherwise the migration. `closed`
    /// ends the CPU's interim work.
    pub fn unless_there(
        opening: &Opening,
        waits: bool,
        context: &Arc<SearchContext>,
        closed: &Stop,
        stop: &Stop,
    ) -> Result<(Option<DeviceHandover>, Opened), Error> {
        let mut there = match opening.poll()? {
            None if waits || !opening.is_ahead() => {
                context.prepare(stop)?;
                Some(opening.wait(stop)?)
            }
            there => there,
        };
        // the CPU has nothing to compile
        if let Some(device) = there.take_if(|device| waits || device.cuda.is_none()) {
            return Ok((None, device));
        }
        match there {
            Some(device)
                if device
                    .cuda
                    .as_ref()
                    .is_some_and(|cuda| has_first_kernels(cuda, context, device.partners().is_some())) =>
            {
                Ok((None, device))
            }
            // if no thread can wait for the device, the run does
            _ => match DeviceHandover::new(opening.clone(), context, closed, stop) {
                Ok(handover) => Ok((Some(handover), Opened::default())),
                Err(_) => Ok((None, opening.wait(stop)?)),
            },
        }
    }

    /// Waits for the device and then for the kernels of its first rounds.
    fn new(opening: Opening, context: &Arc<SearchContext>, closed: &Stop, stop: &Stop) -> io::Result<DeviceHandover> {
        let (over, left) = (closed.below(), stop.below());
        let choice = opening.choice().clone();
        let thread = threads::start("handover", {
            let (stop, over, busy, context) = (left.clone(), over.clone(), Busy::new(), context.clone());
            move || {
                let opened = opening.wait(&stop);
                if let Ok(opened) = &opened {
                    let has_partners = opened.partners().is_some();
                    // an error of a kernel appears again when it is used
                    for cuda in opened.cuda.iter().chain(opened.others.iter().flatten()) {
                        drop(first_kernels(cuda, &context, has_partners).map(|source| cuda.load(&source)));
                    }
                }
                over.set(Cause::Time);
                drop(busy);
                opened
            }
        })?;
        Ok(DeviceHandover { choice, thread: Some(thread), over, left })
    }

    /// Returns the flag that ends the CPU's interim work: set once the device is ready or the run must end.
    pub fn over(&self) -> &Stop {
        &self.over
    }

    pub fn arrived(&mut self) -> Option<Result<Opened, Error>> {
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        Some(thread.join().unwrap_or_else(|panic| {
            let what = format!("opening the device ended by an internal error ({})", threads::message(&*panic));
            match self.choice {
                Choice::Auto => Ok(Opened { reason: Some(DeviceError::Unusable(what)), ..Opened::default() }),
                _ => Err(Error::Internal(what)),
            }
        }))
    }

    /// Returns a note on where the run took place, if it ended before the migration. A device that was selected by
    /// number must exist nevertheless.
    pub fn missed(opening: &Opening, stop: &Stop) -> Result<String, Error> {
        let opened = match opening.choice().is_named() {
            true => opening.wait(stop).map(Some).or_else(|error| match error {
                Error::Stopped => Ok(None),
                refused => Err(refused),
            })?,
            false => opening.poll()?,
        };
        let without = opened.filter(|opened| opened.cuda.is_none());
        Ok(without.map_or("on the CPU: the run was over before a device was there".into(), |opened| opened.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceError;
    use crate::generate::generate;
    use crate::{EventKind, Options, Status, solve};
    use std::time::Duration;

    fn options(device: &Opening, seconds: u64) -> Options {
        let time = Some(Duration::from_secs(seconds));
        Options { device: device.clone(), time, threads: Some(2), ..Options::default() }
    }

    #[test]
    fn a_network_is_solved_while_a_device_is_on_its_way() {
        let network = generate("grid", &[("side", "6"), ("p2", "0.2")], 1).expect("a family");
        let device = Opening::on_its_way(Choice::Auto);
        let summary = solve(&network, &options(&device, 60), &Stop::new(), &mut |_| ()).expect("nothing fails");
        assert_eq!((summary.status, summary.device.as_str()), (Status::Optimal, "cpu"));
    }

    #[test]
    fn a_run_goes_on_when_the_device_turns_out_to_be_none() {
        let network = generate("grid", &[("side", "60"), ("d", "8"), ("p2", "0.1")], 1).expect("a family");
        let device = Opening::on_its_way(Choice::Auto);
        let (mut notes, mut after) = (Vec::new(), 0);
        let options = options(&device, 3);
        let reason = DeviceError::Unusable("it stayed away".into());
        let summary = solve(&network, &options, &Stop::new(), &mut |event| match event.kind {
            EventKind::Solution if event.round > 0 => {
                device.arrive(Ok(Opened { reason: Some(reason.clone()), ..Opened::default() }));
                after += usize::from(!notes.is_empty());
            }
            EventKind::Note => notes.push(event.message.clone().unwrap_or_default()),
            _ => {}
        });
        assert_eq!(summary.expect("auto cannot fail").device, "cpu");
        assert!(notes.iter().any(|note| note.contains("it stayed away")) && after > 0, "{notes:?} {after}");
    }

    #[test]
    fn a_device_that_was_named_must_be_there_even_if_no_one_waits() {
        let network = generate("grid", &[("side", "6"), ("p2", "0.2")], 1).expect("a family");
        let device = Opening::on_its_way(Choice::Cuda(7));
        let mut solutions = 0;
        let outcome = solve(&network, &options(&device, 60), &Stop::new(), &mut |event| {
            if event.kind == EventKind::Solution {
                solutions += 1;
                let later = device.clone();
                drop(std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(200));
                    later.arrive(Err(DeviceError::Unusable("there are two".into())));
                }));
            }
        });
        let error = outcome.expect_err("it is not there");
        assert!(error.is_input() && error.to_string().contains("there are two"), "{error}");
        assert!(solutions > 0);
    }
}
