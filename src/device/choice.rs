//! The choice of a device, and opening it concurrently.

use super::busy::{Busy, wait_at_exit};
use super::{Cuda, DeviceError, devices};
use crate::error::Error;
use crate::stop::Stop;
use crate::threads;
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The device asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// On the first CUDA device that works, else on the CPU.
    #[default]
    Auto,
    /// On the CPU.
    Cpu,
    /// On the CUDA device of that number, or not at all.
    Cuda(usize),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = match text {
            "auto" => return Ok(Choice::Auto),
            "cpu" => return Ok(Choice::Cpu),
            "cuda" => Some("0"),
            _ => text.strip_prefix("cuda:"),
        };
        let plain = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        let ordinal = plain.and_then(|number| number.parse().ok());
        ordinal.map(Choice::Cuda).ok_or_else(|| "expected auto, cpu, cuda or cuda:I".into())
    }
}

impl Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Cpu => f.write_str("cpu"),
            Choice::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// The outcome of a choice.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// The device; none is the CPU.
    pub cuda: Option<Arc<Cuda>>,
    /// Why [`Choice::Auto`] went to the CPU.
    pub reason: Option<DeviceError>,
}

impl Opened {
    /// The name of the device: `cpu`, `cuda:0`.
    pub fn name(&self) -> String {
        self.cuda.as_ref().map_or("cpu".into(), |cuda| cuda.label())
    }

    /// Drops a device that has failed and returns the message about it; `None` where there is no device.
    pub fn lose(&mut self, error: &DeviceError) -> Option<String> {
        let cuda = self.cuda.take()?;
        self.reason = Some(error.clone());
        Some(format!("{}: {error}; going on on the CPU", cuda.label()))
    }
}

impl Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cuda, &self.reason) {
            (Some(cuda), _) => {
                write!(f, "on {} ({})", cuda.label(), cuda.info.name)?;
                cuda.cache_trouble().map_or(Ok(()), |trouble| write!(f, "; {trouble}"))
            }
            (None, Some(reason)) => write!(f, "on the CPU: {reason}"),
            (None, None) => f.write_str("on the CPU"),
        }
    }
}

impl Choice {
    /// Opens the device.
    ///
    /// # Errors
    /// Only of [`Choice::Cuda`]: why that device cannot be used.
    pub fn open(self) -> Result<Opened, DeviceError> {
        match self {
            Choice::Cpu => Ok(Opened::default()),
            Choice::Cuda(ordinal) => Ok(Opened { cuda: Some(Cuda::open(ordinal)?), reason: None }),
            Choice::Auto => match devices().and_then(|all| first(all.len())) {
                Ok(cuda) => Ok(Opened { cuda: Some(cuda), reason: None }),
                Err(reason) => self.without(reason),
            },
        }
    }

    /// The outcome without a device.
    fn without(self, reason: DeviceError) -> Result<Opened, DeviceError> {
        if self == Choice::Auto { Ok(Opened { cuda: None, reason: Some(reason) }) } else { Err(reason) }
    }
}

fn broken() -> DeviceError {
    DeviceError::Unusable("the NVIDIA driver's library does not do what it should".into())
}

/// The first of `count` devices that opens, or why the first of them does not.
fn first(count: usize) -> Result<Arc<Cuda>, DeviceError> {
    let failed = match Cuda::open(0) {
        Err(failed) => failed,
        opened => return opened,
    };
    (1..count).find_map(|ordinal| Cuda::open(ordinal).ok()).ok_or(failed)
}

/// Time that the CPU searches alone where no device was named: a driver that starts slows every thread of the process
/// (a first solution by a millisecond), and networks of a few variables are solved by then.
const HEAD_START: Duration = Duration::from_millis(3);

/// How often a waiting run reads the stop flag.
const LOOK: Duration = Duration::from_millis(20);

/// A device that is being opened. Drivers take a quarter of a second to start, so loading a network overlaps with it.
/// Clones share the device. An orderly exit of the process waits until it is open, a few seconds at most.
#[derive(Clone, Debug)]
pub struct Opening {
    choice: Choice,
    ahead: bool,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Asked,
    Working,
    Done(Result<Opened, DeviceError>),
}

impl Opening {
    /// Opens the device at the first call that waits for it.
    pub fn new(choice: Choice) -> Opening {
        Opening { choice, ahead: false, shared: Arc::default() }
    }

    /// Opens the device on a thread of its own. A run does not wait for it: until it is open, the CPU searches.
    pub fn start(choice: Choice) -> Opening {
        let opening = Opening { ahead: true, ..Opening::new(choice) };
        opening.begin();
        opening
    }

    /// What was asked for.
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// Whether opening began before the first call that waits for it.
    pub fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// The device, if it is already open; starts opening it otherwise.
    ///
    /// # Errors
    /// [`Error::Usage`]: why the CUDA device asked for cannot be used.
    pub fn poll(&self) -> Result<Option<Opened>, Error> {
        self.begin();
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Done(outcome) = &*state { self.result(outcome).map(Some) } else { Ok(None) }
    }

