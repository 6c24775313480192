// SPDX-License-Identifier: GPL-2.0-only
//! PM4 packets by field. A packet type wraps its body, the dwords behind the
//! header; a body that is too short reads as zeros.

/// What stands at the read position of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// One dword to skip.
    Filler,
    Packet {
        opcode: u32,
        body: u32,
    },
    /// Register packets of type 0 with a payload, and type 1.
    Unknown,
}

pub mod opcode {
    pub const NOP: u32 = 0x10;
    pub const DISPATCH_DIRECT: u32 = 0x15;
    pub const PRED_EXEC: u32 = 0x23;
    pub const WRITE_DATA: u32 = 0x37;
    pub const WAIT_REG_MEM: u32 = 0x3c;
    pub const INDIRECT_BUFFER: u32 = 0x3f;
    pub const COPY_DATA: u32 = 0x40;
    pub const EVENT_WRITE: u32 = 0x46;
    pub const RELEASE_MEM: u32 = 0x49;
    pub const ACQUIRE_MEM: u32 = 0x58;
    pub const SET_CONFIG_REG: u32 = 0x68;
    pub const SET_SH_REG: u32 = 0x76;
    pub const SET_QUEUE_REG: u32 = 0x78;
    pub const SET_UCONFIG_REG: u32 = 0x79;
    pub const FRAME_CONTROL: u32 = 0x90;
    pub const SWITCH_BUFFER: u32 = 0x8b;
    pub const PFP_SYNC_ME: u32 = 0x42;
    pub const INVALIDATE_TLBS: u32 = 0x98;
    pub const SET_RESOURCES: u32 = 0xa0;
    pub const MAP_PROCESS: u32 = 0xa1;
    pub const MAP_QUEUES: u32 = 0xa2;
    pub const UNMAP_QUEUES: u32 = 0xa3;
    pub const QUERY_STATUS: u32 = 0xa4;
    pub const RUN_LIST: u32 = 0xa5;
    pub const RUN_CLEANER_SHADER: u32 = 0xd2;
    pub const CLEAR_STATE: u32 = 0x12;
    pub const CONTEXT_CONTROL: u32 = 0x28;
}

pub fn header(word: u32) -> Header {
    match word >> 30 {
        3 => {
            let opcode = (word >> 8) & 0xff;
            let body = ((word >> 16) & 0x3fff) + 1;
            if opcode == opcode::NOP && body == 0x4000 {
                Header::Filler
            } else {
                Header::Packet { opcode, body }
            }
        }
        2 => Header::Filler,
        0 if word == 0 => Header::Filler,
        _ => Header::Unknown,
    }
}

fn word(body: &[u32], index: usize) -> u32 {
    body.get(index).copied().unwrap_or(0)
}

fn wide(body: &[u32], index: usize) -> u64 {
    u64::from(word(body, index)) | (u64::from(word(body, index + 1)) << 32)
}

macro_rules! packets {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $read:expr,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a>(pub &'a [u32]);

        impl $name<'_> {
            $(pub fn $field(self) -> $type {
                let read: fn(&[u32]) -> $type = $read;
                read(self.0)
            })*
        }
    )*};
}

