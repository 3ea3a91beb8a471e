// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes as stacks-oncpu.txt; the first one tells whether a right first line stands before them. */
#include "fuzz.h"

#include <string.h>

#include "base/utf8.h"
#include "java/files/jfrfile.h"

#define HEAD	"stackprobe-jfr\t1\toncpu\t1\t1\t2\t0\t0\t0\t0\t0\nm\ta.B\tc\t(I)V\n"
#define MAXIMUM (1 << 16)

static void check_text(const char *text, size_t len)
{
	while (len) {
		size_t n = utf8_sequence(text, len);

		demand(n && *text);
		text += n;
		len -= n;
	}
}

static void check(const struct jfrfile *file)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < file->methods_count; i++) {
		demand(file->methods[i].signature_len <= file->methods[i].name_len);
		check_text(file->text + file->methods[i].name, file->methods[i].name_len);
	}
	for (size_t i = 0; i < file->stacks_count; i++) {
		const struct jfr_stack *stack = &file->stacks[i];

		sum += stack->weight;
		demand(stack->frames_count <= JFRFILE_FRAMES_MAX);
		demand(stack->frames + stack->frames_count <= file->frames_count);
		if (stack->thread_len)
			check_text(file->text + stack->thread, stack->thread_len);
		for (size_t f = 0; f < stack->frames_count; f++)
			demand(file->frames[stack->frames + f].method < file->methods_count);
	}
	demand(sum == file->weight);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static char text[MAXIMUM + sizeof(HEAD)];
	struct jfrfile *file;
	size_t len = 0;

	if (bytes < 1 || bytes > MAXIMUM)
		return 0;
	if (data[0] & 1) {
		len = strlen(HEAD);
		memcpy(text, HEAD, len);
	}
	memcpy(text + len, data + 1, bytes - 1);
	if (jfrfile_parse(&file, text, len + bytes - 1, "oncpu") == 0) {
		check(file);
		jfrfile_free(file);
	}
	return 0;
}
