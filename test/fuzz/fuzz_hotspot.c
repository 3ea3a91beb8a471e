// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes as a file with a Java VM, and as damage to a process's memory: the first byte tells the
 * version, each 12 that follow a place and the word that is written there.
 */
#include "fuzz.h"

#include "unit/java/vm/vm_maker.h"

#define READS_MAX 200000

static bool is_in_blob(uint16_t offset)
{
	return offset <= 8 * HOTSPOT_BLOB_WORDS_MAX - 8;
}

static void check_walk(const struct hotspot *walk)
{
	bool has_interpreter = false;

	for (size_t i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		const struct hotspot_heap *heap = &walk->heaps[i];

		demand(heap->low <= heap->high && heap->high - heap->low <= 4ULL << 30);
		demand(!i || !heap->high || walk->heaps[i - 1].high <= heap->low);
		has_interpreter |=
			walk->interpreter_from >= heap->low && walk->interpreter_to <= heap->high;
	}
	demand(has_interpreter && walk->interpreter_from < walk->interpreter_to);
	demand(walk->frozen_from <= walk->frozen_to && walk->carrier_from <= walk->carrier_to);
	demand(walk->segment_shift >= 3 && walk->segment_shift <= 16);
	demand(walk->block_bytes >= 4 && walk->block_bytes <= 64);
	demand(walk->blob_words > 0 && walk->blob_words <= HOTSPOT_BLOB_WORDS_MAX);
	demand(is_in_blob(walk->blob_header) && is_in_blob(walk->blob_size) &&
	       is_in_blob(walk->blob_complete) && is_in_blob(walk->blob_frame_size) &&
	       is_in_blob(walk->blob_code) && is_in_blob(walk->nmethod_id) &&
	       is_in_blob(walk->nmethod_deopt) && is_in_blob(walk->nmethod_orig_pc));
	demand(walk->nmethod_deopt_mh == HOTSPOT_NO || is_in_blob(walk->nmethod_deopt_mh));
	demand(walk->method_const < 4096 && walk->const_bytes <= 4096 && walk->const_pool < 4096 &&
	       walk->const_code_size < 4096 && walk->const_name < 4096 &&
	       walk->const_signature < 4096);
}

static void check_layout(const struct jvm_layout *layout)
{
	check_walk(&layout->walk);
	demand(layout->const_flags_bytes == 2 || layout->const_flags_bytes == 4);
	demand(layout->pcdesc_bytes >= 4 && layout->pcdesc_bytes <= 64);
	demand(layout->pcdesc_pc + 4 <= layout->pcdesc_bytes &&
	       layout->pcdesc_scope + 4 <= layout->pcdesc_bytes);
	demand((layout->nmethod_immutable == HOTSPOT_NO) ==
		       (layout->nmethod_immutable_size == HOTSPOT_NO) ||
	       layout->nmethod_immutable == HOTSPOT_NO);
	demand(is_in_blob(layout->nmethod_metadata) && is_in_blob(layout->nmethod_scopes_pcs) &&
	       is_in_blob(layout->nmethod_scopes_data));
}

static void read_process(const uint8_t *data, size_t bytes)
{
	static const unsigned versions[] = {8, 21, 23, 25};
	struct jvm_layout layout;
	const char *missing;
	struct vm_made vm;

	vm_make(&vm, versions[data[0] % 4]);
	for (size_t i = 1; i + 12 <= bytes; i += 12) {
		uint32_t at;

		memcpy(&at, data + i, sizeof(at));
		memcpy(vm.bytes + at % (VM_BYTES - 8), data + i + 4, sizeof(uint64_t));
	}
	int r = vm_ask(&vm, &layout, &missing);
	demand(vm.reads < READS_MAX);
	if (r == 0)
		check_layout(&layout);
	else
		demand(r == -ENOTSUP || r == -EBADMSG || r == -EAGAIN || r == -EFAULT);
	vm_made_done(&vm);
}

static void read_file(const uint8_t *data, size_t bytes)
{
	struct hotspot_file file;
	struct elf_image image;

	int fd = fuzz_file(data, bytes);
	if (elf_read(fd, &image) < 0)
		return;
	if (hotspot_find(fd, &image, &file) == 0) {
		for (size_t i = 0; i < HOTSPOT_SYMBOL_COUNT; i++)
			demand(file.symbols[i] != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!bytes || bytes > FUZZ_FILE_MAX)
		return 0;
	read_process(data, bytes);
	read_file(data, bytes);
	return 0;
}
