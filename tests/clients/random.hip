// SPDX-License-Identifier: GPL-2.0-only
// Random numbers in kernels, by rocRAND's headers: whole numbers of two of its generators
// from places of their sequences that each item has for itself, and numbers of a normal
// distribution. The host calculates the same by the generators' definitions.

#include <cmath>

#include "hip.h"

#include <rocrand/rocrand_kernel.h>

namespace {

constexpr unsigned GROUPS = 3, WIDTH = 128, ITEMS = GROUPS * WIDTH, EACH = 6;
constexpr uint64_t SEED = 0x123456789abcdefu;

__global__ void whole(unsigned *philox, unsigned *xorwow) {
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  rocrand_state_philox4x32_10 one;
  rocrand_init(SEED, at, at % 9, &one);
  rocrand_state_xorwow other;
  rocrand_init(SEED + at, 0, at % 9, &other);
  for (unsigned of = 0; of < EACH; of++) {
    philox[of * ITEMS + at] = rocrand(&one);
    xorwow[of * ITEMS + at] = rocrand(&other);
  }
}

__global__ void normal(float *out) {
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  rocrand_state_philox4x32_10 state;
  rocrand_init(SEED, at, 0, &state);
  for (unsigned of = 0; of < EACH; of++)
    out[of * ITEMS + at] = rocrand_normal(&state);
}

// The number at a place of a sequence: of each four, ten rounds over their count and the
// sequence's number.
unsigned philox(uint64_t sequence, uint64_t place) {
  uint32_t word[] = {uint32_t(place / 4), uint32_t(place / 4 >> 32), uint32_t(sequence),
                     uint32_t(sequence >> 32)};
  uint32_t key[] = {uint32_t(SEED), uint32_t(SEED >> 32)};
  for (unsigned round = 0; round < 10; round++) {
    uint64_t left = uint64_t(word[0]) * 0xd2511f53u, right = uint64_t(word[2]) * 0xcd9e8d57u;
    uint32_t next[] = {uint32_t(right >> 32) ^ word[1] ^ key[0], uint32_t(right),
                       uint32_t(left >> 32) ^ word[3] ^ key[1], uint32_t(left)};
    memcpy(word, next, sizeof word);
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return word[place % 4];
}

// Marsaglia's generator, as rocRAND begins it.
struct Xorwow {
  uint32_t word[5] = {123456789, 362436069, 521288629, 88675123, 5783321}, count = 6615241;
  explicit Xorwow(uint64_t seed) {
    uint32_t low = 1228688033u * (uint32_t(seed) ^ 0x2c7f967fu);
    uint32_t high = 2073658381u * (uint32_t(seed >> 32) ^ 0xa03697cbu);
    word[0] += low;
    word[1] ^= low;
    word[2] += high;
    word[3] ^= high;
    word[4] += low;
    count += low + high;
  }
  uint32_t next() {
    uint32_t first = word[0] ^ word[0] >> 2, last = word[4];
    memmove(word, word + 1, sizeof word - sizeof *word);
    word[4] = last ^ last << 4 ^ first ^ first << 1;
    return (count += 362437) + word[4];
  }
};

// Two numbers of a normal distribution from two whole ones, by Box and Muller.
double normal_of(unsigned at, unsigned of) {
  double first = (philox(at, of / 2 * 2) + 1.0) / 4294967296.0;
  double second = (philox(at, of / 2 * 2 + 1) + 1.0) / 4294967296.0 * 2 * M_PI;
  return std::sqrt(-2 * std::log(first)) * (of % 2 ? std::cos(second) : std::sin(second));
}

} // namespace

uint64_t random_numbers() {
  Buffer<unsigned> one(EACH * ITEMS), other(EACH * ITEMS);
  Buffer<float> normals(EACH * ITEMS);
  whole<<<GROUPS, WIDTH>>>(one.data, other.data);
  normal<<<GROUPS, WIDTH>>>(normals.data);
  std::vector<unsigned> found_one = one.read(), found_other = other.read();
  std::vector<float> found = normals.read();
  for (unsigned at = 0; at < ITEMS; at++) {
    Xorwow expected(SEED + at);
    for (unsigned skipped = 0; skipped < at % 9; skipped++)
      expected.next();
    for (unsigned of = 0; of < EACH; of++) {
      unsigned item = of * ITEMS + at;
      REQUIRE(found_one[item] == philox(at, at % 9 + of), "number %u of item %u, Philox", of, at);
      REQUIRE(found_other[item] == expected.next(), "number %u of item %u, XORWOW", of, at);
      REQUIRE(std::fabs(found[item] - normal_of(at, of)) < 1e-3, "number %u of item %u is %g", of,
              at, double(found[item]));
    }
  }
  Digest digest;
  digest.add(found_one);
  digest.add(found_other);
  digest.add(found);
  return digest.value;
}
