// SPDX-License-Identifier: GPL-2.0-only
// A small language model's layer: attention and a network behind it, each with layer
// norms, by products of matrices, softmax, exponentials and roots. Its logits are near what
// the host calculates in doubles.

#include "hip.h"

#include <cmath>

namespace {

constexpr unsigned TOKENS = 12, WIDTH = 32, HIDDEN = 64, WORDS = 24, LANES = 64;

// to = from * weights, of so many rows; a group has a row.
__global__ void product(const float *from, const float *weights, float *to, unsigned depth,
                        unsigned columns) {
  for (unsigned column = threadIdx.x; column < columns; column += LANES) {
    float sum = 0;
    for (unsigned at = 0; at < depth; at++)
      sum = fmaf(from[blockIdx.x * depth + at], weights[at * columns + column], sum);
    to[blockIdx.x * columns + column] = sum;
  }
}

__device__ float sum_of_wave(float value) {
  for (unsigned distance = LANES / 2; distance > 0; distance /= 2)
    value += __shfl_xor(value, distance);
  return value;
}

__device__ float largest_of_wave(float value) {
  for (unsigned distance = LANES / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor(value, distance));
  return value;
}

__global__ void norm(const float *from, float *to) {
  bool is_in = threadIdx.x < WIDTH;
  unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  float own = is_in ? from[at] : 0;
  float mean = sum_of_wave(own) / WIDTH;
  float distance = is_in ? own - mean : 0;
  float variance = sum_of_wave(distance * distance) / WIDTH;
  if (is_in)
    to[at] = distance / sqrtf(variance + 1e-5f);
}

// A group has a token, which attends to itself and those before it.
__global__ void attend(const float *query, const float *key, const float *value, float *to) {
  __shared__ float share[LANES];
  unsigned token = blockIdx.x, lane = threadIdx.x;
  float score = -INFINITY;
  if (lane <= token) {
    score = 0;
    for (unsigned at = 0; at < WIDTH; at++)
      score = fmaf(query[token * WIDTH + at], key[lane * WIDTH + at], score);
    score /= sqrtf(WIDTH);
  }
  float power = expf(score - largest_of_wave(score));
  share[lane] = power / sum_of_wave(power);
  __syncthreads();
  if (lane < WIDTH) {
    float sum = 0;
    for (unsigned other = 0; other <= token; other++)
      sum = fmaf(share[other], value[other * WIDTH + lane], sum);
    to[token * WIDTH + lane] = sum;
  }
}

__global__ void add(float *to, const float *from) {
  to[blockIdx.x * blockDim.x + threadIdx.x] += from[blockIdx.x * blockDim.x + threadIdx.x];
}

__global__ void activate(float *values) {
  float *own = &values[blockIdx.x * blockDim.x + threadIdx.x];
  *own = 0.5f * *own * (1 + tanhf(0.7978845608f * (*own + 0.044715f * *own * *own * *own)));
}

using Matrix = std::vector<double>;

Matrix multiply(const Matrix &from, const std::vector<float> &weights, unsigned depth,
                unsigned columns) {
  Matrix to(from.size() / depth * columns);
  for (unsigned row = 0; row < from.size() / depth; row++)
    for (unsigned at = 0; at < depth; at++)
      for (unsigned column = 0; column < columns; column++)
        to[row * columns + column] += from[row * depth + at] * weights[at * columns + column];
  return to;
}

Matrix normed(const Matrix &from) {
  Matrix to = from;
  for (unsigned row = 0; row < TOKENS; row++) {
    double mean = 0, variance = 0;
    for (unsigned at = 0; at < WIDTH; at++)
      mean += from[row * WIDTH + at] / WIDTH;
    for (unsigned at = 0; at < WIDTH; at++)
      variance += std::pow(from[row * WIDTH + at] - mean, 2) / WIDTH;
    for (unsigned at = 0; at < WIDTH; at++)
      to[row * WIDTH + at] = (from[row * WIDTH + at] - mean) / std::sqrt(variance + 1e-5);
  }
  return to;
}

struct Weights {
  std::vector<float> query, key, value, up, down, words;
  explicit Weights(Numbers &numbers) {
    auto fill = [&](std::vector<float> &matrix, unsigned rows, unsigned columns) {
      matrix.resize(rows * columns);
      for (float &each : matrix)
        each = (float(numbers.below(2001)) / 1000 - 1) / std::sqrt(float(rows));
    };
    fill(query, WIDTH, WIDTH);
    fill(key, WIDTH, WIDTH);
    fill(value, WIDTH, WIDTH);
    fill(up, WIDTH, HIDDEN);
    fill(down, HIDDEN, WIDTH);
    fill(words, WIDTH, WORDS);
  }
};

Matrix expected(Matrix state, const Weights &weights) {
  Matrix in = normed(state), attended(TOKENS * WIDTH);
  Matrix query = multiply(in, weights.query, WIDTH, WIDTH);
  Matrix key = multiply(in, weights.key, WIDTH, WIDTH);
  Matrix value = multiply(in, weights.value, WIDTH, WIDTH);
  for (unsigned token = 0; token < TOKENS; token++) {
    std::vector<double> power(token + 1);
    double sum = 0;
    for (unsigned other = 0; other <= token; other++) {
      for (unsigned at = 0; at < WIDTH; at++)
        power[other] += query[token * WIDTH + at] * key[other * WIDTH + at];
      sum += power[other] = std::exp(power[other] / std::sqrt(double(WIDTH)));
    }
    for (unsigned other = 0; other <= token; other++)
      for (unsigned at = 0; at < WIDTH; at++)
        attended[token * WIDTH + at] += power[other] / sum * value[other * WIDTH + at];
  }
  for (unsigned at = 0; at < state.size(); at++)
    state[at] += attended[at];
  Matrix hidden = multiply(normed(state), weights.up, WIDTH, HIDDEN);
  for (double &each : hidden)
    each = 0.5 * each * (1 + std::tanh(0.7978845608 * (each + 0.044715 * each * each * each)));
  Matrix down = multiply(hidden, weights.down, HIDDEN, WIDTH);
  for (unsigned at = 0; at < state.size(); at++)
    state[at] += down[at];
  return multiply(normed(state), weights.words, WIDTH, WORDS);
}

} // namespace

