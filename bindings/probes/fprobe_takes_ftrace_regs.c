// SPDX-License-Identifier: GPL-2.0-only
/* Compiles where a function's probe is given what ftrace has of the registers. */
#include <linux/fprobe.h>

#ifndef CONFIG_FPROBE
#error "functions have no probes of their own"
#endif

void gp_probe(struct fprobe *probe, int (*entry)(struct fprobe *, unsigned long, unsigned long,
						 struct ftrace_regs *, void *));

void gp_probe(struct fprobe *probe, int (*entry)(struct fprobe *, unsigned long, unsigned long,
						 struct ftrace_regs *, void *))
{
	probe->entry_handler = entry;
}
