// SPDX-License-Identifier: GPL-2.0-only
// Two streams with copies in both directions, whose events make one wait for the other.

#include "hip.h"

namespace {

constexpr unsigned ITEMS = 2048, WIDTH = 256, PARTS = 3;

__global__ void scale(const unsigned *in, unsigned *out, unsigned factor) {
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  unsigned value = in[at];
  for (unsigned times = 0; times < 20; times++)
    value = value * factor + 12345u;
  out[at] = value;
}

__global__ void mix(const unsigned *one, unsigned *other) {
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  other[at] ^= one[ITEMS - 1 - at] >> 3;
}

// Memory of the host that the GPU's copies reach.
struct Pinned {
  unsigned *data = nullptr;
  Pinned() { CHECK(hipHostMalloc(&data, ITEMS * sizeof(unsigned))); }
  Pinned(const Pinned &) = delete;
  ~Pinned() { CHECK(hipHostFree(data)); }
};

} // namespace

uint64_t streams() {
  constexpr size_t SIZE = ITEMS * sizeof(unsigned);
  hipStream_t first, second;
  hipEvent_t begun, scaled, done;
  CHECK(hipStreamCreate(&first));
  CHECK(hipStreamCreate(&second));
  for (hipEvent_t *event : {&begun, &scaled, &done})
    CHECK(hipEventCreate(event));
  Pinned in, out;
  Buffer<unsigned> from(ITEMS), one(ITEMS), other(ITEMS);
  Digest digest;
  Numbers numbers(4);
  for (unsigned part = 0; part < PARTS; part++) {
    for (unsigned at = 0; at < ITEMS; at++)
      in.data[at] = numbers.next();
    CHECK(hipEventRecord(begun, first));
    CHECK(hipMemcpyAsync(from.data, in.data, SIZE, hipMemcpyHostToDevice, first));
    scale<<<ITEMS / WIDTH, WIDTH, 0, first>>>(from.data, one.data, 5 + 2 * part);
    CHECK(hipEventRecord(scaled, first));
    // The second stream begins when the first one has scaled.
    CHECK(hipStreamWaitEvent(second, scaled, 0));
    CHECK(hipMemcpyAsync(other.data, one.data, SIZE, hipMemcpyDeviceToDevice, second));
    scale<<<ITEMS / WIDTH, WIDTH, 0, second>>>(other.data, other.data, 9);
    // Meanwhile the first one goes on with what the second does not use.
    scale<<<ITEMS / WIDTH, WIDTH, 0, first>>>(from.data, from.data, 3);
    CHECK(hipEventRecord(done, first));
    CHECK(hipStreamWaitEvent(second, done, 0));
    mix<<<ITEMS / WIDTH, WIDTH, 0, second>>>(from.data, other.data);
    CHECK(hipMemcpyAsync(out.data, other.data, SIZE, hipMemcpyDeviceToHost, second));
    CHECK(hipStreamSynchronize(second));
    CHECK(hipStreamSynchronize(first));
    float time = 0;
    CHECK(hipEventElapsedTime(&time, begun, done));
    REQUIRE(time > 0, "nothing took any time");

    auto scaled_by = [](unsigned value, unsigned factor) {
      for (unsigned times = 0; times < 20; times++)
        value = value * factor + 12345u;
      return value;
    };
    for (unsigned at = 0; at < ITEMS; at++) {
      unsigned expected = scaled_by(scaled_by(in.data[at], 5 + 2 * part), 9) ^
                          scaled_by(in.data[ITEMS - 1 - at], 3) >> 3;
      REQUIRE(out.data[at] == expected, "part %u, item %u", part, at);
    }
    digest.add(out.data, SIZE);
  }
  for (hipEvent_t event : {begun, scaled, done})
    CHECK(hipEventDestroy(event));
  CHECK(hipStreamDestroy(first));
  CHECK(hipStreamDestroy(second));
  return digest.value;
}
