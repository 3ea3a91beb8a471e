// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jit_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"

#define ELF_BYTES_ALL (64u << 20) /* of all files of a list */

static uint64_t sum_seed;

static void seed_sum(void)
{
	sum_seed = hash_seed();
}

/* Copies those bytes of the program's memory, and adds them to the file's checksum, or why they
 * can't be read. */
static int copy_bytes(struct jit_file *file, const struct process_memory *memory, uint64_t address,
		      size_t bytes, uint8_t **ret)
{
	uint8_t *to = malloc(bytes);

	if (!to)
		return -ENOMEM;
	int r = memory->read(memory->arg, address, to, bytes);
	file->checksum = r == 0 ? hash_bytes(file->checksum, to, bytes)
				: hash_bytes(file->checksum, &r, sizeof(r));
	if (r < 0)
		free(to);
	else
		*ret = to;
	return r;
}

static int copy_file(struct jit_file *file, const struct process_memory *memory,
		     const struct jit_entry *entry)
{
	if (!entry->elf_bytes)
		return -EBADMSG;
	if (entry->elf_bytes > JIT_ELF_MAX)
		return -EFBIG;
	int r = copy_bytes(file, memory, entry->elf, entry->elf_bytes, &file->bytes);
	if (r == 0)
		r = jit_elf_read(&file->elf, file->bytes, entry->elf_bytes);
	const struct jit_elf *elf = &file->elf;
	if (r < 0 || !elf->is_relocatable || !elf->eh_frame_at || !elf->eh_frame_bytes ||
	    elf->eh_frame_bytes > JIT_ELF_MAX)
		return r;
	r = copy_bytes(file, memory, elf->eh_frame_at, elf->eh_frame_bytes, &file->frames);
	return r == -ENOMEM ? r : 0;
}

static void file_done(struct jit_file *file)
{
	free(file->bytes);
	free(file->frames);
}

size_t jit_files_read(const struct process_memory *memory, const struct jit_list *list,
		      uint64_t *sum,
		      void (*each)(void *arg, const struct jit_entry *entry,
				   const struct jit_file *file, int error),
		      void *arg)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + JIT_CPU_NS, bytes = 0;
	bool is_known = true;
	size_t i;

	pthread_once(&once, seed_sum);
	*sum = hash_bytes(sum_seed, &list->count, sizeof(list->count));
	for (i = 0; i < list->count && clock_ns(CLOCK_THREAD_CPUTIME_ID) <= end_ns; i++) {
		const struct jit_entry *entry = &list->entries[i];
		struct jit_file file = {.checksum = hash_bytes(sum_seed, entry, sizeof(*entry))};
		bool has_room = entry->elf_bytes <= ELF_BYTES_ALL - bytes;
		int r = has_room ? copy_file(&file, memory, entry) : -EFBIG;

		bytes += has_room ? entry->elf_bytes : 0;
		is_known &= r != -ENOMEM;
		*sum = hash_bytes(*sum, &file.checksum, sizeof(file.checksum));
		if (each)
			each(arg, entry, &file, r);
		file_done(&file);
	}
	if (!is_known || i < list->count)
		*sum = 0;
	return i;
}
