// SPDX-License-Identifier: GPL-2.0-only
//! Messages of the emulator to the virtual GPU's process, over a real socket, with
//! descriptors of files of any size.

use std::io::Read;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use nix::errno::Errno;
use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::socket::{sendmsg, ControlMessage, MsgFlags};
use vgpu_model::{Bus, Config, Device};
use vgpu_server::clock::{Clock, Gpu};
use vgpu_server::connection::Connection;
use vgpu_server::function::Function;
use vgpu_server::interrupt::Vector;
use vgpu_server::memory::{GuestMemory, VideoMemory};
use vgpu_server::pci::ConfigSpace;

use crate::input::Input;

const VIDEO: u64 = 64 << 20;
const HEADER: usize = 16;

struct Shared {
    gpu: Arc<Gpu>,
    guest: GuestMemory,
    video: VideoMemory,
    vector: Vector,
    answers: Answers,
}

/// A thread that takes the answers of one client after the other, so that the server never
/// waits for room.
struct Answers {
    clients: Sender<UnixStream>,
    ended: Receiver<()>,
}

impl Answers {
    fn start() -> Answers {
        let (clients, coming) = channel::<UnixStream>();
        let (end, ended) = channel();
        thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            for mut client in coming {
                // The server closes the socket when it is done.
                while matches!(client.read(&mut buffer), Ok(1..)) {}
                if end.send(()).is_err() {
                    break;
                }
            }
        });
        Answers { clients, ended }
    }
}

/// Making the device anew takes longer than most inputs.
static SHARED: LazyLock<Mutex<Shared>> = LazyLock::new(|| {
    let vector = Vector::default();
    let guest = GuestMemory::new(vector.clone());
    let video = VideoMemory::new(VIDEO).expect("memory");
    let config = Config {
        log_capacity: 64,
        ..Config::default()
    };
    let device = Device::new(config, Box::new(guest.clone()), Box::new(video.clone()));
    // No time passes for the GPU while it is talked to.
    let gpu = Gpu::start(
        device.expect("a valid configuration"),
        Clock::of_host(1_000_000),
    );
    Mutex::new(Shared {
        gpu,
        guest,
        video,
        vector,
        answers: Answers::start(),
    })
});

/// A file of some pages, or none.
fn file(pages: u8) -> OwnedFd {
    let file = memfd_create(c"guest", MFdFlags::MFD_CLOEXEC).expect("a file in memory");
    nix::unistd::ftruncate(&file, i64::from(pages) * 4096).expect("room");
    file
}

/// A message with a header that is mostly true, and sometimes a file beside it.
struct Message {
    bytes: Vec<u8>,
    file: Option<OwnedFd>,
}

impl Message {
    fn of(input: &mut Input<'_>) -> Message {
        let (command, shape, files) = (input.u8() % 16, input.u8(), input.u8());
        let length = usize::from(input.u8() % 80);
        let mut body = input.bytes(length).to_vec();
        body.resize(length, 0);
        let mut size = (HEADER + length) as u32;
        let mut flags = 0u32;
        match shape {
            0 => size = input.u32(),
            1 => flags = input.u32(),
            2 => flags = 1 << 4,
            _ => {}
        }
        let mut bytes = vec![0, 0, command, 0];
        bytes.extend(size.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        Message {
            bytes,
            file: (files % 4 == 0).then(|| file(files / 16)),
        }
    }

    fn send(&self, client: &UnixStream, flags: MsgFlags) -> nix::Result<()> {
        let raw: Vec<_> = self.file.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let control = if raw.is_empty() { &[][..] } else { &rights };
        let part = std::io::IoSlice::new(&self.bytes);
        let flags = flags | MsgFlags::MSG_NOSIGNAL;
        sendmsg::<()>(client.as_raw_fd(), &[part], control, flags, None).map(|_| ())
    }
}

/// Sends what there is room for before anybody reads. Returns the message that there was
/// no room for.
fn send_some(input: &mut Input<'_>, client: &UnixStream) -> Option<Message> {
    while !input.is_empty() {
        let message = Message::of(input);
        match message.send(client, MsgFlags::MSG_DONTWAIT) {
            Err(Errno::EAGAIN) => return Some(message),
            sent => sent.expect("a socket that is open"),
        }
    }
    None
}

/// Sends what is left, until the server wants no more.
fn send_rest(first: &Message, input: &mut Input<'_>, client: &UnixStream) {
    let mut sent = first.send(client, MsgFlags::empty());
    while sent.is_ok() && !input.is_empty() {
        sent = Message::of(input).send(client, MsgFlags::empty());
    }
}

/// Whatever comes, the process lives on, answers what is right, and reaches no
/// memory that it was not lent.
pub fn messages(input: &[u8]) {
    let shared = SHARED.lock().expect("an input before has panicked");
    let Shared {
        gpu,
        guest,
        video,
        vector,
        answers,
    } = &*shared;
    let mut function = Function {
        gpu: Arc::clone(gpu),
        guest: guest.clone(),
        video: video.clone(),
        vector: vector.clone(),
        registers_bytes: gpu.access(|device| device.config().register_bytes()),
        video_bytes: VIDEO,
        config: ConfigSpace::default(),
    };
    let (client, server) = UnixStream::pair().expect("a pair of sockets");
    let mut input = Input::new(input);
    let left = send_some(&mut input, &client);
    let reader = client.try_clone().expect("the same socket");
    answers.clients.send(reader).expect("the client's thread");
    thread::scope(|scope| {
        let end = |client: &UnixStream| {
            // The server may have closed the socket.
            let _ = client.shutdown(Shutdown::Write);
        };
        match left {
            Some(message) => {
                scope.spawn(move || {
                    send_rest(&message, &mut input, &client);
                    end(&client);
                });
            }
            None => end(&client),
        }
        // An error ends the connection, which is what a client that errs may expect.
        let _ = function.serve(&mut Connection::new(server));
    });
    answers.ended.recv().expect("the client's thread");
    for page in 0..64 {
        let _ = guest.read(page * 4096, &mut [0; 8]);
        let _ = guest.write(page * 4096 + 4088, &[0; 8]);
    }
    guest.unmap(0, u64::MAX);
    vector.set(None);
    gpu.access(|device| device.reset());
}