packets! {
    WriteData {
        to_register: bool = |b| (word(b, 0) >> 8) & 0xf == 0,
        same_address: bool = |b| (word(b, 0) >> 16) & 1 != 0,
        register: u32 = |b| word(b, 1) & 0x3ffff,
        address: u64 = |b| wide(b, 1) & !3,
    }

    WaitRegMem {
        function: u32 = |b| word(b, 0) & 7,
        in_memory: bool = |b| (word(b, 0) >> 4) & 1 != 0,
        write_first: bool = |b| (word(b, 0) >> 6) & 3 == 1,
        register: u32 = |b| word(b, 1) & 0x3ffff,
        second_register: u32 = |b| word(b, 2) & 0x3ffff,
        address: u64 = |b| wide(b, 1) & !3,
        reference: u32 = |b| word(b, 3),
        mask: u32 = |b| word(b, 4),
    }

    /// What is behind it is for some dies alone.
    PredExec {
        dwords: u32 = |b| word(b, 0) & 0x3fff,
        dies: u32 = |b| word(b, 0) >> 24,
    }

    IndirectBuffer {
        address: u64 = |b| wide(b, 0) & !3,
        dwords: u32 = |b| word(b, 2) & 0xf_ffff,
        vmid: u32 = |b| (word(b, 2) >> 24) & 0xf,
    }

    CopyData {
        source: u32 = |b| word(b, 0) & 0xf,
        destination: u32 = |b| (word(b, 0) >> 8) & 0xf,
        is_wide: bool = |b| (word(b, 0) >> 16) & 1 != 0,
        source_register: u32 = |b| word(b, 1) & 0x3ffff,
        source_address: u64 = |b| wide(b, 1),
        destination_register: u32 = |b| word(b, 3) & 0x3ffff,
        destination_address: u64 = |b| wide(b, 3),
    }

    ReleaseMem {
        data: u32 = |b| (word(b, 1) >> 29) & 7,
        interrupt: u32 = |b| (word(b, 1) >> 24) & 7,
        address: u64 = |b| wide(b, 2) & !3,
        value: u64 = |b| wide(b, 4),
        context: u32 = |b| word(b, 6),
    }

    EventWrite {
        event: u32 = |b| word(b, 0) & 0x3f,
    }

    SetShaderRegisters {
        first: u32 = |b| word(b, 0) & 0xffff,
    }

    DispatchDirect {
        counts: [u32; 3] = |b| [word(b, 0), word(b, 1), word(b, 2)],
        initiator: u32 = |b| word(b, 3),
        is_whole: bool = |b| b.len() >= 4,
    }

    SetResources {
        vmid_mask: u32 = |b| word(b, 0) & 0xffff,
        unmap_latency: u32 = |b| (word(b, 0) >> 16) & 0xff,
        is_scheduler: bool = |b| (word(b, 0) >> 29) & 7 == 1,
        queue_mask: u64 = |b| wide(b, 1),
    }

    /// The layout of GC 9.4.2 and later ("aldebaran"), 20 dwords.
    MapProcess {
        pasid: u32 = |b| word(b, 0) & 0xffff,
        quantum: u32 = |b| (word(b, 0) >> 25) & 0x7f,
        page_table: u64 = |b| wide(b, 1),
        memory_bases: u32 = |b| word(b, 3),
        memory_config: u32 = |b| word(b, 4),
        trap_handler: u64 = |b| wide(b, 5),
        trap_memory: u64 = |b| wide(b, 7),
    }

    MapQueues {
        extended_engine: u32 = |b| (word(b, 0) >> 2) & 3,
        queue_type: u32 = |b| (word(b, 0) >> 21) & 7,
        engine: u32 = |b| (word(b, 0) >> 26) & 7,
        queue: u32 = |b| (word(b, 0) >> 13) & 7,
        pipe: u32 = |b| (word(b, 0) >> 16) & 3,
        second_me: bool = |b| (word(b, 0) >> 18) & 1 != 0,
        doorbell: u32 = |b| (word(b, 1) >> 2) & 0x3ff_ffff,
        mqd: u64 = |b| wide(b, 2),
        write_address: u64 = |b| wide(b, 4),
    }

    UnmapQueues {
        action: u32 = |b| word(b, 0) & 3,
        filter: u32 = |b| (word(b, 0) >> 4) & 3,
        count: u32 = |b| (word(b, 0) >> 29) & 7,
        pasid: u32 = |b| word(b, 1) & 0xffff,
    }

    InvalidateTlbs {
        pasid: u32 = |b| (word(b, 0) >> 5) & 0xffff,
    }

    QueryStatus {
        address: u64 = |b| wide(b, 2) & !3,
        value: u64 = |b| wide(b, 4),
    }

    RunList {
        address: u64 = |b| wide(b, 0) & !3,
        dwords: u32 = |b| word(b, 2) & 0xf_ffff,
        is_chain: bool = |b| (word(b, 2) >> 20) & 1 != 0,
        processes: u32 = |b| (word(b, 2) >> 24) & 0xf,
    }
}

impl WriteData<'_> {
    pub fn values(&self) -> &[u32] {
        self.0.get(3..).unwrap_or(&[])
    }
}

impl SetShaderRegisters<'_> {
    pub fn values(&self) -> &[u32] {
        self.0.get(1..).unwrap_or(&[])
    }
}

/// EVENT_WRITE: until the dispatches before it are done, nothing behind it is read.
pub const PARTIAL_FLUSH: u32 = 7;

/// What DISPATCH_DIRECT asks for besides its counts (COMPUTE_DISPATCH_INITIATOR).
pub mod initiator {
    pub const SHADER: u32 = 1 << 0;
    pub const PARTIAL_GROUPS: u32 = 1 << 1;
    pub const FROM_ZERO: u32 = 1 << 2;
    pub const ORDERED_APPEND: u32 = 1 << 3;
    pub const COUNTS_ITEMS: u32 = 1 << 5;
}

