// SPDX-License-Identifier: GPL-2.0-only
// The same work on each device that the runtime has, on all of them at a time; how many
// there are is what it leaves.

#include "hip.h"

#include <memory>

namespace {

constexpr unsigned GROUPS = 8, WIDTH = 128, ITEMS = GROUPS * WIDTH;

__global__ void work(unsigned device, unsigned *count, unsigned *out) {
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  atomicAdd(count, 1);
  out[at] = device * ITEMS + at;
}

struct Device {
  Buffer<unsigned> count{1}, out{ITEMS};
};

} // namespace

uint64_t devices() {
  int number = 0;
  CHECK(hipGetDeviceCount(&number));
  std::vector<std::unique_ptr<Device>> all;
  for (int at = 0; at < number; at++) {
    CHECK(hipSetDevice(at));
    all.push_back(std::make_unique<Device>());
    work<<<GROUPS, WIDTH>>>(at, all.back()->count.data, all.back()->out.data);
    CHECK(hipGetLastError());
  }
  for (int at = 0; at < number; at++) {
    CHECK(hipSetDevice(at));
    CHECK(hipDeviceSynchronize());
    REQUIRE(all[at]->count.read()[0] == ITEMS, "how many items there were");
    std::vector<unsigned> expected;
    for (unsigned item = 0; item < ITEMS; item++)
      expected.push_back(at * ITEMS + item);
    REQUIRE(all[at]->out.read() == expected, "what each item has left");
    all[at].reset();
  }
  CHECK(hipSetDevice(0));
  return number;
}
