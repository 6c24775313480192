// SPDX-License-Identifier: GPL-2.0-only
// Calls that call themselves, and more values than there are registers: both need scratch,
// of which the second kernel's large workgroups want more waves than the first one's.

#include "hip.h"

namespace {

constexpr unsigned SMALL = 256, LARGE = 1024, GROUPS = 2, VALUES = 40;

// Numbers of Ackermann and Peter, as deep as they go here.
__host__ __device__ __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0)
    return n + 1;
  if (n == 0)
    return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__global__ void recurse(unsigned *out) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  out[at] = ackermann(2, at % 5) + ackermann(1, at % 3);
}

// A workgroup of 16 waves leaves each of them few registers.
__global__ void __launch_bounds__(LARGE) spill(const unsigned *in, unsigned *out) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned own[VALUES];
  for (unsigned of = 0; of < VALUES; of++)
    own[of] = in[at] * (2 * of + 1);
  for (unsigned of = 0; of < VALUES; of++)
    own[own[of] % VALUES] += own[(of * 7 + 3) % VALUES] ^ of;
  unsigned sum = 0;
  for (unsigned of = 0; of < VALUES; of++)
    sum = sum * 31 + own[of];
  out[at] = sum;
}

unsigned spilled(unsigned in) {
  unsigned own[VALUES], sum = 0;
  for (unsigned of = 0; of < VALUES; of++)
    own[of] = in * (2 * of + 1);
  for (unsigned of = 0; of < VALUES; of++)
    own[own[of] % VALUES] += own[(of * 7 + 3) % VALUES] ^ of;
  for (unsigned of = 0; of < VALUES; of++)
    sum = sum * 31 + own[of];
  return sum;
}

} // namespace

uint64_t scratch() {
  Numbers numbers(5);
  std::vector<unsigned> in(GROUPS * LARGE);
  for (unsigned &each : in)
    each = numbers.next();
  Buffer<unsigned> from(in), calls(GROUPS * SMALL), values(GROUPS * LARGE);
  recurse<<<GROUPS, SMALL>>>(calls.data);
  spill<<<GROUPS, LARGE>>>(from.data, values.data);
  std::vector<unsigned> called = calls.read(), found = values.read();
  for (unsigned at = 0; at < called.size(); at++)
    REQUIRE(called[at] == ackermann(2, at % 5) + ackermann(1, at % 3), "call %u", at);
  for (unsigned at = 0; at < found.size(); at++)
    REQUIRE(found[at] == spilled(in[at]), "value %u", at);
  Digest digest;
  digest.add(called);
  digest.add(found);
  return digest.value;
}
