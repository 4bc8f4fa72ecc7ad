//! The choice of a device, and opening it concurrently.

use super::busy::{Busy, wait_at_exit};
use super::cuda::Cuda;
use super::device_error::DeviceError;
use super::find::{devices, there};
use super::peers::can_connect;
use crate::error::Error;
use crate::stop::Stop;
use crate::threads;
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// The device that the user chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The first CUDA device that works, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device with this number; an error if it cannot be used.
    Cuda(usize),
    /// All CUDA devices with these distinct numbers; an error if one cannot be used. `solve` has a population on each.
    Several(Vec<usize>),
    /// Every CUDA device of the machine; an error if one cannot be used.
    All,
}

/// The expected names of a single device.
const ONE: &str = "expected auto, cpu, cuda or cuda:I";

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = &*text.to_ascii_lowercase();
        let list = match text {
            "auto" => return Ok(Choice::Auto),
            "cpu" => return Ok(Choice::Cpu),
            "cuda" => "0",
            "cuda:all" => return Ok(Choice::All),
            "cuda:" => return Err(format!("no device is named: {}", there())),
            _ => text.strip_prefix("cuda:").unwrap_or_default(),
        };
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let numbers: Option<Vec<usize>> = list.split(',').map(number).collect();
        let numbers = numbers.ok_or_else(|| format!("{ONE}, several as cuda:0,1, or cuda:all"))?;
        let is_again = |place: &usize| numbers[..*place].contains(&numbers[*place]);
        if let Some(place) = (0..numbers.len()).find(is_again) {
            return Err(format!("cuda:{} is named twice: {}", numbers[place], there()));
        }
        Ok(if let [only] = numbers[..] { Choice::Cuda(only) } else { Choice::Several(numbers) })
    }
}

impl Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Cpu => f.write_str("cpu"),
            Choice::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Choice::Several(ordinals) => {
                let numbers: Vec<String> = ordinals.iter().map(usize::to_string).collect();
                write!(f, "cuda:{}", numbers.join(","))
            }
            Choice::All => f.write_str("cuda:all"),
        }
    }
}

/// The outcome of a choice.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// The device; `None` is the CPU.
    pub cuda: Option<Arc<Cuda>>,
    /// Further devices of a list, in its order. `None` is the CPU as a stand-in for a device, in tests of lists.
    pub others: Vec<Option<Arc<Cuda>>>,
    /// Why [`Choice::Auto`] resulted in the CPU.
    pub reason: Option<DeviceError>,
}

fn label(cuda: Option<&Arc<Cuda>>) -> String {
    cuda.map_or("cpu".into(), |cuda| cuda.label())
}

impl Opened {
    /// Makes the outcome of these devices.
    fn on(devices: Vec<Arc<Cuda>>) -> Opened {
        let mut devices = devices.into_iter();
        Opened { cuda: devices.next(), others: devices.map(Some).collect(), reason: None }
    }

    /// Returns the names of the devices: `cpu`, `cuda:0`, `cuda:0,1`.
    pub fn name(&self) -> String {
        let others = self.others.iter().map(|cuda| label(cuda.as_ref()));
        others.fold(label(self.cuda.as_ref()), |names, name| names + "," + name.trim_start_matches("cuda:"))
    }

    /// Returns the further devices if all devices of the list can be connected. The list is empty if they are CPUs.
    /// Returns `None` if there is no further device, or one that cannot be connected.
    pub fn partners(&self) -> Option<Vec<Arc<Cuda>>> {
        let devices: Vec<Arc<Cuda>> = self.cuda.iter().chain(self.others.iter().flatten()).cloned().collect();
        let is_uniform = devices.is_empty() || devices.len() == 1 + self.others.len();
        let shares = !self.others.is_empty() && is_uniform && can_connect(&devices);
        shares.then(|| devices.into_iter().skip(1).collect())
    }

    /// Drops the first device after it has failed; the next one takes its place. Returns a message, or `None` if there
    /// is no device.
    pub fn lose(&mut self, error: &DeviceError) -> Option<String> {
        let cuda = self.cuda.take()?;
        self.reason = Some(error.clone());
        if !self.others.is_empty() {
            self.cuda = self.others.remove(0);
        }
        Some(self.without(&cuda.label(), error))
    }

