// SPDX-License-Identifier: GPL-2.0-only
// One short kernel with more waves than the GPU has room for, so that it waits as long as
// anything else runs.

#include "hip.h"

namespace {

__global__ void count(unsigned *counts, unsigned counters) {
  if (threadIdx.x == 0)
    atomicAdd(&counts[blockIdx.x % counters], blockIdx.x);
}

} // namespace

uint64_t crowd() {
  constexpr unsigned COUNTERS = 16, WAVES_OF_UNIT = 32;
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  unsigned groups = properties.multiProcessorCount * WAVES_OF_UNIT * 3 / 2;
  Buffer<unsigned> counts(COUNTERS);
  count<<<groups, 64>>>(counts.data, COUNTERS);
  std::vector<unsigned> expected(COUNTERS), found = counts.read();
  for (unsigned group = 0; group < groups; group++)
    expected[group % COUNTERS] += group;
  REQUIRE(found == expected, "the counts");
  Digest digest;
  digest.add(found);
  return digest.value;
}
