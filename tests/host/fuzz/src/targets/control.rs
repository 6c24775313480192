// SPDX-License-Identifier: GPL-2.0-only
//! Lines on the control socket of the virtual GPU.

use std::sync::{Arc, LazyLock};

use vgpu_model::{Config, Device, Faults};
use vgpu_server::clock::{Clock, Gpu};
use vgpu_server::control;
use vgpu_server::interrupt::Vector;
use vgpu_server::memory::{GuestMemory, VideoMemory};

static GPU: LazyLock<Arc<Gpu>> = LazyLock::new(|| {
    let guest = GuestMemory::new(Vector::default());
    let video = VideoMemory::new(64 << 20).expect("memory");
    let device = Device::new(Config::default(), Box::new(guest), Box::new(video));
    Gpu::start(
        device.expect("a valid configuration"),
        Clock::of_host(1_000_000),
    )
});

/// Each line has one answer, on one line.
pub fn lines(input: &[u8]) {
    for line in String::from_utf8_lossy(input).lines() {
        let answer = control::reply(line, &GPU).to_string();
        assert!(!answer.contains('\n'), "{answer}");
    }
    GPU.access(|device| device.set_faults(Faults::default()));
}
