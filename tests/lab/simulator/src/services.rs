// SPDX-License-Identifier: GPL-2.0-only

//! The one table of service times: what a request of each model launches.
//!
//! No per-kernel times of these models on an MI300X are published, so they are
//! derived from the layers of the published architectures (fp32, batch 1 for
//! each XCC, as GPreempt runs them) and the peak rates of the chip:
//!
//! - A convolution or matrix product is one kernel of 64 x 64 output tiles,
//!   256 work-items each, and its time is its FLOPs over the peak of the
//!   compute units (256 FLOP a clock at 2.1 GHz) times `EFFICIENCY`.
//! - A matrix-vector product, a stencil or a graph sweep is bound by memory:
//!   its bytes over the node's bandwidth times `MEMORY_EFFICIENCY` (for the
//!   irregular accesses of a graph `IRREGULAR_EFFICIENCY`).
//! - Element-wise layers are fused into the kernel before them.
//!
//! `EFFICIENCY` is an assumption and a generous one: TVM's kernels reach 31 %
//! (BERT) and 10 % (Inception) of an MI50's peak in the profiles published with
//! REEF (reef-artifacts, resource/*/*.profile.json).  Short service times make
//! the fixed cost of a preemption weigh more, so the choice favours nobody who
//! preempts.  One 256-item workgroup alone gets `SOLO_DEMAND` of its compute
//! unit, four share it: that ratio is what the same profiles measured for the
//! large convolutions (latency at full occupancy over occupancy times latency
//! of one workgroup: 0.55 to 0.61).

use crate::gpu::{Gpu, Nanos, FULL_DEMAND, SLOTS_PER_CU, STATE_BYTES_PER_CU};
use crate::kernel::{Kernel, Program};
use crate::shape::Shape;
use serde::Serialize;

const EFFICIENCY: f64 = 0.5;
const MEMORY_EFFICIENCY: f64 = 0.8;
const IRREGULAR_EFFICIENCY: f64 = 0.3;
const SOLO_DEMAND: f64 = 0.57;
/// Most rounds of a kernel bound by memory: a simulated workgroup stands for as
/// many consecutive small ones as it takes.
const MEMORY_ROUNDS: u64 = 64;
const TILE: u64 = 64;
const FLOAT: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    Vgg,
    Resnet152,
    Densenet,
    Inception,
    Bert,
    Miniweather,
    Bfs,
    Sssp,
    Pagerank,
    Cc,
    /// A batch job whose workgroups run for 10 ms and fill the node twice
    /// over: the inversion that no dispatch order can end.
    Longkernel,
    /// One token of a language model: 24 kernels of 60 us, a quarter of the node
    /// each, since a single token is bound by latency.
    Token,
    /// Four training kernels that fill the node for 5 ms each.
    Training,
    /// A single small kernel, for closed forms and large numbers of queues.
    Small,
    /// Kernels of any shape, for loads that a policy was not chosen with.
    Shape(Shape),
}

