// SPDX-License-Identifier: GPL-2.0-only
// A grid whose workgroups wait for each other by the runtime's own means: it is launched so
// that all of them are there at the same time.

#include "hip.h"

#include <hip/hip_cooperative_groups.h>

namespace {

constexpr unsigned GROUPS = 6, WIDTH = 128, CELLS = GROUPS * WIDTH, STEPS = 6;

// In each step a cell is made of its neighbours as they were, and the sum of all of them,
// to which every group adds its part before any reads it.
__global__ void together(unsigned *from, unsigned *to, unsigned *sums) {
  __shared__ unsigned part;
  auto grid = cooperative_groups::this_grid();
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  for (unsigned step = 0; step < STEPS; step++) {
    part = 0;
    __syncthreads();
    atomicAdd(&part, from[at]);
    __syncthreads();
    if (threadIdx.x == 0)
      atomicAdd(&sums[step], part);
    grid.sync();
    unsigned sum = __hip_atomic_load(&sums[step], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    to[at] = from[(at + CELLS - 1) % CELLS] * 3u + from[(at + 1) % CELLS] + sum;
    grid.sync();
    unsigned *last = from;
    from = to;
    to = last;
  }
}

} // namespace

uint64_t grid() {
  Numbers numbers(10);
  std::vector<unsigned> cells(CELLS), next(CELLS), expected_sums(STEPS);
  for (unsigned &each : cells)
    each = numbers.next();
  Buffer<unsigned> from(cells), to(CELLS), sums(STEPS);
  void *arguments[] = {&from.data, &to.data, &sums.data};
  CHECK(hipLaunchCooperativeKernel(together, dim3(GROUPS), dim3(WIDTH), arguments, 0, nullptr));
  std::vector<unsigned> found = (STEPS % 2 ? to : from).read(), found_sums = sums.read();

  for (unsigned step = 0; step < STEPS; step++) {
    for (unsigned each : cells)
      expected_sums[step] += each;
    for (unsigned at = 0; at < CELLS; at++)
      next[at] = cells[(at + CELLS - 1) % CELLS] * 3u + cells[(at + 1) % CELLS] +
                 expected_sums[step];
    cells.swap(next);
  }
  REQUIRE(found_sums == expected_sums, "the sums");
  REQUIRE(found == cells, "the cells");
  Digest digest;
  digest.add(found);
  digest.add(found_sums);
  return digest.value;
}
