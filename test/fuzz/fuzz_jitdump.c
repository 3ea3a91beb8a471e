// SPDX-License-Identifier: GPL-2.0-or-later
/* A program's jitdump: its records behind a header, read while the file grows. The first byte says
 * how much is there at first; a header whose bytes are all in the input is read as well. */
#include "fuzz.h"

#include "jit/jit_memory.h"
#include "jit/jitdump.h"
#include "jit/jitdump_record.h"
#include "programs/jit_dump.h"

#define PID   77
#define WHOSE 1
#define NOW   1000

static void demand_rows(const struct jitdump *dump)
{
	struct jit_rows rows;

	if (jitdump_make_rows(dump, &rows) < 0)
		return;
	for (size_t i = 0; i < rows.count; i++) {
		const struct jit_piece *piece = &rows.pieces[i];
		struct rule rule;

		demand(piece->end > piece->start);
		demand(!i || piece->start >= rows.pieces[i - 1].end);
		image_find(&rows.image, piece->at + (piece->end - piece->start) / 2, &rule);
	}
	jit_rows_done(&rows);
}

static void demand_names(const struct jitdump *dump, const uint8_t *data, size_t bytes)
{
	for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
		uint64_t address;
		size_t len = 1;

		memcpy(&address, data + i, sizeof(address));
		for (unsigned more = 0; more < 4; more++) {
			const char *name = jitdump_find(dump, address + more, i, i + more, &len);

			demand(!name || (len > 0 && len <= JITDUMP_NAME_MAX));
			demand(!name || name[len - 1] != '\0');
		}
	}
}

static void read_whole(const uint8_t *data, size_t bytes)
{
	const struct jitdump_source source = {fuzz_file(data, bytes), PID, WHOSE, NOW};
	struct jitdump *dump;

	if (jitdump_read(&dump, NULL, &source) == 0)
		jitdump_unref(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static uint8_t file[FUZZ_FILE_MAX];
	const struct dump_header header = dump_header(PID);
	struct jitdump *first = NULL, *dump = NULL;

	if (!bytes || bytes > sizeof(file) - sizeof(header))
		return 0;
	read_whole(data, bytes);
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), data + 1, bytes - 1);
	size_t early = sizeof(header) + (bytes - 1) * data[0] / UINT8_MAX;
	struct jitdump_source source = {fuzz_file(file, early), PID, WHOSE, NOW / 2};

	if (jitdump_read(&first, NULL, &source) == 0) {
		source.fd = fuzz_file(file, sizeof(header) + bytes - 1);
		source.now_ns = NOW;
		if (jitdump_read(&dump, first, &source) == 0) {
			demand_names(dump, data, bytes);
			demand_rows(dump);
			jitdump_unref(dump);
		}
		jitdump_unref(first);
	}
	demand(jit_memory_taken() == 0); /* all was given back */
	return 0;
}
