// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes as what the line reader answers, which may be a target's own words. */
#include "fuzz.h"

#include <string.h>

#include "base/cleanup.h"
#include "line_reader/protocol.h"
#include "elf/lines_state.h"

static void check_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		__asm__ volatile("" : : "r"(text[i])); /* it is there */
}

static void check(const struct lines *lines, uint64_t address)
{
	struct line_text texts[LINE_LEVELS];
	size_t count = lines_at(lines, address, texts);

	demand(count <= LINE_LEVELS);
	for (size_t i = 0; i < count; i++) {
		check_text(texts[i].file, texts[i].file_len);
		check_text(texts[i].name, texts[i].name_len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	_cleanup_buf_ struct buf answers = BUF_INIT(FUZZ_FILE_MAX);
	struct lines *lines;
	uint64_t address;

	if (!bytes || bytes > FUZZ_FILE_MAX)
		return 0;
	buf_add(&answers, data, bytes);
	demand(lines_take(&lines, &answers) == 0);
	demand(lines_bytes(lines) >= bytes);
	for (size_t at = 0; at + sizeof(address) <= bytes; at++) {
		memcpy(&address, data + at, sizeof(address));
		check(lines, address);
	}
	lines_free(lines);
	return 0;
}
