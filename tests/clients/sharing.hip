// SPDX-License-Identifier: GPL-2.0-only
// The host's processors and the GPU change the same words at the same time, by atomic
// operations of 32 and 64 bits, and take turns at one.

#include <thread>

#include "hip.h"

namespace {

constexpr unsigned GROUPS = 2, WIDTH = 64, ROUNDS = 10, HOST_ROUNDS = 20000, TURNS = 6;
// Of so many work-items one exchanges. Of those that try at once one is successful, so that
// all of them would make the kernel last a second, in which it is seldom stopped.
constexpr unsigned EXCHANGING = 8;

struct Shared {
  unsigned sum, bits, turn;
  unsigned long long large, most;
};

__global__ void change(Shared *shared, const unsigned *in) {
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  for (unsigned round = 0; round < ROUNDS; round++) {
    unsigned value = in[at] + round;
    atomicAdd_system(&shared->sum, value);
    atomicXor_system(&shared->bits, value);
    atomicMax_system(&shared->most, 1ull * value * value);
    // An addition, by exchanging for as long as somebody else is faster.
    if (at % EXCHANGING)
      continue;
    unsigned long long old = shared->large, found;
    while ((found = atomicCAS_system(&shared->large, old, old + value * 0x100000001ull)) != old)
      old = found;
  }
  if (at == 0)
    for (unsigned turn = 0; turn < TURNS; turn++)
      while (atomicCAS_system(&shared->turn, 2 * turn, 2 * turn + 1) != 2 * turn)
        __builtin_amdgcn_s_sleep(1);
}

void change_on_host(Shared *shared) {
  for (unsigned round = 0; round < HOST_ROUNDS; round++) {
    __atomic_fetch_add(&shared->sum, round, __ATOMIC_RELAXED);
    __atomic_fetch_xor(&shared->bits, round, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->large, round * 0x300000005ull, __ATOMIC_RELAXED);
  }
  for (unsigned turn = 0; turn < TURNS; turn++)
    for (unsigned mine = 2 * turn + 1;
         !__atomic_compare_exchange_n(&shared->turn, &mine, mine + 1, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED);
         mine = 2 * turn + 1)
      std::this_thread::yield();
}

} // namespace

uint64_t sharing() {
  Numbers numbers(9);
  std::vector<unsigned> in(GROUPS * WIDTH);
  for (unsigned &each : in)
    each = numbers.next();
  Shared expected = {}, *shared;
  for (unsigned at = 0; at < in.size(); at++)
    for (unsigned value = in[at]; value != in[at] + ROUNDS; value++) {
      expected.sum += value;
      expected.bits ^= value;
      if (at % EXCHANGING == 0)
        expected.large += value * 0x100000001ull;
      expected.most = std::max(expected.most, 1ull * value * value);
    }
  for (unsigned round = 0; round < HOST_ROUNDS; round++) {
    expected.sum += round;
    expected.bits ^= round;
    expected.large += round * 0x300000005ull;
  }
  expected.turn = 2 * TURNS;

  Buffer<unsigned> from(in);
  CHECK(hipHostMalloc(&shared, sizeof *shared));
  memset(shared, 0, sizeof *shared);
  change<<<GROUPS, WIDTH>>>(shared, from.data);
  std::thread host(change_on_host, shared);
  host.join();
  CHECK(hipDeviceSynchronize());
  REQUIRE(shared->sum == expected.sum, "the sum");
  REQUIRE(shared->bits == expected.bits, "the bits");
  REQUIRE(shared->large == expected.large, "the sum of 64 bits");
  REQUIRE(shared->most == expected.most, "the largest");
  REQUIRE(shared->turn == expected.turn, "the turns");
  Digest digest;
  digest.add(&shared->sum, sizeof shared->sum);
  digest.add(&shared->bits, sizeof shared->bits);
  digest.add(&shared->large, sizeof shared->large);
  digest.add(&shared->most, sizeof shared->most);
  CHECK(hipHostFree(shared));
  return digest.value;
}
