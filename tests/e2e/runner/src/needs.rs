// SPDX-License-Identifier: GPL-2.0-only
//! What a scenario needs of the guest, its kernel and its GPU.

use vgpu_model::Product;

use crate::cache::Kernel;
use crate::partitions::Partitions;

/// On which guests a scenario makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// `amdgpu.sched_policy`.
    pub sched_policy: u32,
    /// Only on a GPU of one die.
    pub one_die: bool,
    /// Only on one configuration: it tests nothing that depends on the kernel
    /// or on the number of dies.
    pub once: bool,
    /// A small GPU: many queues must fit the guest's memory, or video memory
    /// must fill up.
    pub small: bool,
    /// A GPU of several dies that the driver can divide into partitions.
    pub divisible: bool,
    /// A GPU that nobody has divided, of which one node is expected.
    pub whole: bool,
    /// Room for eight GPUs, where others have it for four.
    pub eight_gpus: bool,
    /// A GPU whose memory is divided into four parts.
    pub divided_memory: bool,
    /// A GPU that is a virtual function.
    pub virtual_function: bool,
    /// Not a virtual function, whose waves cannot be counted, whose queues are always the
    /// firmware's, and which a driver with gpu_recovery=0 does not have reset.
    pub bare_metal: bool,
    /// AQL read pointers that move at completion.
    pub rptr_at_completion: bool,
    /// It leaves the guest in a state that no other scenario can work in. The
    /// next one pays ten seconds for a new guest.
    pub spoils: bool,
    /// A kernel that can let allocations fail.
    pub failing_allocations: bool,
    /// A clock that guest and GPU have for themselves.
    pub own_clock: bool,
    /// One processor, so that such a clock counts the instructions of nobody else.
    pub one_processor: bool,
    /// More than `make test` has time for: it runs where GP_CLIENTS is set, which names
    /// programs to those that have several.
    pub long: bool,
    /// Programs whose kernels a compiler has made for GFX 9.4.3: runtimes take them to no other.
    pub compiled: bool,
    /// The runtime's functions for queues of packets that only drivers write otherwise, which
    /// the runtime that knows GFX 9.5.0 keeps for itself.
    pub thunk: bool,
    /// Another GPU than the one that the suite runs on.
    pub product: Option<Product>,
    /// Functions without which the driver cannot do what it is about.
    pub driver: &'static [&'static str],
    /// Functions with which the driver does something else.
    pub without: &'static [&'static str],
}

impl Needs {
    /// Nothing in particular.
    pub const ANY: Needs = Needs {
        sched_policy: 0,
        one_die: false,
        once: false,
        small: false,
        divisible: false,
        whole: false,
        eight_gpus: false,
        divided_memory: false,
        virtual_function: false,
        bare_metal: false,
        rptr_at_completion: false,
        spoils: false,
        failing_allocations: false,
        own_clock: false,
        one_processor: false,
        long: false,
        compiled: false,
        thunk: false,
        product: None,
        driver: &[],
        without: &[],
    };

    /// Its guests have one die, of which it tests all there is, or with which it is fastest.
    pub const ONE_DIE: Needs = Needs {
        one_die: true,
        ..Needs::ANY
    };

    /// One guest is enough: with one die, since that is the fastest.
    pub const ONCE: Needs = Needs {
        once: true,
        ..Needs::ONE_DIE
    };

    /// What decides whether two scenarios can use the same guest. One that spoils it
    /// would also wait long for what the driver keeps after a reset.
    pub fn guest(&self) -> (u32, [bool; 8], Option<Product>) {
        let rest = [
            self.small,
            self.spoils,
            self.own_clock,
            self.one_processor,
            self.divisible,
            self.eight_gpus,
            self.divided_memory,
            self.virtual_function,
        ];
        (self.sched_policy, rest, self.product)
    }

    /// The same for programs whose kernels a compiler has made for GFX 9.4.3.
    pub const fn compiled(self) -> Needs {
        Needs {
            compiled: true,
            ..self
        }
    }

    /// Why it makes no sense on a GPU, or on a virtual function of it, if it does not.
    pub fn not_of(&self, product: Product, virtual_function: bool) -> Option<String> {
        const COMPILED: u32 = Product::Mi300x.facts().target;
        let facts = product.facts();
        (self.compiled && facts.target != COMPILED)
            .then(|| "its kernels are compiled for gfx942".to_owned())
            .or_else(|| {
                (self.thunk && facts.target != COMPILED)
                    .then(|| "the runtime of that GPU has no hsaKmtCreateQueue".to_owned())
            })
            .or_else(|| {
                let asked = product != Product::default() || virtual_function;
                let of_its_own = self.product.is_some() && asked;
                of_its_own.then(|| "it has a GPU of its own".to_owned())
            })
            .or_else(|| {
                let divided = facts.virtual_device.is_some();
                (self.virtual_function && !divided)
                    .then(|| "that has no virtual functions".to_owned())
            })
            .or_else(|| {
                // Only the host divides it.
                let unfit = self.sched_policy != 0 || self.divisible || self.bare_metal;
                (virtual_function && unfit)
                    .then(|| "a virtual function lacks what it needs".to_owned())
            })
    }

