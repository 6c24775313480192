// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints as functions: the static branch that makes a disabled one
 * free stays in C, because Rust's needs generated files that not every
 * distribution ships.
 */
#include <linux/module.h>

#include "shim.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * gp_trace_inversion() - a queue waits while a lower one runs
 * @event: what to tell
 */
void gp_trace_inversion(const struct gp_event *event)
{
	trace_gp_inversion(event);
}

/**
 * gp_trace_stop() - a queue is stopped
 * @event: what to tell
 */
void gp_trace_stop(const struct gp_event *event)
{
	trace_gp_stop(event);
}

/**
 * gp_trace_start() - a queue is started
 * @event: what to tell
 */
void gp_trace_start(const struct gp_event *event)
{
	trace_gp_start(event);
}

/**
 * gp_trace_fallback() - a queue is started because something has gone wrong
 * @event: what to tell
 */
void gp_trace_fallback(const struct gp_event *event)
{
	trace_gp_fallback(event);
}
