// SPDX-License-Identifier: GPL-2.0-or-later
/* The checksum of a program's list and files: whether there is anything new in them. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "jit/jit_code.h"

static uint64_t sum_seed;

static void seed_sum(void)
{
	sum_seed = hash_seed();
}

/* Adds those bytes of the program's memory to the sum; bytes that can't be read are told from
 * others. `to` has room for them. */
static int sum_bytes(const struct process_memory *memory, uint64_t address, void *to, size_t bytes,
		     uint64_t *sum)
{
	int r = memory->read(memory->arg, address, to, bytes);

	*sum = r == 0 ? hash_bytes(*sum, to, bytes) : hash_bytes(*sum, &r, sizeof(r));
	return r;
}

static void sum_file(const struct process_memory *memory, const struct jit_entry *entry,
		     uint8_t *room, uint64_t *sum)
{
	struct jit_elf elf;

	*sum = hash_bytes(*sum, entry, sizeof(*entry));
	if (!entry->elf_bytes || entry->elf_bytes > JIT_ELF_MAX ||
	    sum_bytes(memory, entry->elf, room, entry->elf_bytes, sum) < 0 ||
	    jit_elf_read(&elf, room, entry->elf_bytes) < 0)
		return;
	if (elf.is_relocatable && elf.eh_frame_at && elf.eh_frame_bytes &&
	    elf.eh_frame_bytes <= JIT_ELF_MAX)
		sum_bytes(memory, elf.eh_frame_at, room, elf.eh_frame_bytes, sum);
}

uint64_t jit_code_sum(const struct process_memory *memory, uint64_t descriptor)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + JIT_CPU_NS;
	_cleanup_(jit_list_done) struct jit_list list = {0};
	_cleanup_free_ uint8_t *room = malloc(JIT_ELF_MAX);

	pthread_once(&once, seed_sum);
	if (!room || jit_list_read(memory, descriptor, &list) < 0)
		return 0;
	uint64_t sum = hash_bytes(sum_seed, &list.count, sizeof(list.count));
	for (size_t i = 0; i < list.count; i++) {
		if (clock_ns(CLOCK_THREAD_CPUTIME_ID) > end_ns)
			return 0;
		sum_file(memory, &list.entries[i], room, &sum);
	}
	return sum;
}