impl Model {
    pub const ALL: [Self; 14] = [
        Self::Vgg,
        Self::Resnet152,
        Self::Densenet,
        Self::Inception,
        Self::Bert,
        Self::Miniweather,
        Self::Bfs,
        Self::Sssp,
        Self::Pagerank,
        Self::Cc,
        Self::Longkernel,
        Self::Token,
        Self::Training,
        Self::Small,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Vgg => "vgg",
            Self::Resnet152 => "resnet152",
            Self::Densenet => "densenet",
            Self::Inception => "inception",
            Self::Bert => "bert",
            Self::Miniweather => "miniweather",
            Self::Bfs => "bfs",
            Self::Sssp => "sssp",
            Self::Pagerank => "pagerank",
            Self::Cc => "cc",
            Self::Longkernel => "longkernel",
            Self::Token => "token",
            Self::Training => "training",
            Self::Small => "small",
            Self::Shape(_) => "shape",
        }
    }

    /// Where the shape of its kernels is from.
    pub fn source(self) -> &'static str {
        match self {
            Self::Vgg => "VGG-16, 224x224: Simonyan and Zisserman 2015, table 1 D",
            Self::Resnet152 => "ResNet-152, 224x224: He et al. 2016, table 1",
            Self::Densenet => "DenseNet-121, 224x224: Huang et al. 2017, table 1",
            Self::Inception => "Inception-v3, 299x299: Szegedy et al. 2016, table 1",
            Self::Bert => "BERT base, 128 tokens: Devlin et al. 2019",
            Self::Miniweather => {
                "one time step, 3200x1600 cells, 4 fields: miniWeather as in GPreempt"
            }
            Self::Bfs | Self::Sssp | Self::Pagerank | Self::Cc => {
                "EMOGI kernels as in GPreempt; graph assumed: 2^20 vertices, 2^24 edges of 8 bytes"
            }
            Self::Longkernel => "assumption: 10 ms workgroups",
            Self::Token => "assumption: 24 kernels of 60 us on a quarter of the node",
            Self::Training => "assumption: 4 kernels of 5 ms on all of the node",
            Self::Small => "synthetic: 100 us on a quarter of the node",
            Self::Shape(_) => "synthetic",
        }
    }

    /// Kernels that may be run again from their start after a reset.  Kernels
    /// that update their state in place may not.
    pub fn idempotent(self) -> bool {
        !matches!(
            self,
            Self::Miniweather | Self::Bfs | Self::Sssp | Self::Pagerank | Self::Cc | Self::Training
        )
    }

    /// What its requests launch: one of these programs each.
    pub fn programs(self, gpu: &Gpu) -> Vec<Program> {
        match self {
            Self::Shape(shape) => shape.programs(gpu),
            _ => vec![self.program(gpu)],
        }
    }

    pub fn program(self, gpu: &Gpu) -> Program {
        let mut layers = Layers::new(gpu);
        match self {
            Self::Vgg => layers.vgg16(),
            Self::Resnet152 => layers.resnet152(),
            Self::Densenet => layers.densenet121(),
            Self::Inception => layers.inception_v3(),
            Self::Bert => layers.bert_base(),
            Self::Miniweather => layers.miniweather(),
            Self::Bfs => layers.sweeps(8, 1.0 / 8.0),
            Self::Sssp => layers.sweeps(15, 0.5),
            Self::Pagerank => layers.sweeps(20, 1.0),
            Self::Cc => layers.sweeps(6, 1.0),
            Self::Longkernel => {
                let workgroups = (gpu.compute_units * 8) as u32;
                layers.fixed(workgroups, 4, 1.0 / 4.0, 10_000_000);
            }
            Self::Token => {
                let workgroups = gpu.compute_units as u32;
                for _ in 0..24 {
                    layers.fixed(workgroups, 4, 1.0 / 4.0, 60_000);
                }
            }
            Self::Training => {
                let workgroups = (gpu.compute_units * 4) as u32;
                for _ in 0..4 {
                    layers.fixed(workgroups, 4, 1.0 / 4.0, 5_000_000);
                }
            }
            Self::Small => {
                let workgroups = gpu.compute_units as u32;
                layers.fixed(workgroups, 4, 1.0 / 4.0, 100_000);
            }
            Self::Shape(shape) => return shape.programs(gpu).swap_remove(0),
        }
        layers.kernels.into()
    }
}

struct Layers<'a> {
    gpu: &'a Gpu,
    batch: u64,
    kernels: Vec<Kernel>,
}

impl<'a> Layers<'a> {
    fn new(gpu: &'a Gpu) -> Self {
        Self {
            gpu,
            batch: gpu.xccs(),
            kernels: Vec::new(),
        }
    }

    fn push(&mut self, workgroups: u64, per_cu: u64, demand: f64, time: f64, waves: u32) {
        let slots = SLOTS_PER_CU / per_cu;
        let time = time.round().max(1.0) as Nanos;
        self.kernels.push(Kernel {
            workgroups: workgroups as u32,
            slots,
            demand: (demand * FULL_DEMAND as f64) as u64,
            time,
            spread: 0,
            grain: Kernel::grain_for(workgroups as u32, slots, time, self.gpu.slots()),
            waves,
            state_bytes: STATE_BYTES_PER_CU / per_cu,
        });
    }

    fn fixed(&mut self, workgroups: u32, per_cu: u64, demand: f64, time: Nanos) {
        self.push(u64::from(workgroups), per_cu, demand, time as f64, 4);
    }

    /// rows x columns x depth matrix product, `rows` of each sample.
    fn product(&mut self, rows: u64, columns: u64, depth: u64) {
        let workgroups = (rows * self.batch).div_ceil(TILE) * columns.div_ceil(TILE);
        let flop = (2 * TILE * TILE * depth) as f64;
        let flop_per_ns =
            (self.gpu.flop_per_clock * self.gpu.clock_mhz) as f64 / 1_000.0 * EFFICIENCY;
        self.push(
            workgroups,
            4,
            SOLO_DEMAND,
            flop / flop_per_ns / SOLO_DEMAND,
            4,
        );
    }

    /// Convolution with `side` x `side` outputs and a kernel of `taps` values.
    fn conv(&mut self, side: u64, inputs: u64, outputs: u64, taps: u64) {
        self.product(side * side, outputs, inputs * taps);
    }

