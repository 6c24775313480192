// SPDX-License-Identifier: GPL-2.0-only
//! Any machine code, as a program's kernel and as its trap handler, with any registers
//! and addresses: the device lives, and a wave that never ends can be stopped.

use vgpu_model::testing::driver::{halves, USER};
use vgpu_model::{Bus, Pace};

use super::scene::{Scene, LONG};
use crate::input::Input;

const PAGE: u64 = 4096;
const DESCRIPTOR: u64 = 0;
const ARGUMENTS: u64 = 256;
const SIGNAL: u64 = 1024;
const DATA: u64 = 2048;
/// Right before the code, to which it leads if it does not end.
const HANDLER: u64 = 2 * PAGE - 256;
const CODE: u64 = 2 * PAGE;
const BYTES: u64 = 3 * PAGE;

/// A wave executes two hundred instructions while anything is waited for, sixteen in turn.
const PACE: Pace = Pace {
    instruction: LONG / 200,
    wave_quantum: 16,
    wave_seed: 0,
};

/// Has the kernel's arguments in registers: `s_load_dwordx16 s[16:31], s[0:1], 0x0`,
/// `v_mov_b32` of the first eight of them.
const PREAMBLE: [u32; 10] = [
    0xc012_0400,
    0,
    0x7e02_0210,
    0x7e04_0211,
    0x7e06_0212,
    0x7e08_0213,
    0x7e0a_0214,
    0x7e0c_0215,
    0x7e0e_0216,
    0x7e10_0217,
];

pub fn code(input: &[u8]) {
    let mut scene = Scene::new();
    let set = scene.driver.device.set_pace(PACE);
    set.expect("a pace that can be");
    let mut input = Input::new(input);
    let base = scene.driver.guest(BYTES);
    let flags = input.u8();
    let queue = {
        let mut process = scene.processes[0];
        if flags & 1 != 0 {
            process.handler = USER + base + HANDLER;
            process.handler_memory = USER + base + DATA;
        }
        let mut queue = scene.queues[0];
        queue.process = process;
        queue
    };
    scene.driver.unmap_all();
    scene.driver.map(&[queue]);
    put(&scene, base, &mut input, flags);
    scene
        .driver
        .put_packet(&queue, &packet(base, &mut input, flags));
    // At least as long as it takes until the waves are there.
    let pause = (1 + u64::from(input.u8())) * PACE.instruction;
    let code = input.bytes(usize::MAX);
    let whole = code.len().min((PAGE as usize) - 4 * PREAMBLE.len());
    let at = base + CODE + 4 * PREAMBLE.len() as u64;
    write(&scene, at, &code[..whole]);
    // Page tables, descriptors and run lists are in video memory, which no wave can reach.
    let writes = scene.driver.vram.writes();
    scene.driver.ring(&queue);
    scene.run(pause);
    let more = scene.driver.vram.writes() - writes;
    assert_eq!(more, 0, "a wave has left its memory");
    // Its waves go through the handler and come back, or stay: few handlers leave any.
    if flags & 8 == 0 {
        scene.driver.unmap(0, 3, 0);
        scene.run(LONG);
        scene.driver.run_list(&[queue]);
    }
    scene.run(LONG);
    // Whatever they do, they can be stopped.
    scene.driver.unmap(1, 3, 0);
    scene.run(LONG);
    let resident = |report: &vgpu_model::QueueReport| report.workgroups_resident;
    let left: u64 = scene.driver.device.queues().iter().map(resident).sum();
    assert_eq!(left, 0, "a wave cannot be stopped");
    scene.close();
}

fn write(scene: &Scene, at: u64, bytes: &[u8]) {
    scene.driver.bus.write(at, bytes).expect("guest memory");
}

/// The descriptor, the arguments, and the handler.
fn put(scene: &Scene, base: u64, input: &mut Input<'_>, flags: u8) {
    let mut descriptor = [0; 64];
    descriptor[16..24].copy_from_slice(&(CODE - DESCRIPTOR).to_le_bytes());
    let resources = [
        u32::from(input.u8() % 8) | (input.u32() & !0x3f),
        // The address of the arguments is in s[0:1].
        (2 << 1) | (input.u32() & !0x3e),
        u32::from(input.u8() % 64),
    ];
    descriptor[48..52].copy_from_slice(&resources[0].to_le_bytes());
    descriptor[52..56].copy_from_slice(&resources[1].to_le_bytes());
    descriptor[44..48].copy_from_slice(&resources[2].to_le_bytes());
    descriptor[56..58].copy_from_slice(&(1_u16 << 3).to_le_bytes());
    write(scene, base + DESCRIPTOR, &descriptor);
    let mut arguments = Vec::new();
    for at in 0..8 {
        let value = input.u64();
        // Some are addresses of memory that is there.
        let value = match (flags >> 4) & (1 << (at % 4)) {
            0 => value,
            _ => USER + base + DATA + value % PAGE,
        };
        arguments.extend(value.to_le_bytes());
    }
    write(scene, base + ARGUMENTS, &arguments);
    let length = usize::from(input.u8());
    write(scene, base + HANDLER, input.bytes(length));
    let preamble: Vec<u8> = PREAMBLE.iter().flat_map(|w| w.to_le_bytes()).collect();
    write(scene, base + CODE, &preamble);
}

fn packet(base: u64, input: &mut Input<'_>, flags: u8) -> [u32; 16] {
    let items = 1 + u32::from(input.u8()) % 256;
    let groups = 1 + u32::from((flags >> 1) & 3);
    let mut words = [0; 16];
    words[0] = 2 | (1 << 8) | (1 << 16);
    words[1] = items | (1 << 16);
    words[2] = 1;
    words[3] = items * groups;
    words[4] = 1;
    words[5] = 1;
    words[7] = u32::from(input.u8()) * 64;
    [words[8], words[9]] = halves(USER + base + DESCRIPTOR);
    [words[10], words[11]] = halves(USER + base + ARGUMENTS);
    [words[14], words[15]] = halves(USER + base + SIGNAL);
    words
}
