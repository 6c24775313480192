// SPDX-License-Identifier: GPL-2.0-only
//! A checkpoint of a life by itself, as CRIU takes one, and a child that becomes what the
//! image has.

use super::*;

/// KFD_CRIU_OP_*.
const PROCESS_INFO: u32 = 0;
const CHECKPOINT: u32 = 1;
const UNPAUSE: u32 = 2;
const RESTORE: u32 = 3;
const RESUME: u32 = 4;
/// Bytes of kfd_criu_device_bucket and kfd_criu_bo_bucket, and where they have descriptors.
const DEVICE: u64 = 16;
const DEVICE_FILE: u64 = 8;
const MEMORY: u64 = 48;
const MEMORY_FILE: u64 = 40;
/// No image of a life is larger.
const MOST: u64 = 64 << 20;

/// Where the parts of an image are, and how much there is of each.
#[derive(Clone, Copy)]
struct Image {
    devices: (u64, u32),
    memory: (u64, u32),
    rest: (u64, u64),
    objects: u32,
}

impl Image {
    fn arguments(&self, operation: u32) -> Arguments {
        Arguments::of(&[
            Word::Eight(self.devices.0),
            Word::Eight(self.memory.0),
            Word::Eight(self.rest.0),
            Word::Eight(self.rest.1),
            Word::Four(self.devices.1),
            Word::Four(self.memory.1),
            Word::Four(self.objects),
            Word::Four(std::process::id()),
            Word::Four(operation),
        ])
    }
}

impl Life {
    /// Takes an image, for which all queues are stopped, and lets them go on. Half of the
    /// images become a child.
    pub(super) fn checkpoint(&mut self) {
        if self.paused || !Uid::effective().is_root() {
            return;
        }
        let Some(image) = self.size_image() else {
            return;
        };
        let taken = self.image_call(&image, CHECKPOINT).is_ok();
        self.paused |= self.image_call(&image, UNPAUSE).is_err();
        if !taken {
            return;
        }
        if self.random.one_in(2) {
            self.restore(image);
        }
        let (at, count) = image.memory;
        for bucket in 0..u64::from(count) {
            let file = word_at(at + bucket * MEMORY + MEMORY_FILE).load(Ordering::Relaxed) as i32;
            if file > 2 {
                // SAFETY: the driver has opened it for this image, and nothing else knows it.
                drop(unsafe { OwnedFd::from_raw_fd(file) });
            }
        }
    }

    fn image_call(&self, image: &Image, operation: u32) -> nix::Result<()> {
        Call::by_number(call::CHECKPOINT).make(&self.kfd, &mut image.arguments(operation))
    }

    /// Stops the queues, and makes room for what there is to save.
    fn size_image(&mut self) -> Option<Image> {
        let mut arguments = Arguments::new();
        arguments.set(48, 4, PROCESS_INFO.into());
        Call::by_number(call::CHECKPOINT)
            .make(&self.kfd, &mut arguments)
            .ok()?;
        let (bytes, devices) = (arguments.get(24, 8), arguments.get(32, 4));
        let (memory, objects) = (arguments.get(36, 4), arguments.get(40, 4));
        let room = |bytes: u64| {
            (bytes <= MOST)
                .then(|| anonymous(bytes.max(PAGE)).ok())
                .flatten()
        };
        let image = (|| {
            Some(Image {
                devices: (room(devices * DEVICE)?, devices as u32),
                memory: (room(memory * MEMORY)?, memory as u32),
                rest: (room(bytes)?, bytes),
                objects: objects as u32,
            })
        })();
        self.paused |= image.is_none();
        image
    }

    /// A child with a file of its own becomes what the image has, and ends.
    fn restore(&mut self, image: Image) {
        self.in_child(|life| {
            let node = open(&life.gpu.render_node.to_string_lossy());
            if let (Ok(kfd), Ok(node)) = (open("/dev/kfd"), node) {
                let (at, count) = image.devices;
                for bucket in 0..u64::from(count) {
                    word_at(at + bucket * DEVICE + DEVICE_FILE)
                        .store(node.as_raw_fd() as u32, Ordering::Relaxed);
                }
                let call = Call::by_number(call::CHECKPOINT);
                for operation in [RESTORE, RESUME] {
                    let _ = call.make(&kfd, &mut image.arguments(operation));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
    }
}
