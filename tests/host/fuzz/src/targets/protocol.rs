// SPDX-License-Identifier: GPL-2.0-only
//! Messages of the emulator to the virtual GPU's process, over a real socket, with
//! descriptors of files of any size.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock, Mutex};

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
        Clock::new(1_000_000),
    );
    Mutex::new(Shared {
        gpu,
        guest,
        video,
        vector,
    })
});

/// A file of some pages, or none.
fn file(pages: u8) -> OwnedFd {
    let file = memfd_create(c"guest", MFdFlags::MFD_CLOEXEC).expect("a file in memory");
    nix::unistd::ftruncate(&file, i64::from(pages) * 4096).expect("room");
    file
}

/// The messages of an input: each has a header that is mostly true, and sometimes a
/// file beside it.
fn send(input: &mut Input<'_>, client: &UnixStream) -> Option<()> {
    while !input.is_empty() {
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
        let mut message = vec![0, 0, command, 0];
        message.extend(size.to_le_bytes());
        message.extend(flags.to_le_bytes());
        message.extend([0; 4]);
        message.extend(body);
        let file = (files % 4 == 0).then(|| file(files / 16));
        let raw: Vec<_> = file.iter().map(AsRawFd::as_raw_fd).collect();
        let control = [ControlMessage::ScmRights(&raw)];
        let control = if raw.is_empty() {
            &[][..]
        } else {
            &control[..]
        };
        let part = std::io::IoSlice::new(&message);
        sendmsg::<()>(
            client.as_raw_fd(),
            &[part],
            control,
            MsgFlags::MSG_NOSIGNAL,
            None,
        )
        .ok()?;
    }
    Some(())
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
    } = &*shared;
    let mut function = Function {
        gpu: Arc::clone(gpu),
        guest: guest.clone(),
        video: video.clone(),
        vector: vector.clone(),
        registers_bytes: gpu.access(|device| device.config().register_bytes()),
        video_bytes: VIDEO,
        config: ConfigSpace::new(),
    };
    let (mut client, server) = UnixStream::pair().expect("a pair of sockets");
    let answers = client.try_clone().expect("the same socket");
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        // The server closes the socket when it is done.
        let _ = (&answers).read_to_end(&mut all);
        all.len()
    });
    let owned = input.to_vec();
    let writer = std::thread::spawn(move || {
        send(&mut Input::new(&owned), &client);
        let _ = client.flush();
        let _ = client.shutdown(std::net::Shutdown::Write);
    });
    // An error ends the connection, which is what a client that errs may expect.
    let _ = function.serve(&mut Connection::new(server));
    writer.join().expect("the client");
    reader.join().expect("the client");
    for page in 0..64 {
        let _ = guest.read(page * 4096, &mut [0; 8]);
        let _ = guest.write(page * 4096 + 4088, &[0; 8]);
    }
    guest.unmap(0, u64::MAX);
    vector.set(None);
    gpu.access(|device| device.reset());
}
