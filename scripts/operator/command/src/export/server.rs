// SPDX-License-Identifier: GPL-2.0-only
//! Answering, whoever asks and however.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use gpreempt_operator::metrics::Format;

use super::request::{answer, is_whole, too_long, LONGEST};

/// How much is allowed to those who ask.
pub struct Limits {
    /// Connections at the same time. Whoever comes then has the place of the one that
    /// has been there longest.
    pub connections: usize,
    /// How long a connection may last.
    pub time: Duration,
}

impl Limits {
    pub const USUAL: Limits = Limits {
        connections: 32,
        time: Duration::from_secs(10),
    };
}

/// The connections that are open, the oldest first.
type Open = Mutex<VecDeque<Arc<TcpStream>>>;

/// Answers until the listener breaks.
pub fn serve(
    listener: &TcpListener,
    limits: &Limits,
    metrics: &(dyn Fn(Format) -> String + Sync),
) -> io::Result<()> {
    let open = Open::default();
    thread::scope(|scope| loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => Arc::new(stream),
            Err(error) if passes(&error) => {
                thread::sleep(Duration::from_millis(50));
                continue;
            }
            Err(error) => return Err(error),
        };
        make_room(&open, limits.connections);
        enter(&open, &stream);
        let own = stream.clone();
        let (open, until) = (&open, Instant::now() + limits.time);
        let started = thread::Builder::new().spawn_scoped(scope, move || {
            // A client that has gone needs no answer.
            let _ = attend(&own, until, metrics);
            let _ = own.shutdown(Shutdown::Both);
            leave(open, &own);
        });
        if started.is_err() {
            leave(open, &stream);
        }
    })
}

/// Errors of one connection, or of a moment in which there is no room.
fn passes(error: &io::Error) -> bool {
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    const ENOMEM: i32 = 12;
    const ENOBUFS: i32 = 105;
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    ) || matches!(
        error.raw_os_error(),
        Some(EMFILE | ENFILE | ENOMEM | ENOBUFS)
    )
}

fn locked(open: &Open) -> std::sync::MutexGuard<'_, VecDeque<Arc<TcpStream>>> {
    open.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Ends the oldest connections until there is room for one more.
fn make_room(open: &Open, most: usize) {
    let mut open = locked(open);
    while open.len() >= most.max(1) {
        if let Some(oldest) = open.pop_front() {
            let _ = oldest.shutdown(Shutdown::Both);
        }
    }
}

fn enter(open: &Open, stream: &Arc<TcpStream>) {
    locked(open).push_back(stream.clone());
}

fn leave(open: &Open, stream: &Arc<TcpStream>) {
    locked(open).retain(|other| !Arc::ptr_eq(other, stream));
}

/// Reads one request and answers it.
fn attend(
    mut stream: &TcpStream,
    until: Instant,
    metrics: &(dyn Fn(Format) -> String + Sync),
) -> io::Result<()> {
    let mut head = Vec::new();
    let reply = loop {
        if is_whole(&head) {
            break answer(&head, metrics);
        }
        if head.len() >= LONGEST {
            break too_long();
        }
        let mut part = [0; 2048];
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut part)? {
            0 => return Ok(()),
            length => head.extend_from_slice(&part[..length]),
        }
    };
    let bytes = reply.bytes();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(rest)? {
            0 => return Ok(()),
            length => rest = &rest[length..],
        }
    }
    // What the client still sends would take the answer from it if it were not read.
    stream.shutdown(Shutdown::Write)?;
    let mut part = [0; 2048];
    for _ in 0..LONGEST / part.len() {
        stream.set_read_timeout(Some(left(until)?))?;
        if stream.read(&mut part)? == 0 {
            break;
        }
    }
    Ok(())
}

/// The time that a connection has left.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    /// A server of its own, which ends with the test program.
    fn server(limits: Limits, body: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            serve(&listener, &limits, &|format| {
                format!("{format:?}{}", "x".repeat(body))
            })
        });
        address
    }

    const PATIENT: Duration = Duration::from_secs(3600);
    const GET: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn answers(address: SocketAddr) {
        let text = ask(address, GET);
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(text.contains("\r\n\r\nPrometheus"), "{text}");
    }

    #[test]
    fn a_request_is_answered_however_it_is_cut() {
        let limits = Limits {
            connections: 4,
            time: PATIENT,
        };
        let address = server(limits, 1_000_000);
        for _ in 0..10 {
            answers(address);
        }
        let mut stream = TcpStream::connect(address).unwrap();
        for byte in GET {
            stream.write_all(&[*byte]).unwrap();
        }
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(
            text.matches('x').count(),
            1_000_000 + "text".matches('x').count()
        );
    }

    #[test]
    fn who_says_nothing_keeps_nobody_waiting() {
        let limits = Limits {
            connections: 3,
            time: PATIENT,
        };
        let address = server(limits, 10);
        let mut silent: Vec<TcpStream> = (0..40)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        answers(address);
        // The first of them has lost its place.
        let mut part = [0; 1];
        assert_eq!(silent[0].read(&mut part).unwrap_or(0), 0);
    }

    #[test]
    fn who_takes_nothing_keeps_nobody_waiting() {
        let limits = Limits {
            connections: 3,
            time: PATIENT,
        };
        let address = server(limits, 50_000_000);
        let idle: Vec<TcpStream> = (0..6)
            .map(|_| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(GET).unwrap();
                stream
            })
            .collect();
        answers(address);
        drop(idle);
        answers(address);
    }

    #[test]
    fn a_connection_does_not_last_for_ever() {
        let limits = Limits {
            connections: 3,
            time: Duration::from_millis(20),
        };
        let address = server(limits, 10);
        let mut stream = TcpStream::connect(address).unwrap();
        let mut part = [0; 1];
        assert_eq!(stream.read(&mut part).unwrap_or(0), 0);
    }

    #[test]
    fn an_endless_request_is_refused_and_a_cut_one_forgotten() {
        let limits = Limits {
            connections: 3,
            time: PATIENT,
        };
        let address = server(limits, 10);
        let text = ask(address, &vec![b'x'; LONGEST]);
        assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /met").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
        assert!(ask(address, b"\x16\x03\x01\r\n\r\n").starts_with("HTTP/1.1 400 "));
        answers(address);
    }

    #[test]
    fn a_moment_without_room_passes() {
        for number in [12, 23, 24, 105] {
            assert!(passes(&io::Error::from_raw_os_error(number)), "{number}");
        }
        assert!(passes(&ErrorKind::ConnectionAborted.into()));
        assert!(!passes(&io::Error::from_raw_os_error(9)));
    }
}