    /// The device, once it is open.
    ///
    /// # Errors
    /// [`Error::Usage`]: why the CUDA device asked for cannot be used; [`Error::Stopped`] where `stop` is set before
    /// that is known.
    pub fn wait(&self, stop: &Stop) -> Result<Opened, Error> {
        self.begin();
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let State::Done(outcome) = &*state {
                return self.result(outcome);
            }
            if stop.is_set() {
                return Err(Error::Stopped);
            }
            let waited = self.shared.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn result(&self, outcome: &Result<Opened, DeviceError>) -> Result<Opened, Error> {
        let refused = |error| format!("device {}: {error} (auto or cpu run without it)", self.choice);
        outcome.clone().map_err(|error| Error::Usage(refused(error)))
    }

    /// A device that is being opened until [`Opening::arrive`].
    #[cfg(test)]
    pub(crate) fn on_its_way(choice: Choice) -> Opening {
        let opening = Opening { ahead: true, ..Opening::new(choice) };
        *opening.shared.state.lock().expect("no other thread has it") = State::Working;
        opening
    }

    /// Ends the opening.
    #[cfg(test)]
    pub(crate) fn arrive(&self, outcome: Result<Opened, DeviceError>) {
        *self.shared.state.lock().expect("no thread panics with it") = State::Done(outcome);
        self.shared.changed.notify_all();
    }

    fn begin(&self) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, State::Asked) {
            return;
        }
        if self.choice == Choice::Cpu {
            *state = State::Done(Ok(Opened::default()));
            return;
        }
        *state = State::Working;
        let (choice, shared, busy) = (self.choice, self.shared.clone(), Busy::new());
        wait_at_exit();
        // the thread is detached: a driver that hangs must not delay the end of the process
        let open = move || {
            if choice == Choice::Auto {
                std::thread::sleep(HEAD_START);
            }
            // waiting threads must get an outcome even if the driver's binding panics
            let outcome = std::panic::catch_unwind(|| choice.open()).unwrap_or_else(|_| choice.without(broken()));
            wait_at_exit();
            *shared.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Done(outcome);
            shared.changed.notify_all();
            drop(busy);
        };
        if let Err(error) = threads::start("device", open) {
            *state = State::Done(choice.without(DeviceError::Unusable(error.to_string())));
        }
    }
}

impl Default for Opening {
    fn default() -> Opening {
        Opening::new(Choice::default())
    }
}

impl From<Choice> for Opening {
    fn from(choice: Choice) -> Opening {
        Opening::new(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Cause;

    #[test]
    fn names_are_read_and_shown() {
        for (text, choice) in
            [("auto", Choice::Auto), ("cpu", Choice::Cpu), ("cuda:0", Choice::Cuda(0)), ("cuda:17", Choice::Cuda(17))]
        {
            assert_eq!(text.parse(), Ok(choice));
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(Choice::Cuda(0)));
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "cuda:99999999999999999999", "CPU"] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_cpu_needs_no_waiting() {
        let stop = Stop::new();
        stop.set(Cause::Time);
        let opened = Opening::start(Choice::Cpu).wait(&stop).expect("it is there at once");
        assert_eq!(opened.name(), "cpu");
        assert!(opened.cuda.is_none() && opened.reason.is_none());
    }

    #[test]
    fn auto_never_fails_and_says_why() {
        let opening = Opening::start(Choice::Auto);
        let opened = opening.clone().wait(&Stop::new()).expect("auto cannot fail");
        assert_eq!(opened.cuda.is_none(), opened.reason.is_some());
        let again = opening.wait(&Stop::new()).expect("auto cannot fail");
        assert_eq!(again.name(), opened.name());
    }

    #[test]
    fn nothing_is_waited_for_in_vain() {
        let stop = Stop::new();
        stop.set(Cause::Signal);
        match Opening::start(Choice::Auto).wait(&stop) {
            Ok(opened) => assert_eq!(opened.cuda.is_none(), opened.reason.is_some()),
            Err(error) => assert!(matches!(error, Error::Stopped), "{error}"),
        }
        let opening = Opening::new(Choice::Auto);
        let mut polls = 0;
        while opening.poll().expect("auto cannot fail").is_none() {
            polls += 1;
            assert!(polls < 10_000, "it never opens");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_device_that_is_not_there_is_refused() {
        let error = Choice::Cuda(4096).open().expect_err("no machine has 4096 devices");
        assert!(matches!(error, DeviceError::Unusable(_)), "{error:?}");
        let opening = Opening::new(Choice::Cuda(4096));
        let error = opening.wait(&Stop::new()).expect_err("no machine has 4096 devices");
        assert!(error.is_input() && error.to_string().starts_with("device cuda:4096: "), "{error}");
        assert!(opening.poll().is_err());
    }
}
