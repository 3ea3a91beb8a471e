// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/measure.h"
#include "unwind/tables.h"

static uint64_t rows_unsupported(const void *stats)
{
	const struct tables_stats *tables = stats;
	uint64_t sum = 0;

	for (int i = 0; i < UNSUPPORTED_COUNT; i++)
		sum += tables->unsupported[i];
	return sum;
}

static const struct measure_label state = {.name = "state"};

#define AT(member) MEASURE_AT(tables_stats, member)

static const struct measure rows[] = {
	{"unwind_tables", "tables", GAUGE, "Unwind tables, one for each distinct content.",
	 AT(tables)},
	{"unwind_rows", "rows", GAUGE, "Rows of the unwind tables.", AT(rows)},
	{"unwind_rows_unsupported", NULL, GAUGE,
	 "Rows of the unwind tables whose rule can't be expressed.", .count = rows_unsupported},
	{"unwind_pending", "pending", GAUGE, "Unwind tables that are being made.", AT(pending)},
	{"unwind_built_total", NULL, COUNTER, "Unwind tables made.", AT(built)},
	{"unwind_shared_total", NULL, COUNTER,
	 "Files whose table was there, made of another file of the same content.", AT(shared)},
	{"unwind_evicted_total", "evicted", COUNTER,
	 "Tables let go to make room (bpf.tables_bytes).", AT(evicted)},
	{"unwind_refused_total", "refused", COUNTER, "Unwind tables that found no room.",
	 AT(refused)},
	{"unwind_failed_total", "failed", COUNTER,
	 "Files whose unwind information can't be read or makes no sense.", AT(failed)},
	{"unwind_bare_total", NULL, COUNTER, "Files without unwind information.", AT(bare)},
	{"unwind_made_total", "made", COUNTER,
	 "Tables built again with rows made from code, where a file has no unwind information.",
	 AT(made)},
	{"unwind_made_functions", "made_functions", GAUGE,
	 "Functions whose rows were made from code.", AT(made_functions)},
	{"unwind_made_refused", "made_refused", GAUGE,
	 "Places of code without unwind information whose function isn't understood.",
	 AT(made_refused)},
	{"unwind_bytes", "bytes", GAUGE,
	 "Memory of unwind tables and mappings in the kernel: what they take, what is allocated, "
	 "what may be.",
	 AT(arena.used), .label = &state, .label_is = "used"},
	{"unwind_bytes", NULL, GAUGE, NULL, AT(arena.bytes), .label = &state,
	 .label_is = "allocated"},
	{"unwind_bytes", "bytes_max", GAUGE, NULL, AT(arena.bytes_max), .label = &state,
	 .label_is = "max"},
};

const struct measures unwind_measures = {"Unwind tables", "status.unwind", MEASURE_ROWS(rows)};
