// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "api/metrics/metrics_lines.h"
#include "kind/loss_names.h"

static void put_truncated(void *arg, const struct target *target)
{
	struct buf *out = arg;

	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++) {
		if (!target->truncated[i] || !target->match.probes)
			continue;
		buf_printf(out, "stackprobe_process_stack_truncated_total{pid=\"%d\",comm=\"",
			   (int)target->pid);
		metrics_label(out, target->comm, strnlen(target->comm, sizeof(target->comm)));
		buf_char(out, '"');
		metrics_container(out, target->container);
		buf_printf(out, ",cause=\"%s\"} %llu\n", truncation_name(i),
			   (unsigned long long)target->truncated[i]);
	}
}

static void put_bytes(struct buf *out, const struct arena_stats *arena)
{
	metrics_head(out, "unwind_bytes", "gauge",
		     "Memory of unwind tables and mappings in the kernel: what they take, what is "
		     "allocated, what may be.");
	buf_printf(out,
		   "stackprobe_unwind_bytes{state=\"used\"} %llu\n"
		   "stackprobe_unwind_bytes{state=\"allocated\"} %llu\n"
		   "stackprobe_unwind_bytes{state=\"max\"} %llu\n",
		   (unsigned long long)arena->used, (unsigned long long)arena->bytes,
		   (unsigned long long)arena->bytes_max);
}

void metrics_unwind(struct buf *out, const struct services *services,
		    const struct engine_stats *stats, bool of_processes)
{
	const struct tables_stats *tables = &stats->targets.tables;
	uint64_t unsupported = 0;

	for (int i = 0; i < UNSUPPORTED_COUNT; i++)
		unsupported += tables->unsupported[i];
	metrics_one(out, "unwind_tables", "gauge", "Unwind tables, one for each distinct content.",
		    (double)tables->tables);
	metrics_one(out, "unwind_rows", "gauge", "Their rows.", (double)tables->rows);
	metrics_one(out, "unwind_rows_unsupported", "gauge",
		    "Of these, rows whose rule can't be expressed.", (double)unsupported);
	put_bytes(out, &tables->arena);
	metrics_one(out, "unwind_pending", "gauge", "Tables on their way.",
		    (double)tables->pending);
	metrics_one(out, "unwind_built_total", "counter", "Tables made.", (double)tables->built);
	metrics_one(out, "unwind_shared_total", "counter",
		    "Files whose table was there, made of another file of the same content.",
		    (double)tables->shared);
	metrics_one(out, "unwind_evicted_total", "counter",
		    "Tables let go to make room (bpf.tables_bytes).", (double)tables->evicted);
	metrics_one(out, "unwind_refused_total", "counter", "Tables that found no room.",
		    (double)tables->refused);
	metrics_one(out, "unwind_failed_total", "counter",
		    "Files whose unwind information can't be read or makes no sense.",
		    (double)tables->failed);
	metrics_one(out, "unwind_bare_total", "counter", "Files without unwind information.",
		    (double)tables->bare);
	if (!of_processes)
		return;
	metrics_head(out, "process_stack_truncated_total", "counter",
		     "Weight of stacks that do not reach their root, by process and cause.");
	engine_targets(services->engine, put_truncated, out);
}
