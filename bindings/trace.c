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
 * gp_trace() - tell something
 * @point: what
 * @event: of which queue
 *
 * Context: any.
 */
void gp_trace(enum gp_point point, const struct gp_event *event)
{
	switch (point) {
	case GP_POINT_INVERSION:
		trace_gp_inversion(event);
		break;
	case GP_POINT_STOP:
		trace_gp_stop(event);
		break;
	case GP_POINT_START:
		trace_gp_start(event);
		break;
	case GP_POINT_FALLBACK:
		trace_gp_fallback(event);
		break;
	}
}
