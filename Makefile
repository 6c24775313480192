# SPDX-License-Identifier: GPL-2.0-only
#
# The commands for everyday work; each calls one script.  The rules by which the
# kernel's build system makes the module are in Kbuild.

MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

# The stock kernels that are built for and tested on, as series.
export KERNELS ?= 6.12 7.2 7.3

cache := $(or $(AMD_GPREEMPT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/amd-gpreempt)

# For an operator: the kernel's build directory and release.
KDIR ?=
KERNEL ?=

.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make demo          the main job: an urgent queue against a heavy one, with and without the module
.PHONY: demo
demo: setup
	@scripts/guest/demo

## make bench         the module beside other ways to schedule, for hours; QUICK=1 for a part of it
.PHONY: bench
bench: setup
	@scripts/guest/bench $(if $(QUICK),--quick)

## make cost          what the module itself costs, in guests, 6 minutes
.PHONY: cost
cost: setup
	@scripts/guest/cost

## make test          everything below: host, KUnit, module, DKMS and virtual GPU, about 20 minutes
.PHONY: test
test: setup
	@scripts/test/all

## make setup         get the tools and kernels into the cache; every other target does it too
.PHONY: setup
setup:
	@scripts/setup/setup

## make check         formatting, lints, shell scripts and the policy's tests, about two minutes
.PHONY: check
check: setup
	@scripts/setup/in-root scripts/test/check

## make check-kernel  the kernel's lints, W=1 and checkpatch
.PHONY: check-kernel
check-kernel: setup
	@scripts/setup/in-root scripts/test/check-kernel

## make module        build amd_gpreempt.ko for the kernels of the cache, or with KDIR= for one
.PHONY: module
ifeq ($(KDIR),)
module: setup
	@for kernel in $$(cut -f2 $(cache)/kernels.lock); do scripts/setup/in-root scripts/build/module $$kernel || exit 1; done
else
module:
	+@scripts/build/module --kdir $(KDIR) $(KERNEL)
endif

## make install       build for the running kernel, or KERNEL=, and install without DKMS
.PHONY: install
install:
	@scripts/build/install-module $(KERNEL)

## make dkms          register, build and install with this host's DKMS for the running kernel, or KERNEL=
.PHONY: dkms
dkms:
	@scripts/package/dkms-install $(KERNEL)

## make deb           build the Debian packages amd-gpreempt-dkms and amd-gpreempt-tools
.PHONY: deb
deb: setup
	@scripts/setup/in-root scripts/package/build-deb

## make rpm           build the same packages for distributions with RPM
.PHONY: rpm
rpm: setup
	@scripts/setup/in-root scripts/package/build-rpm

## make test-setup    every refusal of the set-up, provoked
## make test-host     host tests: policy, simulator, virtual GPU model, tools
## make test-kunit    KUnit suites on a debug kernel
## make test-module   load, use and unload the module on the stock kernels, without a GPU
## make test-dkms     DKMS from the source to modprobe on the stock kernels
## make test-vgpu     the virtual GPU with the stock driver alone
## make test-e2e      the module with the stock driver on the virtual GPU
.PHONY: test-setup test-host test-kunit test-module test-dkms test-vgpu test-e2e
test-setup test-host test-kunit test-module test-dkms test-vgpu test-e2e: setup
	@scripts/test/all $(@:test-%=%)

## make test-debug    the module end to end on a kernel that checks locks and memory; an hour
.PHONY: test-debug
test-debug: setup
	@scripts/test/$(@:test-%=%)

## make test-memory   the same on a kernel that checks each access to memory instead, and a storm; hours
.PHONY: test-memory
test-memory: setup
	@scripts/test/debug --memory
	@scripts/test/debug --memory storm --seconds 600

## make test-system   both packages on a host with systemd: installed, failed with, upgraded, purged; 25 minutes
.PHONY: test-system
test-system: setup
	@scripts/test/$(@:test-%=%)

## make test-mutants  whether a test notices each of a thousand changes of the policy, 10 minutes
.PHONY: test-mutants
test-mutants: setup
	@scripts/test/$(@:test-%=%)

## make test-long     the long runs: full counts, fuzzing; hours
.PHONY: test-long
test-long: setup
	@scripts/test/$(@:test-%=%)

## make shell         a guest with the module at a prompt
.PHONY: shell
shell: setup
	@scripts/guest/shell

## make documents     write the parameters' documents anew from their one table, and draw the pictures
.PHONY: documents
documents: setup
	@scripts/setup/in-root scripts/tools/pictures
	@scripts/setup/in-root cargo run --locked --quiet --manifest-path tests/Cargo.toml -p gpreempt_documents -- .

## make editor        write rust-project.json for rust-analyzer
.PHONY: editor
editor: setup
	@scripts/setup/in-root scripts/tools/rust-project

## make clean-cache   remove the cache; the next command sets up from nothing
.PHONY: clean-cache
clean-cache:
	@scripts/setup/clean-cache
