/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes as the memory of a process, from one address on. */
#pragma once

#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "proc/process_memory.h"

struct memory {
	const uint8_t *data;
	size_t bytes;
	uint64_t at;		/* where they lie */
	size_t zeroes;		/* so many follow them */
	size_t read_bytes_max;	/* that may be asked for */
	unsigned int reads_max; /* 0: any number */
	size_t read_bytes;
	unsigned int reads;
};

/* struct process_memory's read(): `arg` is a struct memory. */
static inline int made_memory_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct memory *memory = arg;
	uint64_t at = address - memory->at;

	demand(++memory->reads <= memory->reads_max || !memory->reads_max);
	memory->read_bytes += bytes;
	demand(memory->read_bytes <= memory->read_bytes_max);
	memset(to, 0, bytes);
	if (at >= memory->bytes)
		return -EFAULT;
	memcpy(to, memory->data + at,
	       bytes < memory->bytes - at ? bytes : (size_t)(memory->bytes - at));
	return bytes <= (memory->bytes - at) + memory->zeroes ? 0 : -EFAULT;
}
