// SPDX-License-Identifier: GPL-2.0-only
// The end of the host's program: it reads what lanes begin with, and writes what they
// leave of each program.

#include <unistd.h>

static void all(int is_input, void *bytes, u64 count) {
    while (count) {
        i64 done = is_input ? read(0, bytes, count) : write(1, bytes, count);
        if (done <= 0) _exit(1);
        bytes = (u8 *)bytes + done;
        count -= done;
    }
}

int main(void) {
    static u8 in[LANES * RECORD] __attribute__((aligned(16)));
    static u8 out[LANES * RECORD] __attribute__((aligned(16)));
    all(1, in, sizeof in);
    for (u64 at = 0; at < sizeof programs / sizeof *programs; at++) {
        __builtin_memset(out, 0, sizeof out);
        programs[at](in, out);
        all(0, out, sizeof out);
    }
    return 0;
}