    /// Drops one of the further devices, given by its index, after it has failed. Returns a message.
    pub fn lose_other(&mut self, place: usize, error: &DeviceError) -> String {
        let lost = self.others.remove(place);
        self.without(&label(lost.as_ref()), error)
    }

    fn without(&self, lost: &str, error: &DeviceError) -> String {
        let left = if self.cuda.is_some() { self.name() } else { "the CPU".into() };
        format!("{lost}: {error}; going on on {left}")
    }
}

impl Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cuda, &self.reason) {
            (Some(cuda), _) => {
                write!(f, "on {} ({})", cuda.label(), cuda.info.name)?;
                let mut others = self.others.iter().flatten();
                others.try_for_each(|other| write!(f, ", {} ({})", other.label(), other.info.name))?;
                cuda.cache_trouble().map_or(Ok(()), |trouble| write!(f, "; {trouble}"))
            }
            (None, Some(reason)) => write!(f, "on the CPU: {reason}"),
            (None, None) => f.write_str("on the CPU"),
        }
    }
}

impl Choice {
    /// Parses the choice of a single device.
    ///
    /// # Errors
    /// Returns a message about what was expected.
    pub fn of_one(text: &str) -> Result<Choice, String> {
        match text.parse() {
            Ok(Choice::Several(_) | Choice::All) => {
                Err(format!("{ONE}: this works on one device, `fangs solve` and `fangs bound` on several"))
            }
            choice => choice.map_err(|_| ONE.into()),
        }
    }

    /// Returns whether a CUDA device was requested explicitly, so that an error must not lead to the CPU.
    pub fn is_named(&self) -> bool {
        !matches!(self, Choice::Auto | Choice::Cpu)
    }

    /// Opens the device, or all of a list.
    ///
    /// # Errors
    /// Returns why a device cannot be used, if CUDA devices were requested explicitly.
    pub fn open(&self) -> Result<Opened, DeviceError> {
        match self {
            Choice::Cpu => Ok(Opened::default()),
            Choice::Cuda(ordinal) => Ok(Opened::on(vec![Cuda::open(*ordinal)?])),
            Choice::Several(ordinals) => all(ordinals),
            Choice::All => all(&(0..devices()?.len()).collect::<Vec<_>>()),
            Choice::Auto => match devices().and_then(|all| first(all.len())) {
                Ok(cuda) => Ok(Opened::on(vec![cuda])),
                Err(reason) => self.without(reason),
            },
        }
    }

    /// Returns the outcome if no device could be opened.
    fn without(&self, reason: DeviceError) -> Result<Opened, DeviceError> {
        let none = Opened { reason: Some(reason.clone()), ..Opened::default() };
        if *self == Choice::Auto { Ok(none) } else { Err(reason) }
    }
}

/// Opens the devices of a list concurrently, because creating a context takes a tenth of a second.
fn all(ordinals: &[usize]) -> Result<Opened, DeviceError> {
    let opened = std::thread::scope(|scope| {
        let open = |ordinal: usize| threads::start_in(scope, "device", move || Cuda::open(ordinal));
        // if no thread can be started, the device is opened later on this thread
        let begun: Vec<_> = ordinals.iter().map(|&ordinal| open(ordinal).map_err(|_| ordinal)).collect();
        let outcome = |begun: Result<ScopedJoinHandle<'_, _>, usize>| match begun {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(broken())),
            Err(ordinal) => Cuda::open(ordinal),
        };
        begun.into_iter().map(outcome).collect::<Result<Vec<_>, DeviceError>>()
    });
    opened.map(Opened::on)
}

fn broken() -> DeviceError {
    DeviceError::Unusable("the NVIDIA driver's library does not do what it should".into())
}

/// Returns the first of `count` devices that opens, or why device 0 does not open if none does.
fn first(count: usize) -> Result<Arc<Cuda>, DeviceError> {
    let failed = match Cuda::open(0) {
        Err(failed) => failed,
        opened => return opened,
    };
    (1..count).find_map(|ordinal| Cuda::open(ordinal).ok()).ok_or(failed)
}

/// The time that the CPU searches alone if no device was requested explicitly: a starting driver slows down every
/// thread of the process (a first solution by a millisecond), and networks of a few variables are solved by then.
const HEAD_START: Duration = Duration::from_millis(3);

