// SPDX-License-Identifier: GPL-2.0-only

//! The loads that policies are judged with: GPreempt's, those that an earlier policy of
//! ours failed on, those that differ from both, and those of tenants that mean harm.

use crate::services::Model;
use crate::shape::{Grid, Shape};
use crate::workload::{Arrivals, Client, Pause, Role, Workload, BEST_EFFORT, URGENT};

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;

/// Levels between the urgent clients of some loads and their lower ones.
const NORMAL: u8 = 7;
const MIDDLE: u8 = 9;

/// What a tenant that means harm claims.
const HIGHEST: u8 = 15;

/// One kernel's grid.
const QUARTER: Grid = Grid::Quarters(1);
const HALF: Grid = Grid::Quarters(2);
const ALL: Grid = Grid::Quarters(4);
const TWICE: Grid = Grid::Quarters(8);

/// The loads that a policy which was good on GPreempt's failed on.
pub const FAILED: [&str; 6] = ["H1", "H5", "H9", "H14", "H17", "H19"];
/// Loads that differ from all others, in what docs/simulation says of each.
pub const OTHERS: [&str; 5] = ["N1", "N2", "N3", "N4", "N5"];

/// Loads in which tenants without a rule mean harm.
pub const TENANTS: [&str; 3] = ["T1", "T2", "T3"];

/// All loads that policies are judged with.
pub fn names() -> Vec<&'static str> {
    let named = Workload::names().iter();
    let others = FAILED.iter().chain(&OTHERS).chain(&TENANTS);
    named.chain(others).copied().collect()
}

/// Any load: one of `names`, or one of the simulator's series.
pub fn by_name(name: &str) -> Option<Workload> {
    let clients = match name {
        "H1" => h1(),
        "H5" => h5(),
        "H9" => h9(),
        "H14" => h14(),
        "H17" => h17(),
        "H19" => h19(),
        "N1" => n1(),
        "N2" => n2(),
        "N3" => n3(),
        "N4" => n4(),
        "N5" => n5(),
        "T1" => t1(),
        "T2" => t2(),
        "T3" => t3(),
        _ => return Workload::by_name(name),
    };
    Some(Workload::new(name, clients))
}

fn urgent(shape: Shape, arrivals: Arrivals) -> Client {
    Client::new("urgent", Model::Shape(shape), URGENT, arrivals)
}

/// A client that always has work.
fn lower(name: &str, shape: Shape) -> Client {
    let model = Model::Shape(shape);
    Client::new(name, model, BEST_EFFORT, Arrivals::Continuous)
}

/// As many clients that always have work.
fn tenants(count: usize, shape: Shape) -> impl Iterator<Item = Client> {
    (0..count).map(move |index| lower(&format!("tenant{index}"), shape))
}

fn periodic(hertz: f64) -> Arrivals {
    Arrivals::Periodic { hertz }
}

fn poisson(hertz: f64) -> Arrivals {
    Arrivals::Poisson { hertz }
}

/// Tokens in a loop with the host, over persistent kernels.
fn h1() -> Vec<Client> {
    const HOST: [Pause; 1] = [Pause {
        weight: 1,
        least: 100 * MICRO,
        most: 500 * MICRO,
    }];
    let token = Shape::between(32, 20 * MICRO, 60 * MICRO, QUARTER);
    let persistent = Shape::between(1, 5 * MILLI, 20 * MILLI, ALL);
    vec![
        urgent(token, Arrivals::Loop { pauses: &HOST }),
        lower("persistent", persistent),
    ]
}

/// A few workgroups beside a kernel that never ends.
fn h5() -> Vec<Client> {
    let few = Shape::new(1, 100 * MICRO, Grid::Workgroups(4));
    vec![
        urgent(few, poisson(200.0)),
        lower("endless", Shape::endless()),
    ]
}

/// Short requests over kernels of 10 ms.
fn h9() -> Vec<Client> {
    let short = Shape::new(1, 100 * MICRO, QUARTER);
    vec![
        urgent(short, poisson(100.0)),
        lower("long", Shape::new(1, 10 * MILLI, ALL)),
    ]
}

