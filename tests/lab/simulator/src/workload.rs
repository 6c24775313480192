// SPDX-License-Identifier: GPL-2.0-only

//! Who submits what, and when: the shapes of GPreempt's evaluation.

mod source;

use crate::gpu::{Gpu, Nanos};
use crate::kernel::Program;
use crate::services::{alone, Model};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use std::collections::BTreeMap;

pub use source::Source;

pub const SECOND: Nanos = 1_000_000_000;

/// Priority of the urgent and of the best-effort clients: KFD's high and low.
pub const URGENT: u8 = 11;
pub const BEST_EFFORT: u8 = 0;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Arrivals {
    Periodic {
        hertz: f64,
    },
    Poisson {
        hertz: f64,
    },
    /// Gaps of Lomax's distribution with `HEAVY_TAIL`: their mean is that of
    /// `hertz`, but most are far shorter, a few far longer.
    HeavyTailed {
        hertz: f64,
    },
    /// The next request when the last one is done.
    Continuous,
    /// The next request when the last one is done and the host has worked on what it
    /// brought, for one of these pauses.
    Loop {
        pauses: &'static [Pause],
    },
    /// Poisson at `hertz` in bursts of exponential length, nothing between.
    Bursts {
        hertz: f64,
        burst: Nanos,
        pause: Nanos,
    },
}

/// How long a host works between two requests: between `least` and `most`, as often as
/// its weight says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pause {
    pub weight: u32,
    pub least: Nanos,
    pub most: Nanos,
}

/// The shape of heavy-tailed gaps: below 2, so that their variance is infinite, and
/// above 1, so that their mean is not.
const HEAVY_TAIL: f64 = 1.5;

impl Arrivals {
    /// Requests a second in the long run; none where they follow each other.
    pub fn mean_hertz(&self) -> Option<f64> {
        match *self {
            Self::Periodic { hertz } | Self::Poisson { hertz } | Self::HeavyTailed { hertz } => {
                Some(hertz)
            }
            Self::Continuous | Self::Loop { .. } => None,
            Self::Bursts {
                hertz,
                burst,
                pause,
            } => Some(hertz * burst as f64 / (burst + pause) as f64),
        }
    }
}

/// What a client is to the one who judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Role {
    /// Its latency is the result. Its requests come whether or not the last is done.
    Urgent,
    /// A rule puts it between the others. Its requests come as urgent ones do.
    Middle,
    /// It takes what is left: one request at a time, and one tick that it remembers.
    Lower,
}

#[derive(Clone, Debug, Serialize)]
pub struct Client {
    pub name: String,
    pub model: Model,
    pub priority: u8,
    pub role: Role,
    pub arrivals: Arrivals,
    /// Host work between the arrival of a request and its doorbell.
    pub preparation: Nanos,
    /// Which random numbers are its own: the same beside other clients.
    pub stream: u64,
    /// What its requests launch, where that is not what its model does: another program
    /// serves them in its own way.
    #[serde(skip)]
    pub instead: Option<Vec<Program>>,
}

impl Client {
    /// A client that is urgent if its priority is, and prepares nothing.
    pub fn new(name: impl Into<String>, model: Model, priority: u8, arrivals: Arrivals) -> Self {
        Self {
            name: name.into(),
            model,
            priority,
            role: if priority >= URGENT {
                Role::Urgent
            } else {
                Role::Lower
            },
            arrivals,
            preparation: 0,
            stream: 0,
            instead: None,
        }
    }

    /// What its requests launch: one of these programs each.
    pub fn programs(&self, gpu: &Gpu) -> Vec<Program> {
        let instead = self.instead.clone();
        instead.unwrap_or_else(|| self.model.programs(gpu))
    }

    pub fn prepared_in(self, preparation: Nanos) -> Self {
        Self {
            preparation,
            ..self
        }
    }

    pub fn with_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    pub fn urgent(&self) -> bool {
        self.role == Role::Urgent
    }