    /// On which of the kernels that have what it takes a GPU is divided for it: on all, or on
    /// the newest.
    pub fn divided_on<'t, Kernel>(&self, able: &'t [Kernel]) -> &'t [Kernel] {
        match self.once {
            true => &able[able.len().saturating_sub(1)..],
            false => able,
        }
    }

    /// Why it makes no sense on a GPU that is divided, if it does not.
    pub fn not_on(&self, partitions: Partitions) -> Option<String> {
        let why = match self {
            _ if partitions == Partitions::Spx => return None,
            Needs { one_die: true, .. } if partitions != Partitions::Cpx => {
                "it wants a node of one die"
            }
            Needs {
                divisible: true, ..
            } => "it divides the GPU itself",
            Needs { whole: true, .. } => "it expects one node of each GPU",
            Needs {
                sched_policy: 2, ..
            } => "it has no scheduler, of which each partition has one",
            Needs {
                virtual_function: true,
                ..
            } => "a virtual function is divided by its host",
            Needs {
                product: Some(_), ..
            } => "it has a GPU of its own",
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// What it needs of a kernel that lacks it, if there is anything.
    pub fn missing_of(&self, kernel: &Kernel) -> Option<String> {
        const FAULTS: &str = "CONFIG_FAILSLAB";
        if self.failing_allocations && !kernel.has(FAULTS) {
            return Some(format!(
                "the kernel has no {FAULTS}; that of scripts/test/debug has"
            ));
        }
        if self.long && std::env::var_os("GP_CLIENTS").is_none() {
            return Some(
                "it takes long, and runs where GP_CLIENTS is set, as with GP_CLIENTS=all"
                    .to_owned(),
            );
        }
        let has = |function: &&&str| kernel.driver_has(function);
        if let Some(function) = self.without.iter().find(has) {
            return Some(format!("its driver has {function}"));
        }
        let lacks = |function: &&&str| !kernel.driver_has(function);
        let function = self.driver.iter().find(lacks)?;
        Some(format!("its driver has no {function}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_virtual_function_lacks_is_not_run_there() {
        let unfit = [
            Needs {
                sched_policy: 2,
                ..Needs::ANY
            },
            Needs {
                divisible: true,
                ..Needs::ANY
            },
            Needs {
                bare_metal: true,
                ..Needs::ANY
            },
            Needs {
                product: Some(Product::Mi350x),
                ..Needs::ANY
            },
        ];
        for needs in unfit {
            assert_eq!(needs.not_of(Product::Mi300x, false), None);
            assert!(needs.not_of(Product::Mi300x, true).is_some(), "{needs:?}");
        }
        assert_eq!(Needs::ANY.not_of(Product::Mi300x, true), None);
    }

    #[test]
    fn a_gpu_is_divided_on_all_kernels_or_on_the_newest() {
        assert_eq!(Needs::ANY.divided_on(&["7.2", "7.3"]), ["7.2", "7.3"]);
        assert_eq!(Needs::ONCE.divided_on(&["7.2", "7.3"]), ["7.3"]);
        assert!(Needs::ONCE.divided_on::<&str>(&[]).is_empty());
    }

    #[test]
    fn what_wants_an_undivided_gpu_is_not_run_on_partitions() {
        let divides = Needs {
            divisible: true,
            ..Needs::ANY
        };
        assert_eq!(divides.not_on(Partitions::Spx), None);
        assert!(divides.not_on(Partitions::Cpx).is_some());
        let whole = Needs {
            whole: true,
            ..Needs::ANY
        };
        assert!(whole.not_on(Partitions::Cpx).is_some());
        // Each partition of CPX has one die.
        for needs in [Needs::ANY, Needs::ONE_DIE, Needs::ONCE] {
            assert_eq!(needs.not_on(Partitions::Cpx), None);
            assert_eq!(needs.not_on(Partitions::Qpx).is_some(), needs.one_die);
        }
    }

    #[test]
    fn what_is_of_one_gpu_is_not_run_on_another() {
        let compiled = Needs::ANY.compiled();
        assert_eq!(compiled.not_of(Product::Mi325x, false), None);
        assert!(compiled.not_of(Product::Mi350x, false).is_some());
        let divided = Needs {
            virtual_function: true,
            ..Needs::ANY
        };
        assert_eq!(divided.not_of(Product::Mi350x, false), None);
        assert!(divided.not_of(Product::Mi300a, false).is_some());
    }
}