/// What UNMAP_QUEUES does with waves; every other action saves them.
pub mod unmap_action {
    pub const RESET: u32 = 1;
    pub const PREEMPT_NO_UNMAP: u32 = 3;
}

/// Which queues UNMAP_QUEUES means; every other value is all of them.
pub mod unmap_filter {
    pub const LISTED: u32 = 0;
    pub const PROCESS: u32 = 1;
    pub const NON_STATIC: u32 = 3;
}

impl UnmapQueues<'_> {
    /// The doorbells of the `LISTED` filter, at most four.
    pub fn doorbells(&self) -> Vec<u32> {
        let count = (self.count() as usize).clamp(1, 4);
        (1..=count)
            .map(|index| (word(self.0, index) >> 2) & 0x3ff_ffff)
            .collect()
    }
}

/// Which engine a MAP_QUEUES of the scheduler's runlist means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Compute,
    Sdma(u32),
}

impl MapQueues<'_> {
    pub fn runlist_engine(&self) -> Option<Engine> {
        match (self.extended_engine(), self.engine()) {
            (0, 0) => Some(Engine::Compute),
            (0, engine @ 2..=3) => Some(Engine::Sdma(engine - 2)),
            (1, engine) => Some(Engine::Sdma(engine)),
            (2, engine) => Some(Engine::Sdma(engine + 8)),
            _ => None,
        }
    }

    /// Static queues stay when a runlist is replaced by "all non-static".
    pub fn is_static(&self) -> bool {
        matches!(self.queue_type(), 2 | 3)
    }
}

/// The comparison of WAIT_REG_MEM and of SDMA's POLL_REGMEM.
pub fn compare(function: u32, value: u32, reference: u32) -> bool {
    match function {
        1 => value < reference,
        2 => value <= reference,
        3 => value == reference,
        4 => value != reference,
        5 => value >= reference,
        6 => value > reference,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        assert_eq!(header(0xffff_1000), Header::Filler, "a NOP of one dword");
        assert_eq!(header(0x8000_0000), Header::Filler);
        assert_eq!(header(0), Header::Filler);
        assert_eq!(header(0x0001_1234), Header::Unknown);
        assert_eq!(header(0x4000_0000), Header::Unknown);
        let expected = Header::Packet {
            opcode: opcode::RUN_LIST,
            body: 3,
        };
        assert_eq!(header(0xc002_a500), expected);
    }

    /// The dwords are those that the driver was seen to send.
    #[test]
    fn fields_of_the_drivers_packets() {
        let resources = SetResources(&[0x2028_fff8, 0xfcfc_fcfc, 0]);
        assert_eq!(resources.vmid_mask(), 0xfff8);
        assert_eq!(resources.unmap_latency(), 0x28);
        assert_eq!(resources.queue_mask(), 0xfcfc_fcfc);
        assert!(resources.is_scheduler());

        let sdma = MapQueues(&[0x2800_0010, 0x1200 << 2, 0x1000, 0, 0x2000, 0]);
        assert_eq!(sdma.runlist_engine(), Some(Engine::Sdma(0)));
        assert_eq!(sdma.doorbell(), 0x1200);
        assert_eq!((sdma.mqd(), sdma.write_address()), (0x1000, 0x2000));

        let far = MapQueues(&[0x2000_0000 | (2 << 2) | (3 << 26)]);
        assert_eq!(far.runlist_engine(), Some(Engine::Sdma(11)));
        let odd = MapQueues(&[7 << 26]);
        assert_eq!(odd.runlist_engine(), None);

        let unmap = UnmapQueues(&[0x30, 0, 0, 0, 0]);
        assert_eq!(
            (unmap.action(), unmap.filter()),
            (0, unmap_filter::NON_STATIC)
        );

        let listed = UnmapQueues(&[2 << 29, 5 << 2, 6 << 2]);
        assert_eq!(listed.doorbells(), [5, 6]);
    }

    #[test]
    fn a_short_body_reads_as_zeros() {
        assert_eq!(RunList(&[]).address(), 0);
        assert_eq!(WriteData(&[0]).values(), &[] as &[u32]);
    }

    #[test]
    fn comparisons() {
        let holds = |function| [1, 2, 3].map(|value| compare(function, value, 2));
        assert_eq!(holds(0), [true; 3]);
        assert_eq!(holds(1), [true, false, false]);
        assert_eq!(holds(2), [true, true, false]);
        assert_eq!(holds(3), [false, true, false]);
        assert_eq!(holds(4), [true, false, true]);
        assert_eq!(holds(5), [false, true, true]);
        assert_eq!(holds(6), [false, false, true]);
    }
}
