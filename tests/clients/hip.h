// SPDX-License-Identifier: GPL-2.0-only
// What the programs in HIP share besides: the runtime's errors, and memory.

#pragma once

#include <hip/hip_runtime.h>

#include "client.h"

// Ends the program where the runtime says that something failed.
#define CHECK(call) check_call((call), #call, __LINE__)

inline void check_call(hipError_t error, const char *call, int line) {
  if (error != hipSuccess) {
    fprintf(stderr, "line %d: %s: %s\n", line, call, hipGetErrorString(error));
    exit(1);
  }
}

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
