// SPDX-License-Identifier: GPL-2.0-only
//! A process that becomes another program, while its queues are on the GPU: the driver ends
//! them with the old memory, and the process, with its number, begins anew.
#![forbid(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Command};
use std::thread;
use std::time::{Duration, Instant};

use e2e_storm::random::Random;

use crate::gpu::Gpu;
use crate::life::Life;
use crate::transcript::Transcript;

/// How long the driver may take to forget what the process was.
const PATIENCE: Duration = Duration::from_secs(60);

/// Becomes the program again. Returns if that fails. No file stays open: the driver does not
/// stand that of /dev/kfd (docs/storm.md).
pub fn exec(program: &Path, seed: u64) {
    let _ = Command::new(program).args(line(seed)).exec();
}

/// How the program is told.
pub fn line(seed: u64) -> [String; 3] {
    ["--seed".into(), seed.to_string(), "--heir".into()]
}

/// What the process is then. Returns the status to exit with.
pub fn live(seed: u64) -> i32 {
    if !forgotten(&format!("/sys/class/kfd/kfd/proc/{}", process::id())) {
        return 0;
    }
    let mut random = Random::new(seed, &[]);
    let of_life = Random::new(random.number(), &[]);
    let begun = Gpu::first().and_then(|gpu| Life::new(&gpu, of_life, Transcript::new()?));
    match begun {
        Ok(life) => life.live(5 + random.below(40)),
        Err(_) => 0,
    }
}

/// Waits until the driver has taken down this folder of the program before, since it does not
/// stand a second one of the same process (docs/storm.md).
fn forgotten(folder: &str) -> bool {
    let begin = Instant::now();
    while Path::new(folder).exists() {
        if begin.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}
