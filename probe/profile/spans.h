/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process's mappings as the unwinder has them (struct span, bpf/packed.h): a run of the arena,
 * never changed once it is told to the kernel; shared with processes that it forks. It keeps the
 * tables of the files that are mapped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/space.h"
#include "unwind/tables.h"

struct spans {
	unsigned refs;
	uint32_t start, count; /* struct target_value; 0: it has none */
	bool pending;	       /* some of its tables are on their way */
	uint32_t words;	       /* that it takes */
	struct arena *arena;
	struct table **tables; /* of its files, NULL where there is none */
	size_t tables_count;
};

/* Writes the mappings that a space has now; asks for tables that aren't there. `pid` has them.
 * -ENOMEM, -ENOSPC: the arena has no room. */
int spans_write(struct spans **ret, struct arena *arena, struct tables *tables,
		const struct space *space, pid_t pid);

struct spans *spans_ref(struct spans *spans);
void spans_unref(struct spans *spans);

/* A stack of the process went through code of that file: its table was used. */
void spans_used(const struct spans *spans, const struct symbol_file *file);

/* Whether both say the same to the unwinder. */
bool spans_are_equal(const struct spans *a, const struct spans *b);
