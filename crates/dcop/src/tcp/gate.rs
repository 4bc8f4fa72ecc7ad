//! The entrance of an agent process. A connection carries messages after its peer has shown the token of the run.
//!
//! Before that, a connection costs a few bytes and no thread, and it is closed after [`LONGEST_GREETING`]. Only the
//! processes of neighbours in the tree are admitted, each once; after the last of them the listener is closed.

use super::wire::{Head, Longest, hear};
use crate::threads;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::Sender;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes of a token.
pub(super) const TOKEN: usize = 32;
/// Bytes of a greeting: the token and the number of the peer's process.
const GREETING: usize = TOKEN + 4;
/// The answer to a greeting.
const WELCOME: [u8; 1] = [1];
/// Time limit of a greeting.
const LONGEST_GREETING: Duration = Duration::from_secs(2);
/// Largest number of open connections without a token; one more closes the oldest.
const MOST_STRANGERS: usize = 64;
/// Interval at which connections without a token are read.
const LOOK: Duration = Duration::from_millis(1);
/// Attempts to connect to a process that listens.
const ATTEMPTS: usize = 50;

/// The head of a message, and its tables as bytes.
pub(super) type Message = (Head, Vec<u8>);

/// The entrance of a process.
pub(super) struct Gate {
    pub listener: TcpListener,
    pub token: String,
    /// The processes that will connect.
    pub expected: FxHashSet<u32>,
    /// The longest message of such a process.
    pub longest: Longest,
    /// The time limit of a greeting.
    pub patience: Duration,
}

impl Gate {
    /// Returns a gate with the default time limit.
    pub fn new(listener: TcpListener, token: &str, expected: FxHashSet<u32>, longest: Longest) -> Self {
        Gate { listener, token: token.into(), expected, longest, patience: LONGEST_GREETING }
    }

