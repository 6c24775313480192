// SPDX-License-Identifier: GPL-2.0-only
// Programs of one runtime, in one process, since the runtime takes long to begin.
//
// usage: clients DIRECTORY PROGRAM...
//
// Each program runs one round. Once there is a file DIRECTORY/go, each goes on, round
// after round, until there is a file with its name. Each round prints the program's name
// and the digest of what it left, and ends the process where that is wrong. Before the
// first one of those that go on, there is a line with the word begin and the name.

#include <unistd.h>

#include <string>

#include "client.h"

namespace {

const Program &program(const char *name) {
  for (const Program *each = PROGRAMS; each->name; each++)
    if (!strcmp(each->name, name))
      return *each;
  fprintf(stderr, "no program %s\n", name);
  exit(2);
}

void run(const Program &program) {
  uint64_t digest = program.round();
  printf("%s %016llx\n", program.name, static_cast<unsigned long long>(digest));
  fflush(stdout);
}

bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

} // namespace

int main(int count, char **words) {
  if (count < 3) {
    fprintf(stderr, "usage: clients DIRECTORY PROGRAM...\n");
    return 2;
  }
  std::string place = std::string(words[1]) + "/";
  for (int at = 2; at < count; at++)
    run(program(words[at]));
  while (!exists(place + "go"))
    usleep(20000);
  for (int at = 2; at < count; at++) {
    printf("begin %s\n", words[at]);
    do
      run(program(words[at]));
    while (!exists(place + words[at]));
  }
  return 0;
}