    /// A kernel bound by memory that moves `bytes` in all.
    fn memory(&mut self, bytes: f64, workgroups: u64, per_cu: u64, efficiency: f64, waves: u32) {
        let total = bytes / (self.gpu.bytes_per_us as f64 * efficiency) * 1_000.0;
        let resident = self.gpu.compute_units * per_cu;
        let workgroups = workgroups.min(MEMORY_ROUNDS * resident);
        let share = (resident as f64 / workgroups as f64).min(1.0);
        self.push(
            workgroups,
            per_cu,
            1.0 / per_cu as f64,
            total * share,
            waves,
        );
    }

    /// A fully connected layer of one sample: its weights are read once.
    fn dense(&mut self, inputs: u64, outputs: u64) {
        let bytes = (inputs * outputs * FLOAT) as f64;
        self.memory(bytes, outputs.div_ceil(16), 8, MEMORY_EFFICIENCY, 4);
    }

    fn vgg16(&mut self) {
        let stages: [(u64, &[(u64, u64)]); 5] = [
            (224, &[(3, 64), (64, 64)]),
            (112, &[(64, 128), (128, 128)]),
            (56, &[(128, 256), (256, 256), (256, 256)]),
            (28, &[(256, 512), (512, 512), (512, 512)]),
            (14, &[(512, 512), (512, 512), (512, 512)]),
        ];
        for (side, convolutions) in stages {
            for &(inputs, outputs) in convolutions {
                self.conv(side, inputs, outputs, 9);
            }
        }
        self.dense(25_088, 4_096);
        self.dense(4_096, 4_096);
        self.dense(4_096, 1_000);
    }

    fn resnet152(&mut self) {
        self.conv(112, 3, 64, 49);
        let mut inputs = 64;
        for (side, width, blocks) in [(56, 64, 3), (28, 128, 8), (14, 256, 36), (7, 512, 3)] {
            for block in 0..blocks {
                self.conv(side, inputs, width, 1);
                self.conv(side, width, width, 9);
                self.conv(side, width, 4 * width, 1);
                if block == 0 {
                    self.conv(side, inputs, 4 * width, 1);
                }
                inputs = 4 * width;
            }
        }
        self.dense(2_048, 1_000);
    }

    fn densenet121(&mut self) {
        self.conv(112, 3, 64, 49);
        let mut channels = 64;
        for (side, layers) in [(56, 6), (28, 12), (14, 24), (7, 16)] {
            for _ in 0..layers {
                self.conv(side, channels, 128, 1);
                self.conv(side, 128, 32, 9);
                channels += 32;
            }
            if side > 7 {
                channels /= 2;
                self.conv(side, 2 * channels, channels, 1);
            }
        }
        self.dense(1_024, 1_000);
    }

    fn inception_v3(&mut self) {
        for (side, inputs, outputs, taps) in [
            (149, 3, 32, 9),
            (147, 32, 32, 9),
            (147, 32, 64, 9),
            (73, 64, 80, 1),
            (71, 80, 192, 9),
        ] {
            self.conv(side, inputs, outputs, taps);
        }
        for (inputs, pool) in [(192, 32), (256, 64), (288, 64)] {
            for (i, o, taps) in [
                (inputs, 64, 1),
                (inputs, 48, 1),
                (48, 64, 25),
                (inputs, 64, 1),
                (64, 96, 9),
                (96, 96, 9),
                (inputs, pool, 1),
            ] {
                self.conv(35, i, o, taps);
            }
        }
        for (side, i, o, taps) in [
            (17, 288, 384, 9),
            (35, 288, 64, 1),
            (35, 64, 96, 9),
            (17, 96, 96, 9),
        ] {
            self.conv(side, i, o, taps);
        }
        for width in [128, 160, 160, 192] {
            for (i, o, taps) in [
                (768, 192, 1),
                (768, width, 1),
                (width, width, 7),
                (width, 192, 7),
                (768, width, 1),
                (width, width, 7),
                (width, width, 7),
                (width, width, 7),
                (width, 192, 7),
                (768, 192, 1),
            ] {
                self.conv(17, i, o, taps);
            }
        }
        for (side, i, o, taps) in [
            (17, 768, 192, 1),
            (8, 192, 320, 9),
            (17, 768, 192, 1),
            (17, 192, 192, 7),
            (17, 192, 192, 7),
            (8, 192, 192, 9),
        ] {
            self.conv(side, i, o, taps);
        }
        for inputs in [1_280, 2_048] {
            for (i, o, taps) in [
                (inputs, 320, 1),
                (inputs, 384, 1),
                (384, 384, 3),
                (384, 384, 3),
                (inputs, 448, 1),
                (448, 384, 9),
                (384, 384, 3),
                (384, 384, 3),
                (inputs, 192, 1),
            ] {
                self.conv(8, i, o, taps);
            }
        }
        self.dense(2_048, 1_000);
    }

