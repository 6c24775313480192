// SPDX-License-Identifier: GPL-2.0-only
//! Runs the virtual GPU for one client at a time.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use vgpu_model::{Config, Device, Product, ReadPointer};
use vgpu_server::clock::{Clock, Gpu, HOST_DILATION};
use vgpu_server::connection::Connection;
use vgpu_server::control;
use vgpu_server::function::Function;
use vgpu_server::guest_time::GuestTime;
use vgpu_server::interrupt::Vector;
use vgpu_server::memory::{GuestMemory, VideoMemory};
use vgpu_server::pci::{ConfigSpace, Identity, Kind};
use vgpu_server::video_bios;

/// A virtual GPU of AMD's MI300 series for QEMU's vfio-user-pci.
#[derive(Parser)]
struct Arguments {
    /// The socket that QEMU connects to.
    #[arg(long)]
    socket: PathBuf,
    /// The control socket, on which the device answers questions.
    #[arg(long)]
    control: Option<PathBuf>,
    /// The product that it is: mi300a, mi300x, mi325x, mi350x or mi355x.
    #[arg(long, default_value_t)]
    product: Product,
    /// Accelerator dies that share the work of every queue.
    #[arg(long, default_value_t = 1)]
    xcc: u32,
    /// SDMA engines.
    #[arg(long, default_value_t = 1)]
    sdma: u32,
    /// Parts of video memory that it has come up with, 1 or 4.
    #[arg(long, default_value_t = 1)]
    memory_partitions: u32,
    /// Compute units of each of the four shader engines of a die.
    #[arg(long, default_value_t = 10)]
    cu_per_sh: u32,
    /// It is a virtual function, as the guest of a host with the real one has it.
    #[arg(long)]
    virtual_function: bool,
    /// Video memory in MiB.
    #[arg(long, default_value_t = 4096)]
    vram_mib: u64,
    /// Whose clock it follows. The page through which QEMU shares the guest's is made
    /// beside the socket.
    #[arg(long, value_enum, default_value = "host")]
    clock: ClockOf,
    /// When the read pointer of an AQL queue passes a packet.
    #[arg(long, value_enum, default_value = "launch")]
    rptr: Rptr,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClockOf {
    Host,
    Guest,
}

#[derive(Clone, Copy, ValueEnum)]
enum Rptr {
    Fetch,
    Launch,
    Completion,
}

impl From<Rptr> for ReadPointer {
    fn from(rptr: Rptr) -> ReadPointer {
        match rptr {
            Rptr::Fetch => ReadPointer::Fetch,
            Rptr::Launch => ReadPointer::Launch,
            Rptr::Completion => ReadPointer::Completion,
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let config = Config {
        product: arguments.product,
        xcc_count: arguments.xcc,
        sdma_count: arguments.sdma,
        memory_partitions: arguments.memory_partitions,
        cu_per_shader_engine: arguments.cu_per_sh,
        virtual_function: arguments.virtual_function,
        read_pointer: arguments.rptr.into(),
        ..Config::default()
    };
    let kind = Kind::of(config.virtual_function);
    let identity = Identity::of(config.product, kind)
        .with_context(|| format!("{} has no virtual functions", config.product))?;
    let registers_bytes = config.register_bytes();
    let video_bytes = arguments.vram_mib << 20;
    let (clock, vector) = match arguments.clock {
        ClockOf::Host => (Clock::of_host(HOST_DILATION), Vector::default()),
        ClockOf::Guest => {
            let page = GuestTime::beside(&arguments.socket);
            let time = GuestTime::create(&page)
                .with_context(|| format!("cannot make the clock's page at {}", page.display()))?;
            let time = Arc::new(time);
            (Clock::Guest(Arc::clone(&time)), Vector::of_guest(time))
        }
    };
    let guest = GuestMemory::new(vector.clone());
    let video = VideoMemory::new(video_bytes)
        .with_context(|| format!("cannot make {} MiB of video memory", arguments.vram_mib))?;
    let device = Device::new(config, Box::new(guest.clone()), Box::new(video.clone()))?;
    if kind == Kind::Virtual {
        // Where a virtual function has its video BIOS, having no ROM.
        video.copy_in(0, &video_bios::build(identity));
    }
    let gpu = Gpu::start(device, clock);

    // First, so that whoever has reached the control can have QEMU connect.
    let listener = listen(&arguments.socket)?;
    if let Some(path) = &arguments.control {
        let listener = listen(path)?;
        let gpu = Arc::clone(&gpu);
        thread::spawn(move || control::serve(listener, gpu));
    }
    let mut function = Function {
        gpu,
        guest,
        video,
        vector,
        registers_bytes,
        video_bytes,
        config: ConfigSpace::new(identity),
    };
    let (client, _) = listener.accept().context("no client came")?;
    function.serve(&mut Connection::new(client))
}

/// A socket at a path, replacing what an earlier run may have left there.
fn listen(path: &Path) -> Result<UnixListener> {
    let _ = fs::remove_file(path);
    UnixListener::bind(path).with_context(|| format!("cannot listen at {}", path.display()))
}