/// The time between two checks of the stop flag while a run waits.
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
    /// Returns a device that is opened at the first call that needs it.
    pub fn new(choice: Choice) -> Opening {
        Opening { choice, ahead: false, shared: Arc::default() }
    }

    /// Starts opening the device on a separate thread. A run does not wait for it: until it is open, the CPU searches.
    pub fn start(choice: Choice) -> Opening {
        let opening = Opening { ahead: true, ..Opening::new(choice) };
        opening.begin();
        opening
    }

    /// Returns the choice.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Returns whether opening began before the first call that needs the device.
    pub fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Returns the device if it is already open; otherwise starts opening it and returns `None`.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] with the reason why the CUDA device requested cannot be used.
    pub fn poll(&self) -> Result<Option<Opened>, Error> {
        self.begin();
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Done(outcome) = &*state { self.result(outcome).map(Some) } else { Ok(None) }
    }

    /// Waits until the device is open and returns it.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] with the reason why the CUDA device requested cannot be used, and [`Error::Stopped`] if
    /// `stop` is set before that is known.
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

    /// Returns a device that is being opened until [`Opening::arrive`] is called.
    #[doc(hidden)]
    pub fn on_its_way(choice: Choice) -> Opening {
        let opening = Opening { ahead: true, ..Opening::new(choice) };
        *opening.shared.state.lock().expect("no other thread has it") = State::Working;
        opening
    }

    /// Ends the opening with this outcome.
    #[doc(hidden)]
    pub fn arrive(&self, outcome: Result<Opened, DeviceError>) {
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
        let (choice, shared, busy) = (self.choice.clone(), self.shared.clone(), Busy::new());
        wait_at_exit();
        // the thread is detached, because a hanging driver must not delay the end of the process
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
            *state = State::Done(self.choice.without(DeviceError::Unusable(error.to_string())));
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
        for (text, choice) in [
            ("auto", Choice::Auto),
            ("cpu", Choice::Cpu),
            ("cuda:0", Choice::Cuda(0)),
            ("cuda:17", Choice::Cuda(17)),
            ("cuda:2,0,11", Choice::Several(vec![2, 0, 11])),
            ("cuda:all", Choice::All),
        ] {
            assert_eq!(text.parse(), Ok(choice.clone()));
            assert_eq!(choice.to_string(), text);
            let is_one = !matches!(choice, Choice::Several(_) | Choice::All);
            assert_eq!(Choice::of_one(text).is_ok(), is_one, "{text}");
        }
        assert_eq!("cuda".parse(), Ok(Choice::Cuda(0)));
        assert_eq!("CPU".parse(), Ok(Choice::Cpu));
        for text in ["", "gpu", "cuda:-1", "cuda:+1", "cuda:x", "cuda:99999999999999999999", "cuda:0,", "0,1"] {
            let error = text.parse::<Choice>().expect_err(text);
            assert!(error.contains("cuda:all") && !Choice::of_one(text).expect_err(text).contains("all"), "{error}");
        }
        for (text, what) in [("cuda:", "no device is named: "), ("cuda:0,3,0", "cuda:0 is named twice: ")] {
            let error = text.parse::<Choice>().expect_err(text);
            assert_eq!(error, format!("{what}{}", there()));
        }
    }

    #[test]
    fn devices_of_a_list_are_named_and_those_that_are_lost_are_not() {
        let mut opened = Opened { others: vec![None, None], ..Opened::default() };
        let error = DeviceError::Unusable("it broke".into());
        assert_eq!(opened.name(), "cpu,cpu,cpu");
        assert_eq!(opened.lose_other(1, &error), "cpu: it broke; going on on the CPU");
        assert_eq!((opened.name(), opened.lose(&error)), ("cpu,cpu".into(), None));
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
        for choice in [Choice::Cuda(4096), Choice::Several(vec![0, 4096])] {
            let error = choice.open().expect_err("no machine has 4096 devices");
            assert!(matches!(error, DeviceError::Unusable(_)), "{error:?}");
        }
        let opening = Opening::new(Choice::Cuda(4096));
        let error = opening.wait(&Stop::new()).expect_err("no machine has 4096 devices");
        assert!(error.is_input() && error.to_string().starts_with("device cuda:4096: "), "{error}");
        assert!(opening.poll().is_err());
    }
}
