// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process tells of the code that it makes. The first byte says how much was there before the
 * window, and how much before the process. */
#include "fuzz.h"

#include "base/buf.h"
#include "symbol/perfmap.h"

#define COUNT 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct perfmap_question questions[COUNT] = {0};
	struct perfmap_lookup lookup = {
		.questions = questions, .count = COUNT, .names = BUF_INIT(FUZZ_FILE_MAX)};

	if (!bytes)
		return 0;
	lookup.settled = (bytes - 1) * (data[0] >> 4) / 15;
	lookup.from = (bytes - 1) * (data[0] & 15) / 15;
	for (unsigned i = 0; i < COUNT; i++)
		questions[i].address = i * 0x10ull;
	int r = perfmap_read(fuzz_file(data + 1, bytes - 1), &lookup);
	demand(r <= 0 && lookup.end <= bytes);
	for (unsigned i = 0; i < COUNT && r == 0; i++) {
		demand(questions[i].len <= PERFMAP_NAME_MAX);
		demand(!questions[i].len ||
		       questions[i].name + questions[i].len <= lookup.names.len);
	}
	buf_done(&lookup.names);
	return 0;
}