    /// Whether an operator's rule gives it its priority; another one claims it.
    pub fn ruled(&self) -> bool {
        self.role != Role::Lower
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    pub name: String,
    pub clients: Vec<Client>,
}

impl Workload {
    /// A workload of these clients, each with random numbers of its own.
    pub fn new(name: impl Into<String>, clients: Vec<Client>) -> Self {
        let numbered = clients.into_iter().zip(1..);
        Self {
            name: name.into(),
            clients: numbered
                .map(|(client, stream)| Client { stream, ..client })
                .collect(),
        }
    }

    /// The urgent clients, all together, without the best-effort ones.
    pub fn alone(&self) -> Self {
        Self {
            name: format!("{} alone", self.name),
            clients: self
                .clients
                .iter()
                .filter(|c| c.urgent())
                .cloned()
                .collect(),
        }
    }

    /// The least number of urgent requests whose p99 is worth a name: three of
    /// them may be later.
    pub const LEAST_REQUESTS: f64 = 300.0;

    /// How long a run has to be for that many urgent requests.
    pub fn long_enough(&self) -> Nanos {
        self.long_enough_for(Self::LEAST_REQUESTS)
    }

    /// The same for another number; a tenth longer, as arrivals are random.
    pub fn long_enough_for(&self, requests: f64) -> Nanos {
        let urgent = self.clients.iter().filter(|client| client.urgent());
        let hertz: f64 = urgent.filter_map(|c| c.arrivals.mean_hertz()).sum();
        if hertz == 0.0 {
            return 0;
        }
        (1.1 * requests / hertz * SECOND as f64).round() as Nanos
    }

    pub fn names() -> &'static [&'static str] {
        &[
            "A", "B", "C", "D", "E", "REAL", "Y", "Z", "L", "MIX", "TOKEN",
        ]
    }

    /// GPreempt's configurations by name, and what they lack: L has long kernels,
    /// MIX ten clients whose requests come in clusters of any length, and TOKEN
    /// decodes tokens, in kernels that are short and many, beside training.
    pub fn by_name(name: &str) -> Option<Self> {
        use Model::*;
        const FIVE: [Model; 5] = [Resnet152, Densenet, Vgg, Inception, Bert];
        let periodic = |hertz| Arrivals::Periodic { hertz };
        let poisson = |hertz| Arrivals::Poisson { hertz };
        let mut clients = Vec::new();
        let mut add = |models: &[Model], urgent: bool, arrivals: Arrivals| {
            for &model in models {
                let (suffix, priority) = if urgent {
                    ("rt", URGENT)
                } else {
                    ("be", BEST_EFFORT)
                };
                let name = format!("{}_{suffix}", model.name());
                let client = Client::new(name, model, priority, arrivals.clone());
                clients.push(client.prepared_in(200_000));
            }
        };
        match name {
            "A" => {
                add(&[Vgg], true, periodic(100.0));
                add(&[Resnet152], false, periodic(100.0));
            }
            "B" => {
                // Faster, it would ask for more than one die can do.
                add(&[Vgg], true, periodic(180.0));
                add(&[Resnet152], false, periodic(180.0));
            }
            "C" => {
                add(&[Vgg], true, periodic(100.0));
                add(&FIVE, false, periodic(100.0));
            }
            "D" => {
                add(&FIVE, true, periodic(20.0));
                add(&FIVE, false, periodic(100.0));
            }
            "E" => {
                add(&FIVE, true, poisson(20.0));
                add(&FIVE, false, poisson(100.0));
            }
            "REAL" => {
                let bursts = Arrivals::Bursts {
                    hertz: 60.0,
                    burst: 100_000_000,
                    pause: 300_000_000,
                };
                add(&FIVE, true, bursts);
                add(&FIVE, false, periodic(100.0));
            }
            "Y" => {
                add(&[Vgg], true, periodic(100.0));
                add(&[Miniweather], false, periodic(150.0));
            }
            "Z" => {
                add(&[Vgg], true, periodic(100.0));
                add(&[Bfs, Sssp, Pagerank, Cc], false, periodic(100.0));
            }
            "L" => {
                add(&[Vgg], true, periodic(20.0));
                add(&[Longkernel], false, Arrivals::Continuous);
            }
            "MIX" => {
                add(&FIVE, true, Arrivals::HeavyTailed { hertz: 10.0 });
                add(&FIVE, false, Arrivals::HeavyTailed { hertz: 50.0 });
            }
            "TOKEN" => {
                add(&[Token], true, periodic(50.0));
                add(&[Training], false, Arrivals::Continuous);
            }
            _ => {
                let count = name.strip_suffix(" queues")?.parse().ok()?;
                return (1..=MANY).contains(&count).then(|| Self::many(count));
            }
        }
        Some(Self::new(name, clients))
    }

