// SPDX-License-Identifier: GPL-2.0-only
// What the programs share: data, checks, and the list of them.

#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// Ends the program where the runtime says that something failed.
#define CHECK(call) check_call((call), #call, __LINE__)

inline void check_call(hipError_t error, const char *call, int line) {
  if (error != hipSuccess) {
    fprintf(stderr, "line %d: %s: %s\n", line, call, hipGetErrorString(error));
    exit(1);
  }
}

// Ends the program where a result is not what the host calculates.
#define REQUIRE(condition, ...)                                                \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "wrong: " __VA_ARGS__);                                  \
      fprintf(stderr, "\n");                                                   \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

// Numbers that are the same in each run.
struct Numbers {
  uint64_t state;
  explicit Numbers(uint64_t seed) : state(seed) {}
  uint32_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(state >> 33) ^ uint32_t(state >> 11);
  }
  // A whole number below the limit.
  uint32_t below(uint32_t limit) { return next() % limit; }
};

// All bits of what a program leaves, in few.
struct Digest {
  uint64_t value = 14695981039346656037u;
  void add(const void *data, size_t size) {
    for (size_t at = 0; at < size; at++)
      value = (value ^ static_cast<const uint8_t *>(data)[at]) * 1099511628211u;
  }
  template <typename T> void add(const std::vector<T> &data) {
    add(data.data(), data.size() * sizeof(T));
  }
};

// Memory of the GPU.
template <typename T> struct Buffer {
  T *data = nullptr;
  size_t count;
  explicit Buffer(size_t count) : count(count) {
    CHECK(hipMalloc(&data, count * sizeof(T)));
    fill(0);
  }
  explicit Buffer(const std::vector<T> &from) : count(from.size()) {
    CHECK(hipMalloc(&data, count * sizeof(T)));
    CHECK(hipMemcpy(data, from.data(), count * sizeof(T), hipMemcpyHostToDevice));
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { CHECK(hipFree(data)); }
  void fill(int byte) { CHECK(hipMemset(data, byte, count * sizeof(T))); }
  std::vector<T> read() const {
    std::vector<T> to(count);
    CHECK(hipMemcpy(to.data(), data, count * sizeof(T), hipMemcpyDeviceToHost));
    return to;
  }
};

// A program: one round of its work, which ends the process where the result is
// wrong, and returns the digest of all that it left.
using Round = uint64_t (*)();

uint64_t sums();
uint64_t matrices();
uint64_t waiting();
uint64_t streams();
uint64_t scratch();
uint64_t primitives();
uint64_t inference();
uint64_t crowd();