    /// Forwards the messages of all expected processes to `sender`. Returns after all of them were admitted.
    ///
    /// # Errors
    /// Returns an error if the listener or a thread is not available.
    pub fn admit(mut self, sender: &Sender<io::Result<Message>>) -> io::Result<()> {
        let mut strangers: VecDeque<Stranger> = VecDeque::new();
        while !self.expected.is_empty() {
            // without open greetings, nothing happens until a connection comes
            self.listener.set_nonblocking(!strangers.is_empty())?;
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    strangers.push_back(Stranger { stream, since: Instant::now(), greeting: [0; GREETING], read: 0 });
                    if strangers.len() > MOST_STRANGERS {
                        drop(strangers.pop_front());
                    }
                }
                // no connection, a connection that is gone already, or no descriptor for it
                Err(_) => sleep(LOOK),
            }
            for mut stranger in std::mem::take(&mut strangers) {
                match stranger.read() {
                    Ok(true) => self.welcome(stranger, sender)?,
                    Ok(false) if stranger.since.elapsed() < self.patience => strangers.push_back(stranger),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Starts to receive messages if the greeting is valid; otherwise closes the connection.
    fn welcome(&mut self, stranger: Stranger, sender: &Sender<io::Result<Message>>) -> io::Result<()> {
        let (token, process) = stranger.greeting.split_at(TOKEN);
        let process = u32::from_le_bytes(process.try_into().expect("four bytes"));
        if token != self.token.as_bytes() || !self.expected.contains(&process) {
            return Ok(());
        }
        let mut stream = stranger.stream;
        // a peer that is gone may come back
        if stream.set_nonblocking(false).and_then(|()| stream.write_all(&WELCOME)).is_err() {
            return Ok(());
        }
        let _ = self.expected.remove(&process);
        let (sender, longest) = (sender.clone(), self.longest);
        let receive = move || {
            loop {
                let message = match hear(&mut stream, longest) {
                    Ok(Some(message)) => Ok(message),
                    Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::OutOfMemory) => Err(error),
                    // the process that started the peer learns of its end
                    _ => break,
                };
                let is_last = message.is_err();
                if sender.send(message).is_err() || is_last {
                    break;
                }
            }
        };
        threads::start("peer", receive).map(drop)
    }
}

/// A connection whose peer has not shown the token.
struct Stranger {
    stream: TcpStream,
    since: Instant,
    greeting: [u8; GREETING],
    /// The number of bytes of the greeting that have arrived.
    read: usize,
}

impl Stranger {
    /// Reads the bytes that have arrived. Returns whether the greeting is complete.
    fn read(&mut self) -> io::Result<bool> {
        while self.read < GREETING {
            match self.stream.read(&mut self.greeting[self.read..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.read += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Connects process `own` to the process that listens at a port, and shows it the token.
///
/// # Errors
/// Returns an error if the other process does not listen, or if it closes the connection in each attempt.
pub(super) fn connect(port: u16, token: &str, own: u32) -> io::Result<TcpStream> {
    let mut greeting = token.as_bytes().to_vec();
    greeting.extend(own.to_le_bytes());
    let attempt = |stream: &mut TcpStream| -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.write_all(&greeting)?;
        // without a time limit: a greeting that was given up could still be answered, in place of the next one
        stream.read_exact(&mut [0; WELCOME.len()])
    };
    let mut last = ErrorKind::ConnectionAborted.into();
    for _ in 0..ATTEMPTS {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        match attempt(&mut stream) {
            Ok(()) => return Ok(stream),
            // closed in favour of other connections without a token
            Err(error) => last = error,
        }
        sleep(LOOK);
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::JoinHandle;

    const TOKEN_OF_TESTS: &str = "0123456789abcdef0123456789abcdef";
    const LONGEST: Longest = Longest { head: 1000, tables: 100 };

    type Started = (u16, Receiver<io::Result<Message>>, JoinHandle<io::Result<()>>);

    fn gate(patience: Duration) -> Started {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let expected = FxHashSet::from_iter([1]);
        let gate = Gate { patience, ..Gate::new(listener, TOKEN_OF_TESTS, expected, LONGEST) };
        let (sender, receiver) = channel();
        (port, receiver, std::thread::spawn(move || gate.admit(&sender)))
    }

    fn stranger(port: u16) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens")
    }

    fn is_closed(stream: &mut TcpStream) -> bool {
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        match stream.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    fn value(port: u16, own: u32, values: &[(u32, u32)], tables: &[u8]) -> TcpStream {
        let mut stream = connect(port, TOKEN_OF_TESTS, own).expect("it is expected");
        super::super::wire::say(&mut stream, &Head::Value { to: 7, values: values.to_vec() }, &[tables]).expect("sent");
        stream
    }

    #[test]
    fn a_peer_without_the_token_is_closed_before_anything_is_allocated() {
        let (port, messages, gate) = gate(Duration::from_secs(60));
        // a head and tables of 4 GiB in place of a greeting
        let mut other = stranger(port);
        other.write_all(&[0, 0, 0, 0, 1, 0, 0, 0].repeat(5)).expect("sent");
        assert!(is_closed(&mut other));
        // a process that is not expected
        let mut other = stranger(port);
        other.write_all(TOKEN_OF_TESTS.as_bytes()).and_then(|()| other.write_all(&[2, 0, 0, 0])).expect("sent");
        assert!(is_closed(&mut other));
        let peer = value(port, 1, &[(3, 4)], &[5; 100]);
        let (head, tables) = messages.recv().expect("a sender").expect("a message");
        assert!(matches!(head, Head::Value { to: 7, values } if values == [(3, 4)]) && tables == [5; 100]);
        // the listener is closed
        gate.join().expect("it ends").expect("no error");
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
        drop(peer);
        assert!(messages.recv().is_err());
    }

    #[test]
    fn peers_with_the_token_announce_no_more_than_agents_send() {
        for (values, tables) in [(1, 101), (100, 1)] {
            let (port, messages, _) = gate(Duration::from_secs(60));
            let peer = value(port, 1, &vec![(u32::MAX, u32::MAX); values], &vec![0; tables]);
            let refused = messages.recv().expect("a sender").expect_err("too long");
            assert_eq!(refused.kind(), ErrorKind::InvalidData, "{refused}");
            drop(peer);
        }
    }

    #[test]
    fn idle_connections_neither_block_others_nor_stay() {
        let (port, messages, gate) = gate(Duration::from_secs(60));
        let mut idle: Vec<TcpStream> = (0..MOST_STRANGERS + 36).map(|_| stranger(port)).collect();
        // the oldest were closed although their time was not over
        assert!(idle[..36].iter_mut().all(is_closed));
        let _peer = value(port, 1, &[], &[]);
        assert!(messages.recv().expect("a sender").is_ok());
        gate.join().expect("it ends").expect("no error");
        assert!(idle.iter_mut().all(is_closed));
    }

    #[test]
    fn a_slow_greeting_is_read_until_the_time_is_over() {
        let (port, messages, _) = gate(Duration::from_millis(100));
        let mut slow = stranger(port);
        slow.write_all(&TOKEN_OF_TESTS.as_bytes()[..10]).expect("sent");
        assert!(is_closed(&mut slow));
        let (patient, _messages, _) = self::gate(Duration::from_secs(60));
        let mut slow = stranger(patient);
        for byte in TOKEN_OF_TESTS.bytes().chain([1, 0, 0, 0]) {
            slow.write_all(&[byte]).expect("it is open");
            sleep(Duration::from_millis(1));
        }
        slow.read_exact(&mut [0; WELCOME.len()]).expect("welcome");
        drop(value(port, 1, &[], &[]));
        assert!(messages.recv().expect("a sender").is_ok());
    }
}
