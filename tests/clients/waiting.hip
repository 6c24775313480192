// SPDX-License-Identifier: GPL-2.0-only
// Workgroups that wait for each other: a relay, in which each has its turn, and steps that
// all must have finished before any begins the next one.

#include "hip.h"

namespace {

constexpr unsigned GROUPS = 6, WIDTH = 128, LAPS = 4, STEPS = 5, CELLS = GROUPS * WIDTH;

__device__ unsigned look(unsigned *word) {
  return __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}

// Waits until the word has reached a value.
__device__ void wait(unsigned *word, unsigned value) {
  if (threadIdx.x == 0)
    while (look(word) < value)
      __builtin_amdgcn_s_sleep(1);
  __syncthreads();
}

// Each group changes what the one before it has left.
__global__ void relay(unsigned *turn, unsigned *value) {
  for (unsigned lap = 0; lap < LAPS; lap++) {
    unsigned own = lap * GROUPS + blockIdx.x;
    wait(turn, own);
    value[threadIdx.x] = value[threadIdx.x] * 1664525u + own;
    __syncthreads();
    if (threadIdx.x == 0)
      __hip_atomic_store(turn, own + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// In each step a cell is made of its neighbours as they were, which other groups have.
__global__ void steps(unsigned *arrived, unsigned *from, unsigned *to) {
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  for (unsigned step = 0; step < STEPS; step++) {
    to[at] = from[(at + CELLS - 1) % CELLS] * 3u + from[(at + 1) % CELLS] + step;
    __syncthreads();
    if (threadIdx.x == 0)
      __hip_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
    wait(arrived, (step + 1) * GROUPS);
    unsigned *last = from;
    from = to;
    to = last;
  }
}

} // namespace

uint64_t waiting() {
  Numbers numbers(3);
  std::vector<unsigned> values(WIDTH), cells(CELLS), next(CELLS);
  for (unsigned &each : values)
    each = numbers.next();
  for (unsigned &each : cells)
    each = numbers.next();
  Buffer<unsigned> turn(1), value(values), arrived(1), from(cells), to(CELLS);
  relay<<<GROUPS, WIDTH>>>(turn.data, value.data);
  steps<<<GROUPS, WIDTH>>>(arrived.data, from.data, to.data);
  CHECK(hipDeviceSynchronize());

  for (unsigned &each : values)
    for (unsigned own = 0; own < LAPS * GROUPS; own++)
      each = each * 1664525u + own;
  for (unsigned step = 0; step < STEPS; step++) {
    for (unsigned at = 0; at < CELLS; at++)
      next[at] = cells[(at + CELLS - 1) % CELLS] * 3u + cells[(at + 1) % CELLS] + step;
    cells.swap(next);
  }
  REQUIRE(value.read() == values, "the relay");
  REQUIRE((STEPS % 2 ? to : from).read() == cells, "the steps");
  Digest digest;
  digest.add(value.read());
  digest.add((STEPS % 2 ? to : from).read());
  return digest.value;
}