uint64_t inference() {
  Numbers numbers(7);
  Weights weights(numbers);
  std::vector<float> tokens(TOKENS * WIDTH);
  for (float &each : tokens)
    each = float(numbers.below(2001)) / 1000 - 1;
  Buffer<float> query(weights.query), key(weights.key), value(weights.value), up(weights.up),
      down(weights.down), words(weights.words), state(tokens), in(TOKENS * WIDTH),
      queries(TOKENS * WIDTH), keys(TOKENS * WIDTH), values(TOKENS * WIDTH),
      change(TOKENS * WIDTH), hidden(TOKENS * HIDDEN), logits(TOKENS * WORDS);
  norm<<<TOKENS, LANES>>>(state.data, in.data);
  product<<<TOKENS, LANES>>>(in.data, query.data, queries.data, WIDTH, WIDTH);
  product<<<TOKENS, LANES>>>(in.data, key.data, keys.data, WIDTH, WIDTH);
  product<<<TOKENS, LANES>>>(in.data, value.data, values.data, WIDTH, WIDTH);
  attend<<<TOKENS, LANES>>>(queries.data, keys.data, values.data, change.data);
  add<<<TOKENS, WIDTH>>>(state.data, change.data);
  norm<<<TOKENS, LANES>>>(state.data, in.data);
  product<<<TOKENS, LANES>>>(in.data, up.data, hidden.data, WIDTH, HIDDEN);
  activate<<<TOKENS, HIDDEN>>>(hidden.data);
  product<<<TOKENS, LANES>>>(hidden.data, down.data, change.data, HIDDEN, WIDTH);
  add<<<TOKENS, WIDTH>>>(state.data, change.data);
  norm<<<TOKENS, LANES>>>(state.data, in.data);
  product<<<TOKENS, LANES>>>(in.data, words.data, logits.data, WIDTH, WORDS);

  std::vector<float> found = logits.read();
  Matrix right = expected(Matrix(tokens.begin(), tokens.end()), weights);
  for (unsigned at = 0; at < found.size(); at++)
    REQUIRE(std::fabs(found[at] - right[at]) < 1e-4, "logit %u is %g and not %g", at,
            double(found[at]), right[at]);
  Digest digest;
  digest.add(found);
  return digest.value;
}