/// Requests of 4 ms over long kernels, beside a process between them that launches often
/// and briefly.
fn h14() -> Vec<Client> {
    let brief = Model::Shape(Shape::new(1, 10 * MICRO, QUARTER));
    let long = Arrivals::Continuous;
    vec![
        Client::new("urgent", Model::Vgg, URGENT, periodic(50.0)),
        Client::new("brief", brief, NORMAL, periodic(110.0)),
        Client::new("long", Model::Longkernel, BEST_EFFORT, long),
    ]
}

/// More requests a second than a ceiling of stops allows.
fn h17() -> Vec<Client> {
    let short = Shape::new(1, 200 * MICRO, QUARTER);
    vec![
        urgent(short, periodic(700.0)),
        lower("long", Shape::new(1, 10 * MILLI, ALL)),
    ]
}

/// A grid that gets the units one by one, as the workgroups of six tenants end.
fn h19() -> Vec<Client> {
    let uneven = Shape::between(1, 2 * MILLI, 6 * MILLI, TWICE).with_spread(50);
    let mut clients = vec![urgent(Shape::new(1, MILLI, ALL), poisson(60.0))];
    clients.extend(tenants(6, uneven));
    clients
}

/// Three levels: one that a rule puts in the middle stops others and is stopped itself.
fn n1() -> Vec<Client> {
    let two = Shape::new(2, 300 * MICRO, HALF);
    let four = Model::Shape(Shape::new(4, MILLI, ALL));
    let middle = Client::new("middle", four, MIDDLE, poisson(40.0));
    let mut clients = vec![
        Client {
            priority: 13,
            ..urgent(two, poisson(100.0))
        },
        middle.with_role(Role::Middle),
    ];
    clients.extend(tenants(2, Shape::new(1, 8 * MILLI, ALL)));
    clients
}

/// Many small queues, several times as many as the hardware holds.
fn n2() -> Vec<Client> {
    let small = Shape::between(1, 30 * MICRO, 300 * MICRO, Grid::Workgroups(8));
    let many = (0..160).map(|index| {
        let name = format!("small{index}");
        Client::new(name, Model::Shape(small), BEST_EFFORT, poisson(40.0))
    });
    let mut clients = vec![urgent(Shape::new(1, 300 * MICRO, HALF), poisson(150.0))];
    clients.extend(many);
    clients
}

/// A request is a loop of single kernels: most pauses are shorter than any transaction,
/// and every 32nd is longer than many.
fn n3() -> Vec<Client> {
    const HOST: [Pause; 2] = [
        Pause {
            weight: 31,
            least: 5 * MICRO,
            most: 30 * MICRO,
        },
        Pause {
            weight: 1,
            least: 8 * MILLI,
            most: 20 * MILLI,
        },
    ];
    let kernel = Shape::new(1, 40 * MICRO, QUARTER);
    vec![
        urgent(kernel, Arrivals::Loop { pauses: &HOST }),
        lower("training", Shape::new(1, 3 * MILLI, ALL)),
    ]
}

/// Lower kernels of 50 us to 20 ms, of which the last says nothing about the next, and
/// requests in clusters of any length.
fn n4() -> Vec<Client> {
    let any = Shape::between(1, 50 * MICRO, 20 * MILLI, ALL);
    let arrivals = Arrivals::HeavyTailed { hertz: 60.0 };
    let mut clients = vec![urgent(Shape::new(2, 500 * MICRO, HALF), arrivals)];
    clients.extend(tenants(3, any));
    clients
}

/// Where it is right never to stop: a heartbeat of a few workgroups beside grids of many
/// rounds, whose workgroups make room all the time.
fn n5() -> Vec<Client> {
    let beat = Shape::new(1, 30 * MICRO, Grid::Workgroups(16));
    let rounds = Shape::new(1, 300 * MICRO, Grid::Quarters(80)).with_spread(40);
    let mut clients = vec![urgent(beat, periodic(1_000.0))];
    clients.extend(tenants(3, rounds));
    clients
}

