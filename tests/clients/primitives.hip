// SPDX-License-Identifier: GPL-2.0-only
// Sorting, running sums, sums and choosing, by rocPRIM.

#include "hip.h"

#include <algorithm>
#include <numeric>

#include <rocprim/rocprim.hpp>

namespace {

constexpr unsigned ITEMS = 3000;

struct IsOdd {
  __host__ __device__ bool operator()(unsigned value) const { return value % 2; }
};

// Has an algorithm say how much memory it wants, and run with that.
template <typename Algorithm> void with_memory(Algorithm algorithm) {
  size_t size = 0;
  CHECK(algorithm(nullptr, size));
  Buffer<char> memory(std::max<size_t>(size, 1));
  CHECK(algorithm(memory.data, size));
  CHECK(hipDeviceSynchronize());
}

} // namespace

uint64_t primitives() {
  Numbers numbers(6);
  std::vector<unsigned> keys(ITEMS), places(ITEMS);
  for (unsigned &each : keys)
    each = numbers.below(1 << 20);
  std::iota(places.begin(), places.end(), 0);
  Buffer<unsigned> in(keys), in_places(places), sorted(ITEMS), sorted_places(ITEMS);
  Buffer<unsigned> sofar(ITEMS), sum(1), chosen(ITEMS), count(1);
  with_memory([&](void *memory, size_t &size) {
    return rocprim::radix_sort_pairs(memory, size, in.data, sorted.data, in_places.data,
                                     sorted_places.data, ITEMS);
  });
  with_memory([&](void *memory, size_t &size) {
    return rocprim::exclusive_scan(memory, size, in.data, sofar.data, 7u, ITEMS);
  });
  with_memory([&](void *memory, size_t &size) {
    return rocprim::reduce(memory, size, in.data, sum.data, ITEMS);
  });
  with_memory([&](void *memory, size_t &size) {
    return rocprim::select(memory, size, in.data, chosen.data, count.data, ITEMS, IsOdd());
  });

  std::vector<unsigned> order = places;
  std::stable_sort(order.begin(), order.end(),
                   [&](unsigned one, unsigned other) { return keys[one] < keys[other]; });
  std::vector<unsigned> ordered, running, odd;
  for (unsigned place : order)
    ordered.push_back(keys[place]);
  unsigned total = 0;
  for (unsigned key : keys) {
    running.push_back(7 + total);
    total += key;
    if (key % 2)
      odd.push_back(key);
  }
  REQUIRE(sorted.read() == ordered && sorted_places.read() == order, "the sorted keys");
  REQUIRE(sofar.read() == running, "the running sums");
  REQUIRE(sum.read()[0] == total, "the sum");
  std::vector<unsigned> found = chosen.read();
  REQUIRE(count.read()[0] == odd.size(), "how many are chosen");
  found.resize(odd.size());
  REQUIRE(found == odd, "what is chosen");
  Digest digest;
  digest.add(ordered);
  for (const Buffer<unsigned> *each : {&sorted, &sorted_places, &sofar, &sum, &chosen})
    digest.add(each->read());
  return digest.value;
}
