//! The progress line in a terminal, and commands that Ctrl-C or a signal ends.

use super::*;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const COLUMNS: u16 = 80;
const CTRL_C: u8 = 3;

/// Returns the two ends of a terminal: the user's and the program's.
#[allow(unsafe_code, reason = "the system's call is foreign")]
fn ends() -> io::Result<[OwnedFd; 2]> {
    let (mut person, mut program) = (-1, -1);
    let mut size = libc::winsize { ws_row: 24, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the numbers and the size are valid; null means that a name and settings are not wanted.
    if unsafe { libc::openpty(&mut person, &mut program, null_mut(), null_mut(), &raw mut size) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has opened both descriptors, and nothing else owns them.
    Ok([person, program].map(|end| unsafe { OwnedFd::from_raw_fd(end) }))
}

/// A program in its own terminal, with standard input from a pipe.
struct Terminal {
    child: Child,
    keys: File,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    #[allow(unsafe_code, reason = "the system's calls are foreign")]
    fn start(arguments: &[&str]) -> Result<Terminal> {
        let [person, theirs] = ends()?;
        let mut command = Command::new(program());
        let _ = command.args(arguments).stdin(Stdio::piped()).stdout(theirs.try_clone()?).stderr(theirs.try_clone()?);
        let control = theirs.as_raw_fd();
        let own_terminal = move || {
            // SAFETY: both calls are allowed between fork and exec, and the descriptor is open.
            match unsafe { libc::setsid() >= 0 && libc::ioctl(control, libc::TIOCSCTTY as _, 0) == 0 } {
                true => Ok(()),
                false => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure only makes these two calls.
        let child = unsafe { command.pre_exec(own_terminal) }.spawn()?;
        drop((command, theirs));
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (keys, mut screen, all) = (File::from(person.try_clone()?), File::from(person), shown.clone());
        let read = move || {
            let mut piece = [0; 4096];
            // an error is the end, too: the program has closed its end
            while let Ok(length @ 1..) = screen.read(&mut piece) {
                all.lock().expect("no panic").extend_from_slice(&piece[..length]);
            }
        };
        Ok(Terminal { child, keys, shown, reader: std::thread::spawn(read) })
    }

    /// Returns the drawn frames of the progress line: the text after each spinner.
    fn frames(&self) -> Vec<String> {
        let shown = String::from_utf8_lossy(&self.shown.lock().expect("no panic")).into_owned();
        let is_spinner = |c: char| ('\u{2800}'..='\u{28ff}').contains(&c);
        shown.split(is_spinner).skip(1).map(|frame| frame.split(['\r', '\u{1b}']).next().unwrap_or("").into()).collect()
    }

    fn wait_for_frames(&self) {
        wait_for(|| self.frames().len() >= 3);
    }

    fn end(mut self) -> Result<(ExitStatus, Vec<String>)> {
        drop(self.child.stdin.take());
        let begin = Instant::now();
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if begin.elapsed() > PATIENCE => return Err("the program has not ended".into()),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let frames = self.frames();
        drop(self.reader.join());
        Ok((status, frames))
    }
}

/// Returns the seconds that a frame shows.
fn seconds(frame: &str) -> Option<u64> {
    frame.split_whitespace().next()?.parse().ok()
}

#[test]
fn the_progress_line_stays_until_the_end() -> Result {
    let (folder, path) = hard()?;
    let (path, potentials) = (path.display().to_string(), folder.path().join("potts.uai").display().to_string());
    let _ = fangs().args(["convert", &path, &potentials]).assert().success();
    let runs: [(&[&str], &[&str]); 3] = [
        (&["solve", &path], &["best ", " at ", " s ", "bound ", "gap "]),
        (&["bound", &path], &["bound "]),
        (&["marginals", &potentials, "--only-z", "--bound-memory", "2M"], &["best "]),
    ];
    for (arguments, words) in runs {
        let all: Vec<&str> = arguments.iter().chain(&["-t", "2", "--threads", "1"]).copied().collect();
        let (status, frames) = Terminal::start(&all)?.end()?;
        // a loaded machine may find no solution in this time
        let ended = status.code() == Some(0) || (arguments[0] != "marginals" && status.code() == Some(3));
        assert!(ended && frames.len() >= 3, "{arguments:?}: {status} {frames:?}");
        assert!(frames.iter().all(|frame| frame.contains("/ 2 s")), "{frames:?}");
        let last = frames.last().ok_or("a frame")?;
        assert!(seconds(last) >= Some(1), "{arguments:?} is silent at the end: {frames:?}");
        for word in words {
            assert!(frames.iter().any(|frame| frame.contains(word)), "{arguments:?}: {word} is in none of {frames:?}");
        }
    }
    Ok(())
}

/// Returns calls of commands that wait for a network on standard input, with their later exit codes.
fn waiting(folder: &Path) -> Result<Vec<(Vec<String>, i32)>> {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(at("four.sol"), "0 1 0 1")?;
    let (solution, output) = (at("four.sol"), at("out.cfn"));
    let calls: [(&[&str], i32); 10] = [
        (&["solve", "-"], 0),
        (&["bound", "-"], 0),
        (&["info", "-"], 0),
        (&["check", "-", &solution], 0),
        (&["explain", "-", &solution], 0),
        (&["diff", "-", &solution, &solution], 0),
        (&["convert", "-", &output], 0),
        (&["dcop", "-"], 0),
        (&["marginals", "-", "--temperature", "1"], 0),
        (&["explain", "-"], 0),
    ];
    let owned = |(call, code): (&[&str], i32)| {
        (call.iter().chain(&["--format", "wcsp"]).map(ToString::to_string).collect::<Vec<_>>(), code)
    };
    Ok(calls.into_iter().map(owned).collect())
}

#[test]
fn commands_that_wait_show_it_and_go_on() -> Result {
    let folder = tempfile::tempdir()?;
    let start = |(call, code): (Vec<String>, i32)| {
        let words: Vec<&str> = call.iter().map(String::as_str).collect();
        Ok((Terminal::start(&words)?, call, code))
    };
    let running = waiting(folder.path())?.into_iter().map(start).collect::<Result<Vec<_>>>()?;
    for (mut terminal, call, code) in running {
        terminal.wait_for_frames();
        terminal.child.stdin.take().ok_or("no input")?.write_all(FOUR.as_bytes())?;
        let (status, frames) = terminal.end()?;
        assert_eq!(status.code(), Some(code), "{call:?}");
        assert!(frames.iter().any(|frame| frame.contains(" s") && frame.contains("reading")), "{call:?}: {frames:?}");
    }
    let pipe = folder.path().join("pipe.wcsp");
    assert!(Command::new("mkfifo").arg(&pipe).status()?.success());
    let terminal = Terminal::start(&["generate", "grid", "--side", "5", "-o", &pipe.display().to_string()])?;
    terminal.wait_for_frames();
    assert!(fs::read_to_string(&pipe)?.starts_with("grid"));
    assert!(terminal.end()?.0.success());
    Ok(())
}

/// No progress line is drawn if standard error is no terminal, or if only warnings are wanted.
#[test]
fn there_is_no_progress_line_where_none_is_wanted() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    let (status, frames) = Terminal::start(&["solve", "-q", &path.display().to_string()])?.end()?;
    assert!(status.success() && frames.is_empty(), "{frames:?}");
    let output = fangs().arg("info").arg(&path).assert().success().get_output().clone();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// In a terminal the signal itself finally ends the process, because a shell ends its loop only then.
#[test]
fn ctrl_c_ends_a_loop_of_the_shell() -> Result {
    let (_folder, path) = hard()?;
    for arguments in [&["solve", &path.display().to_string(), "-t", "60"][..], &["info", "-", "--format", "wcsp"]] {
        let mut terminal = Terminal::start(arguments)?;
        wait_for(|| terminal.frames().iter().any(|frame| frame.contains(" moves/s") || arguments[0] == "info"));
        // standard input has no network, because the pipe stays open
        let input = terminal.child.stdin.take();
        terminal.keys.write_all(&[CTRL_C])?;
        let shown = terminal.shown.clone();
        let (status, _) = terminal.end()?;
        drop(input);
        assert_eq!(status.signal(), Some(libc::SIGINT), "{arguments:?}: {status}");
        let shown = String::from_utf8_lossy(&shown.lock().expect("no panic")).into_owned();
        assert!(arguments[0] == "info" || shown.contains("interrupted"), "{shown:?}");
    }
    Ok(())
}

/// All commands exit with 130 after SIGINT, and with 3 after SIGTERM, because there is no result yet.
#[cfg(target_os = "linux")]
#[test]
fn signals_end_every_command_with_its_code() -> Result {
    let folder = tempfile::tempdir()?;
    for (name, code) in [("INT", 130), ("TERM", 3)] {
        let mut running = Vec::new();
        for (call, _) in waiting(folder.path())? {
            let mut command = Command::new(program());
            let _ = command.args(&call).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            running.push((command.spawn()?, call));
        }
        for (mut child, call) in running {
            let input = child.stdin.take();
            wait_for(|| handles_signals(child.id()));
            let kill = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status()?;
            let output = ended(child)?;
            drop(input);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(kill.success() && output.status.code() == Some(code), "{name} {call:?}: {} {told}", output.status);
        }
    }
    Ok(())
}

/// Returns whether a process has a handler for SIGINT: the second bit of its mask of caught signals.
#[cfg(target_os = "linux")]
fn handles_signals(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
}