    fn bert_base(&mut self) {
        const TOKENS: u64 = 128;
        const HEADS: u64 = 12;
        for _ in 0..12 {
            self.product(TOKENS, 2_304, 768);
            self.product(TOKENS * HEADS, TOKENS, 64);
            self.product(TOKENS * HEADS, 64, TOKENS);
            self.product(TOKENS, 768, 768);
            self.product(TOKENS, 3_072, 768);
            self.product(TOKENS, 768, 3_072);
        }
    }

    fn miniweather(&mut self) {
        let cells = 3_200 * 1_600 * self.batch;
        let field = (cells * 4 * FLOAT) as f64;
        // Three Runge-Kutta stages in each of two directions: fluxes (read the
        // state, write the flux), then the update (read flux and state, write
        // the state).
        for _ in 0..6 {
            self.memory(2.0 * field, cells / 256, 8, MEMORY_EFFICIENCY, 4);
            self.memory(3.0 * field, cells * 4 / 256, 8, MEMORY_EFFICIENCY, 4);
        }
    }

    /// `count` sweeps that each read `share` of the edges.
    fn sweeps(&mut self, count: usize, share: f64) {
        let vertices = (1_u64 << 20) * self.batch;
        let edges = (1_u64 << 24) * self.batch;
        // A wave a vertex, 16 waves a workgroup, 2 workgroups a compute unit.
        for _ in 0..count {
            let bytes = edges as f64 * 8.0 * share + vertices as f64 * 16.0;
            self.memory(bytes, vertices / 16, 2, IRREGULAR_EFFICIENCY, 16);
        }
    }
}

/// Time of one program on an idle node, by running it there.
pub fn alone(gpu: &Gpu, program: &Program) -> Nanos {
    let mut engine = crate::engine::Engine::new(gpu.clone());
    let queue = engine.add_queue(crate::kernel::PipeClass::Low);
    engine.submit(queue, 0, program);
    while engine.busy(queue) {
        let next = engine.next_event().expect("a busy engine has an event");
        engine.advance(next);
    }
    engine.now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gflop(model: Model) -> f64 {
        let gpu = Gpu::mi300x_cpx();
        let rate = (gpu.flop_per_clock * gpu.clock_mhz) as f64 / 1_000.0 * EFFICIENCY;
        model
            .program(&gpu)
            .iter()
            .filter(|k| k.demand == (SOLO_DEMAND * FULL_DEMAND as f64) as u64)
            .map(|k| f64::from(k.workgroups) * k.time as f64 * SOLO_DEMAND * rate / 1e9)
            .sum()
    }

    /// The published operation counts, with the loss of whole tiles on top.
    #[test]
    fn operation_counts_are_those_of_the_papers() {
        for (model, published) in [
            (Model::Vgg, 30.9),
            (Model::Resnet152, 22.6),
            (Model::Densenet, 5.7),
            (Model::Inception, 11.4),
            (Model::Bert, 22.3),
        ] {
            let counted = gflop(model);
            assert!(
                counted > 0.95 * published && counted < 1.75 * published,
                "{}: {counted:.1} GFLOP, published {published}",
                model.name()
            );
        }
    }

    #[test]
    fn kernel_counts_are_those_of_the_architectures() {
        let gpu = Gpu::mi300x_cpx();
        assert_eq!(Model::Vgg.program(&gpu).len(), 16);
        // 1 + 50 blocks of 3 + 4 projections + 1
        assert_eq!(Model::Resnet152.program(&gpu).len(), 156);
        assert_eq!(Model::Densenet.program(&gpu).len(), 121);
        assert_eq!(Model::Inception.program(&gpu).len(), 95);
        assert_eq!(Model::Bert.program(&gpu).len(), 72);
        assert_eq!(Model::Token.program(&gpu).len(), 24);
    }

    #[test]
    fn every_workgroup_fits_a_compute_unit() {
        for gpu in [Gpu::mi300x_cpx(), Gpu::mi300x_spx()] {
            for model in Model::ALL {
                for kernel in model.program(&gpu).iter() {
                    assert!(kernel.slots > 0 && kernel.slots <= SLOTS_PER_CU);
                    assert!(kernel.demand > 0 && kernel.demand <= FULL_DEMAND);
                    let per_cu = (SLOTS_PER_CU / kernel.slots) as u32;
                    assert!(kernel.waves * per_cu <= crate::gpu::WAVES_PER_CU);
                    assert!(kernel.workgroups > 0 && kernel.time > 0);
                }
            }
        }
    }
}
