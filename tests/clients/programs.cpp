// SPDX-License-Identifier: GPL-2.0-only
// The programs in HIP.

#include "client.h"

uint64_t sums();
uint64_t matrices();
uint64_t waiting();
uint64_t streams();
uint64_t scratch();
uint64_t primitives();
uint64_t inference();
uint64_t printing();
uint64_t sharing();
uint64_t random_numbers();
uint64_t grid();
uint64_t crowd();
uint64_t devices();

const Program PROGRAMS[] = {
    {"sums", sums},       {"matrices", matrices},     {"waiting", waiting},
    {"streams", streams}, {"scratch", scratch},       {"primitives", primitives},
    {"crowd", crowd},     {"inference", inference},   {"printing", printing},
    {"grid", grid},       {"random", random_numbers}, {"sharing", sharing},
    {"devices", devices}, {nullptr, nullptr},
};
