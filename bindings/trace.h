/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracepoints.  Names and fields are an interface: docs/ABI describes it. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM amd_gpreempt

#if !defined(GP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GP_TRACE_H

#include <linux/tracepoint.h>

#include "shim.h"

DECLARE_EVENT_CLASS(gp_decision,
	TP_PROTO(const struct gp_event *event),
	TP_ARGS(event),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(u32, node)
		__field(int, pid)
		__field(u32, queue_id)
		__field(u32, prio)
		__field(u32, eff_prio)
		__string(reason, event->reason)
		__field(u64, age_ns)
	),
	TP_fast_assign(
		__entry->gpu_id = event->gpu_id;
		__entry->node = event->node;
		__entry->pid = event->pid;
		__entry->queue_id = event->queue_id;
		__entry->prio = event->prio;
		__entry->eff_prio = event->eff_prio;
		/* Releases differ in what __assign_str() takes. */
		strscpy(__get_str(reason), event->reason, __get_dynamic_array_len(reason));
		__entry->age_ns = event->age_ns;
	),
	TP_printk("gpu_id=%u node=%u pid=%d queue_id=%u prio=%u eff_prio=%u reason=%s age_ns=%llu",
		  __entry->gpu_id, __entry->node, __entry->pid, __entry->queue_id,
		  __entry->prio, __entry->eff_prio, __get_str(reason), __entry->age_ns)
);

DEFINE_EVENT(gp_decision, gp_inversion,
	TP_PROTO(const struct gp_event *event), TP_ARGS(event));
DEFINE_EVENT(gp_decision, gp_stop,
	TP_PROTO(const struct gp_event *event), TP_ARGS(event));
DEFINE_EVENT(gp_decision, gp_start,
	TP_PROTO(const struct gp_event *event), TP_ARGS(event));
DEFINE_EVENT(gp_decision, gp_fallback,
	TP_PROTO(const struct gp_event *event), TP_ARGS(event));

#endif /* GP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
