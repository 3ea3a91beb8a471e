/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel side's unwinder, run natively on a recorded stack. Not for several threads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "unwind/image.h"

struct replay_map {
	uint64_t start, end, file_offset;
	const struct table_image *image; /* NULL: no table (kind tells why) */
	enum span_kind kind;
};

struct replay {
	const struct replay_map *maps; /* executable mappings by address */
	size_t maps_count;
	uint64_t regs[17]; /* x86-64 DWARF numbers, 16 = pc */
	int (*read)(void *arg, void *to, size_t bytes, uint64_t address); /* 0 or -EFAULT */
	void *arg;
};

/* The address that a mapping's first byte was linked for; its place in the file, where no segment
 * is in it. Mappings begin with a page, segments anywhere in it. */
uint64_t replay_linked_address(const struct replay_map *map, const struct elf_segment *segments,
			       size_t count);

/* Frames leaf first: pcs, of which the first is exact and the others are return addresses (unless a
 * signal came there). Returns their number; *why: enum truncation (TRUNCATED_NOT: whole). */
size_t replay_walk(const struct replay *replay, uint64_t *frames, size_t max, unsigned *why);

/* Forgets the images' places in the arena; they may be freed then. */
void replay_forget(void);