/// A tenant without a rule that claims the highest priority.
fn claims(name: String, shape: Shape, arrivals: Arrivals) -> Client {
    let model = Model::Shape(shape);
    Client::new(name, model, HIGHEST, arrivals).with_role(Role::Lower)
}

/// H9 beside nine programs, each of which asks for a stop every 2 ms.
fn t1() -> Vec<Client> {
    let brief = Shape::new(1, 10 * MICRO, QUARTER);
    let nine = (0..9).map(|index| claims(format!("claimer{index}"), brief, poisson(500.0)));
    let mut clients = h9();
    clients.extend(nine);
    clients
}

/// H14's client beside a program that always has work for all units.
fn t2() -> Vec<Client> {
    let long = Shape::new(1, 10 * MILLI, ALL);
    vec![
        Client::new("urgent", Model::Vgg, URGENT, periodic(50.0)),
        claims("claimer".into(), long, Arrivals::Continuous),
        lower("long", long),
    ]
}

/// H17 beside bursts of launches that last about as long as a transaction, at which a stop
/// for them is just worth it.
fn t3() -> Vec<Client> {
    let just = Shape::between(1, 50 * MICRO, 400 * MICRO, HALF);
    let bursts = Arrivals::Bursts {
        hertz: 1_500.0,
        burst: 20 * MILLI,
        pause: 20 * MILLI,
    };
    let four = (0..4).map(|index| claims(format!("claimer{index}"), just, bursts.clone()));
    let mut clients = h17();
    clients.extend(four);
    clients
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::{NoPreemption, PipeClasses};
    use crate::gpu::{Gpu, Nanos};
    use crate::services::alone;
    use crate::simulation::{self, RunResult};
    use crate::summary::percentile;
    use crate::workload::SECOND;

    fn load(name: &str) -> Workload {
        by_name(name).unwrap()
    }

    fn time(name: &str, client: usize) -> Nanos {
        let gpu = Gpu::mi300x_spx();
        alone(&gpu, &load(name).clients[client].model.program(&gpu)) / MICRO
    }

    fn run(workload: &Workload, seed: u64) -> RunResult {
        let gpu = Gpu::mi300x_spx();
        simulation::run(&gpu, workload, &mut NoPreemption, seed, 0, SECOND)
    }

    #[test]
    fn every_name_is_a_load_with_one_urgent_client_at_least() {
        let names = names();
        assert_eq!(names.len(), 25);
        for name in names {
            let load = load(name);
            assert_eq!(load.name, name);
            assert!(load.clients.iter().any(Client::urgent), "{name}");
            let mut streams: Vec<u64> = load.clients.iter().map(|c| c.stream).collect();
            streams.dedup();
            assert_eq!(streams.len(), load.clients.len(), "{name}");
        }
        assert!(by_name("H2").is_none());
    }

    #[test]
    fn a_seed_gives_the_same_requests_every_time_and_another_one_others() {
        for name in FAILED.iter().chain(&OTHERS).chain(&TENANTS) {
            let load = load(name);
            let first = run(&load, 1);
            let again = run(&load, 1);
            let other = run(&load, 2);
            let of = |run: &RunResult| run.clients[0].requests.clone();
            assert_eq!(of(&first), of(&again), "{name}");
            assert_ne!(of(&first), of(&other), "{name}");
        }
    }

    /// What makes each of the loads that failed: times, rates, grids.
    #[test]
    fn the_loads_that_failed_have_their_numbers() {
        let hertz = |name: &str| load(name).clients[0].arrivals.mean_hertz();
        // With 5 us for each packet.
        assert!((750..2_100).contains(&time("H1", 0)), "{}", time("H1", 0));
        assert!((5_000..20_010).contains(&time("H1", 1)));
        assert_eq!((time("H5", 0), hertz("H5")), (105, Some(200.0)));
        assert_eq!((time("H9", 0), hertz("H9")), (105, Some(100.0)));
        assert_eq!(time("H9", 1), 10_005);
        assert!((3_700..4_100).contains(&time("H14", 0)));
        assert_eq!((time("H14", 1), hertz("H14")), (15, Some(50.0)));
        let brief = &load("H14").clients[1];
        assert_eq!(brief.arrivals.mean_hertz(), Some(110.0));
        assert!(brief.priority > BEST_EFFORT && brief.priority < URGENT && !brief.ruled());
        assert_eq!((time("H17", 0), hertz("H17")), (205, Some(700.0)));
        assert_eq!((time("H19", 0), hertz("H19")), (1_005, Some(60.0)));
        assert_eq!(load("H19").clients.len(), 7);
    }

    #[test]
    fn a_kernel_that_never_ends_completes_nothing_and_has_the_units() {
        let run = run(&load("H5"), 1);
        assert_eq!(run.clients[1].completed, 0);
        assert_eq!(run.clients[0].completed, 0);
        assert!(run.utilisation > 0.99);
    }

    #[test]
    fn a_loop_waits_for_its_own_request_and_pauses_as_it_says() {
        let run = run(&load("H1").alone(), 1);
        let client = &run.clients[0];
        let each = SECOND / client.completed;
        let mean = client.latencies.iter().sum::<Nanos>() / client.completed;
        // 300 us of the host on average.
        assert!(
            (270..330).contains(&((each - mean) / MICRO)),
            "{each} {mean}"
        );
    }

    #[test]
    fn the_loop_of_single_kernels_has_short_and_long_pauses() {
        let Arrivals::Loop { pauses } = load("N3").clients[0].arrivals else {
            panic!("N3 is a loop");
        };
        assert!(pauses[0].most < 59 * MICRO && pauses[1].least > 5 * MILLI);
        assert_eq!(pauses[0].weight, 31 * pauses[1].weight);
    }

    #[test]
    fn the_three_levels_are_three_and_the_middle_one_has_a_rule() {
        let levels: Vec<(u8, bool)> = load("N1")
            .clients
            .iter()
            .map(|client| (client.priority, client.ruled()))
            .collect();
        assert_eq!(levels, [(13, true), (9, true), (0, false), (0, false)]);
        // The middle one does not wait for itself, so that it falls behind.
        let run = run(&load("N1"), 1);
        let worst = run.clients[1].latencies.iter().max();
        assert!(worst > Some(&(20 * MILLI)), "{worst:?}");
    }

    #[test]
    fn tenants_that_mean_harm_claim_more_than_the_urgent_client_has_and_have_no_rule() {
        for name in TENANTS {
            let load = load(name);
            let claim = |one: &Client| !one.ruled() && one.priority > load.clients[0].priority;
            assert!(load.clients[0].ruled(), "{name}");
            assert!(load.clients.iter().any(claim), "{name}");
        }
    }

    #[test]
    fn many_queues_are_more_than_the_hardware_holds() {
        let load = load("N2");
        assert!(load.clients.len() > 6 * Gpu::mi300x_spx().hqds);
        assert!(run(&load, 1).slice_switches > 100);
    }

    #[test]
    fn lengths_of_three_orders_are_among_the_lower_kernels() {
        let gpu = Gpu::mi300x_spx();
        let programs = load("N4").clients[1].model.programs(&gpu);
        let times: Vec<Nanos> = programs.iter().map(|program| program[0].time).collect();
        assert!(times.iter().any(|&time| time < 150 * MICRO), "{times:?}");
        assert!(times.iter().any(|&time| time > 10 * MILLI), "{times:?}");
    }

    /// In H19 the room for a request comes bit by bit, and in N5 at once.
    #[test]
    fn workgroups_that_end_one_by_one_make_room() {
        let p99 = |name: &str| {
            let gpu = Gpu::mi300x_spx();
            let run = simulation::run(&gpu, &load(name), &mut PipeClasses, 1, 0, SECOND);
            let mut latencies = run.clients[0].latencies.clone();
            latencies.sort_unstable();
            percentile(&latencies, 99.0) / MICRO
        };
        // 30 us of its own, and less than a transaction on top of it.
        assert!(p99("N5") < 59 + 35, "{}", p99("N5"));
        assert!(p99("H19") > 3_000, "{}", p99("H19"));
    }
}
