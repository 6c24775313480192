// SPDX-License-Identifier: GPL-2.0-only
// What the programs share: data, checks, and what a list of them is made of.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

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

// A program: one round of its work, which ends the process where the result is
// wrong, and returns the digest of all that it left.
using Round = uint64_t (*)();

struct Program {
  const char *name;
  Round round;
};

// Those of one runtime, up to one without a name.
extern const Program PROGRAMS[];
