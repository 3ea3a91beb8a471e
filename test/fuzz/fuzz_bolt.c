// SPDX-License-Identifier: GPL-2.0-or-later
/* A database of bbolt: the input is its pages from the third on, below right meta pages, for what
 * is wrong there is found by its checksum; and as it is. */
#include "fuzz.h"

#include <string.h>

#include "unit/container/bolt_maker.h"
#include "container/bolt.h"

static void look(int fd)
{
	static const char *const paths[][4] = {{"names", "id"}, {"names", "a", "pod"}, {"id"}};
	char text[128];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int r = bolt_get(fd, paths[i], text, sizeof(text));

		demand(r < (int)sizeof(text));
		demand(r < 0 || text[r] == '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct bolt_maker maker;
	size_t room = sizeof(maker.data) - 2 * BOLT_MAKER_PAGE;

	look(fuzz_file(data, bytes));
	bolt_begin(&maker);
	memcpy(maker.data + 2 * BOLT_MAKER_PAGE, data, bytes < room ? bytes : room);
	maker.pages = BOLT_MAKER_PAGES;
	bolt_meta(&maker, 0, bytes ? data[0] % 8 : 2, 1);
	look(fuzz_file((const uint8_t *)maker.data, sizeof(maker.data)));
	return 0;
}
