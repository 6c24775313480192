// SPDX-License-Identifier: GPL-2.0-only
// Sums, counts and running sums, by atomics, local memory and exchange between
// lanes.

#include "hip.h"

namespace {

constexpr unsigned ITEMS = 6000, GROUPS = 5, WIDTH = 256, BINS = 64;

__device__ unsigned sum_of_wave(unsigned value) {
  for (int distance = 32; distance > 0; distance /= 2)
    value += __shfl_xor(value, distance);
  return value;
}

__global__ void reduce(const unsigned *in, unsigned *sum, unsigned *least) {
  __shared__ unsigned part[WIDTH / 64];
  unsigned own = 0, low = ~0u;
  for (unsigned at = blockIdx.x * WIDTH + threadIdx.x; at < ITEMS; at += GROUPS * WIDTH) {
    own += in[at];
    low = min(low, in[at]);
  }
  own = sum_of_wave(own);
  if (threadIdx.x % 64 == 0)
    part[threadIdx.x / 64] = own;
  __syncthreads();
  atomicMin(least, low);
  if (threadIdx.x == 0)
    atomicAdd(sum, part[0] + part[1] + part[2] + part[3]);
}

__global__ void histogram(const unsigned *in, unsigned *bins) {
  __shared__ unsigned own[BINS];
  if (threadIdx.x < BINS)
    own[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned at = blockIdx.x * WIDTH + threadIdx.x; at < ITEMS; at += GROUPS * WIDTH)
    atomicAdd(&own[in[at] % BINS], 1);
  __syncthreads();
  if (threadIdx.x < BINS)
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// Sums up to each item of a group's share.
__global__ void scan(const unsigned *in, unsigned *out) {
  __shared__ unsigned part[WIDTH / 64];
  unsigned at = blockIdx.x * WIDTH + threadIdx.x, lane = threadIdx.x % 64;
  unsigned value = in[at];
  for (unsigned distance = 1; distance < 64; distance *= 2) {
    unsigned below = __shfl_up(value, distance);
    if (lane >= distance)
      value += below;
  }
  if (lane == 63)
    part[threadIdx.x / 64] = value;
  __syncthreads();
  for (unsigned wave = 0; wave < threadIdx.x / 64; wave++)
    value += part[wave];
  out[at] = value;
}

} // namespace

uint64_t sums() {
  Numbers numbers(1);
  std::vector<unsigned> in(ITEMS);
  for (unsigned &each : in)
    each = numbers.next();
  Buffer<unsigned> from(in), sum(1), least(std::vector<unsigned>{~0u}), bins(BINS), sofar(GROUPS * WIDTH);
  reduce<<<GROUPS, WIDTH>>>(from.data, sum.data, least.data);
  histogram<<<GROUPS, WIDTH>>>(from.data, bins.data);
  scan<<<GROUPS, WIDTH>>>(from.data, sofar.data);
  CHECK(hipDeviceSynchronize());

  unsigned expected_sum = 0, expected_least = ~0u, running = 0;
  std::vector<unsigned> expected_bins(BINS), expected_sofar;
  for (unsigned at = 0; at < ITEMS; at++) {
    expected_sum += in[at];
    expected_least = std::min(expected_least, in[at]);
    expected_bins[in[at] % BINS]++;
    running = at % WIDTH ? running + in[at] : in[at];
    if (at < GROUPS * WIDTH)
      expected_sofar.push_back(running);
  }
  REQUIRE(sum.read()[0] == expected_sum, "the sum");
  REQUIRE(least.read()[0] == expected_least, "the least");
  REQUIRE(bins.read() == expected_bins, "the histogram");
  REQUIRE(sofar.read() == expected_sofar, "the running sums");
  Digest digest;
  digest.add(sum.read());
  digest.add(bins.read());
  digest.add(sofar.read());
  return digest.value;
}
