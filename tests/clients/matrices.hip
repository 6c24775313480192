// SPDX-License-Identifier: GPL-2.0-only
// Products of matrices of fp16, bf16, fp32 and fp64, by matrix instructions. Elements are
// small whole numbers, so that no sum is rounded.

#include "hip.h"

namespace {

constexpr unsigned TILE = 16, SIDE = 48, SUM = 32, TILES = SIDE / TILE;

using Half4 = _Float16 __attribute__((ext_vector_type(4)));
using Short4 = short __attribute__((ext_vector_type(4)));
using Float4 = float __attribute__((ext_vector_type(4)));
using Double4 = double __attribute__((ext_vector_type(4)));

// Of each kind: an element, what a lane has of both factors and of the result, how many
// elements of a row one instruction sums, and in which row of the tile a result is.
struct Half {
  using Element = _Float16;
  using Sum = float;
  using Part = Half4;
  using Result = Float4;
  static constexpr unsigned DEPTH = 16, PER_LANE = 4;
  static Element element(int value) { return Element(value); }
  __device__ static unsigned row(unsigned lane, unsigned of) { return lane / TILE * 4 + of; }
  __device__ static Result add(Part a, Part b, Result c) {
    return __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0);
  }
};

struct Brain {
  using Element = short;
  using Sum = float;
  using Part = Short4;
  using Result = Float4;
  static constexpr unsigned DEPTH = 16, PER_LANE = 4;
  // The upper half of a single.
  static Element element(int value) {
    float single = float(value);
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return Element(bits >> 16);
  }
  __device__ static unsigned row(unsigned lane, unsigned of) { return lane / TILE * 4 + of; }
  __device__ static Result add(Part a, Part b, Result c) {
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0);
  }
};

struct Single {
  using Element = float;
  using Sum = float;
  using Part = float;
  using Result = Float4;
  static constexpr unsigned DEPTH = 4, PER_LANE = 1;
  static Element element(int value) { return Element(value); }
  __device__ static unsigned row(unsigned lane, unsigned of) { return lane / TILE * 4 + of; }
  __device__ static Result add(Part a, Part b, Result c) {
    return __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
  }
};

struct Double {
  using Element = double;
  using Sum = double;
  using Part = double;
  using Result = Double4;
  static constexpr unsigned DEPTH = 4, PER_LANE = 1;
  static Element element(int value) { return Element(value); }
  __device__ static unsigned row(unsigned lane, unsigned of) { return of * 4 + lane / TILE; }
  __device__ static Result add(Part a, Part b, Result c) {
    return __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, 0, 0, 0);
  }
};

// A group has a row of tiles, and each of its waves one of these. The second factor's
// rows are columns.
template <typename Kind>
__global__ void product(const typename Kind::Element *a, const typename Kind::Element *b,
                        typename Kind::Sum *to) {
  __shared__ typename Kind::Element own[TILE][SUM];
  for (unsigned at = threadIdx.x; at < TILE * SUM; at += blockDim.x)
    own[at / SUM][at % SUM] = a[blockIdx.x * TILE * SUM + at];
  __syncthreads();
  unsigned lane = threadIdx.x % 64, column = threadIdx.x / 64 * TILE + lane % TILE;
  typename Kind::Result sum = {};
  for (unsigned from = 0; from < SUM; from += Kind::DEPTH) {
    unsigned begin = from + lane / TILE * Kind::PER_LANE;
    typename Kind::Part left, right;
    memcpy(&left, &own[lane % TILE][begin], sizeof left);
    memcpy(&right, &b[column * SUM + begin], sizeof right);
    sum = Kind::add(left, right, sum);
  }
  for (unsigned of = 0; of < 4; of++)
    to[(blockIdx.x * TILE + Kind::row(lane, of)) * SIDE + column] = sum[of];
}

template <typename Kind> void multiply(const char *name, Digest &digest) {
  Numbers numbers(2);
  std::vector<int> a(SIDE * SUM), b(SIDE * SUM);
  std::vector<typename Kind::Element> left, right;
  for (int &each : a)
    left.push_back(Kind::element(each = int(numbers.below(31)) - 15));
  for (int &each : b)
    right.push_back(Kind::element(each = int(numbers.below(31)) - 15));
  Buffer<typename Kind::Element> from_a(left), from_b(right);
  Buffer<typename Kind::Sum> to(SIDE * SIDE);
  product<Kind><<<TILES, TILES * 64>>>(from_a.data, from_b.data, to.data);
  std::vector<typename Kind::Sum> result = to.read();
  for (unsigned row = 0; row < SIDE; row++)
    for (unsigned column = 0; column < SIDE; column++) {
      int sum = 0;
      for (unsigned at = 0; at < SUM; at++)
        sum += a[row * SUM + at] * b[column * SUM + at];
      double found = result[row * SIDE + column];
      REQUIRE(found == sum, "%s: row %u, column %u is %g and not %d", name, row, column, found, sum);
    }
  digest.add(result);
}

} // namespace

uint64_t matrices() {
  Digest digest;
  multiply<Half>("fp16", digest);
  multiply<Brain>("bf16", digest);
  multiply<Single>("fp32", digest);
  multiply<Double>("fp64", digest);
  return digest.value;
}
