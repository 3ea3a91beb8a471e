// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes as a file with DWARF for the line reader, whole but for its main(): what it answers is read
 * as the daemon reads it, and is whole.
 */
int line_reader_main(void);
#define main line_reader_main
#include "line_reader/line_reader.c"
#undef main

#include "fuzz.h"

#include "elf/lines_state.h"

#define ADDRESSES 2048 /* from 0 on */
#define STEP	  4

static struct place places[ADDRESSES];

static void check(const struct lines *lines)
{
	struct line_text texts[LINE_LEVELS];

	for (size_t i = 0; i < ADDRESSES; i++) {
		size_t count = lines_at(lines, places[i].address, texts);

		demand(count <= LINE_LEVELS);
		for (size_t level = 0; level < count; level++) {
			demand(texts[level].file_len <= 2 * LINE_TEXT_MAX + 1);
			demand(texts[level].name_len <= LINE_TEXT_MAX);
			demand(texts[level].line <= INT32_MAX);
		}
		demand(!count || !texts[count - 1].name_len);
	}
}

/* What was said, by its own heads. */
static size_t said(const struct buf *text)
{
	struct line_answer head;
	size_t at = 0, count = 0;

	for (; at < text->len; count++) {
		demand(text->len - at >= sizeof(head));
		memcpy(&head, text->data + at, sizeof(head));
		demand(head.levels && head.levels <= LINE_LEVELS_MAX);
		at += sizeof(head) + head.levels * sizeof(struct line_level) + head.text_bytes;
	}
	demand(at == text->len);
	return count;
}

static struct buf ask(Dwarf *dwarf)
{
	struct buf answers = BUF_INIT(SIZE_MAX);
	struct reader reader = {.dwarf = dwarf, .places = places, .count = ADDRESSES};

	for (size_t i = 0; i < ADDRESSES; i++)
		places[i] = (struct place){.address = i * STEP};
	reader.out = open_memstream(&answers.data, &answers.len);
	demand(reader.out);
	read_units(&reader);
	demand(fclose(reader.out) == 0);
	answers.capacity = answers.len;
	return answers;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct lines *lines;

	if (bytes > FUZZ_FILE_MAX)
		return 0;
	elf_version(EV_CURRENT);
	Dwarf *dwarf = dwarf_begin(fuzz_file(data, bytes), DWARF_C_READ);
	if (!dwarf)
		return 0;
	struct buf answers = ask(dwarf);
	size_t count = said(&answers);
	demand(lines_take(&lines, &answers) == 0);
	demand(lines_bytes(lines) >= count * sizeof(struct line_answer));
	check(lines);
	lines_free(lines);
	dwarf_end(dwarf);
	return 0;
}
