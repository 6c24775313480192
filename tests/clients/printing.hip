// SPDX-License-Identifier: GPL-2.0-only
// Kernels that print. The runtime prints for them: a wave hands over what it has to say by
// atomic operations in the host's memory, and waits for the answer.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "hip.h"

namespace {

constexpr unsigned GROUPS = 3, WIDTH = 128, ITEMS = GROUPS * WIDTH;

__global__ void tell(const unsigned *in, int *printed) {
  unsigned group = blockIdx.x, at = group * WIDTH + threadIdx.x, value = in[at];
  if (value % 3 == 0)
    printed[at] = printf("item %u of group %u has %08x, its square is %llu, which is %s\n", at,
                         group, value, 1ull * value * value, value % 2 ? "odd" : "even");
  else if (value % 5 == 0)
    printed[at] = printf("a half of item %u is %.1f\n", at, value / 2.0);
}

std::string told(unsigned at, unsigned value) {
  char line[200] = "";
  if (value % 3 == 0)
    snprintf(line, sizeof line, "item %u of group %u has %08x, its square is %llu, which is %s\n",
             at, at / WIDTH, value, 1ull * value * value, value % 2 ? "odd" : "even");
  else if (value % 5 == 0)
    snprintf(line, sizeof line, "a half of item %u is %.1f\n", at, value / 2.0);
  return line;
}

// What is printed to this process's output while it lives goes to memory.
class Caught {
  int file, output;

public:
  Caught() : file(memfd_create("printed", 0)), output(dup(STDOUT_FILENO)) {
    fflush(stdout);
    REQUIRE(file >= 0 && output >= 0 && dup2(file, STDOUT_FILENO) >= 0, "no file for the output");
  }
  // Ends it, and returns the lines in order.
  std::vector<std::string> lines() {
    fflush(stdout);
    dup2(output, STDOUT_FILENO);
    std::string text(lseek(file, 0, SEEK_END), ' ');
    REQUIRE(pread(file, text.data(), text.size(), 0) == ssize_t(text.size()), "no output");
    close(file);
    close(output);
    std::vector<std::string> lines;
    for (size_t from = 0, end; from < text.size(); from = end + 1) {
      end = std::min(text.find('\n', from), text.size() - 1);
      lines.push_back(text.substr(from, end + 1 - from));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
};

} // namespace

uint64_t printing() {
  Numbers numbers(8);
  std::vector<unsigned> in(ITEMS);
  for (unsigned &each : in)
    each = numbers.next();
  Buffer<unsigned> from(in);
  Buffer<int> counts(ITEMS);
  Caught caught;
  tell<<<GROUPS, WIDTH>>>(from.data, counts.data);
  hipError_t error = hipDeviceSynchronize();
  std::vector<std::string> lines = caught.lines(), expected;
  CHECK(error);
  std::vector<int> printed = counts.read();
  Digest digest;
  for (unsigned at = 0; at < ITEMS; at++) {
    std::string line = told(at, in[at]);
    REQUIRE(printed[at] == int(line.size()), "item %u printed %d bytes", at, printed[at]);
    if (!line.empty())
      expected.push_back(line);
  }
  std::sort(expected.begin(), expected.end());
  REQUIRE(lines == expected, "the %zu lines that were printed", lines.size());
  for (const std::string &line : lines)
    digest.add(line.data(), line.size());
  return digest.value;
}