    /// Micro-benchmark 5.3: A with another preparation time.
    pub fn preparation(preparation: Nanos) -> Self {
        let mut workload = Self::by_name("A").expect("A exists");
        workload.name = format!("A, {} us preparation", preparation / 1_000);
        for client in &mut workload.clients {
            client.preparation = preparation;
        }
        workload
    }

    /// Micro-benchmark 3.2.2: A at another rate, against a client that always
    /// has work.
    pub fn rate(hertz: f64) -> Self {
        let mut workload = Self::by_name("A").expect("A exists");
        workload.name = format!("A at {hertz} Hz");
        workload.clients[0].arrivals = Arrivals::Periodic { hertz };
        workload.clients[1].arrivals = Arrivals::Continuous;
        workload
    }

    /// Many queues with small requests: one urgent in each ten.
    pub fn many(queues: usize) -> Self {
        let clients = (0..queues)
            .map(|i| {
                let priority = if i % 10 == 0 { URGENT } else { BEST_EFFORT };
                let hertz = 20_000.0 / queues as f64;
                let arrivals = Arrivals::Poisson { hertz };
                Client::new(format!("small{i}"), Model::Small, priority, arrivals)
            })
            .collect();
        Self::new(format!("{queues} queues"), clients)
    }
}

/// The most queues that a workload of many has.
const MANY: usize = 1_000;

/// Start of each client: those of one rate begin one after another, each after
/// the time that its predecessors take alone (as GPreempt's load generator
/// does it), and each rate from a random point of its period.
pub fn phases(workload: &Workload, gpu: &Gpu, random: &mut ChaCha8Rng) -> Vec<Nanos> {
    let mut delays: BTreeMap<u64, Nanos> = BTreeMap::new();
    workload
        .clients
        .iter()
        .map(|client| match client.arrivals {
            Arrivals::Periodic { hertz } => {
                let period = SECOND as f64 / hertz;
                let delay = delays
                    .entry(hertz.to_bits())
                    .or_insert_with(|| random.random_range(0..period as Nanos));
                let phase = *delay;
                *delay += alone(gpu, &client.model.program(gpu)) + client.preparation;
                phase
            }
            _ => 0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_run_that_is_long_enough_has_its_requests() {
        let seconds = |name: &str| {
            let workload = Workload::by_name(name).unwrap();
            workload.long_enough() as f64 / SECOND as f64
        };
        assert_eq!(seconds("A"), 3.3);
        assert_eq!(seconds("L"), 16.5);
        // Five clients, each at 60 Hz for a quarter of the time.
        assert_eq!(seconds("REAL"), 4.4);
    }

    #[test]
    fn alone_keeps_the_urgent_clients_only() {
        let d = Workload::by_name("D").unwrap();
        assert_eq!(d.clients.len(), 10);
        let alone = d.alone();
        assert_eq!(alone.clients.len(), 5);
        assert!(alone.clients.iter().all(Client::urgent));
    }

    #[test]
    fn every_name_has_a_workload() {
        for name in Workload::names() {
            assert!(Workload::by_name(name).is_some(), "{name}");
        }
        assert!(Workload::by_name("Q").is_none());
    }

    #[test]
    fn clients_of_one_rate_start_one_after_another() {
        let gpu = Gpu::mi300x_cpx();
        let workload = Workload::by_name("A").unwrap();
        let starts = phases(&workload, &gpu, &mut ChaCha8Rng::seed_from_u64(1));
        let vgg = alone(&gpu, &Model::Vgg.program(&gpu));
        assert_eq!(starts[1] - starts[0], vgg + 200_000);
    }
}
