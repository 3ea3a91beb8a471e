// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of /proc/PID/maps: paths are what the target chose. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/maps.h"

static void parse(const uint8_t *line, size_t bytes)
{
	_cleanup_free_ char *text = malloc(bytes + 1);
	struct mapping mapping;

	demand(text != NULL);
	if (bytes)
		memcpy(text, line, bytes);
	text[bytes] = '\0';
	int r = maps_parse_line(text, &mapping);
	demand(r == 0 || r == 1 || r == -EINVAL || r == -ENOMEM);
	if (r != 1)
		return;
	demand(mapping.start < mapping.end);
	demand((mapping.path != NULL) == (mapping.kind == MAPPING_FILE));
	demand(!mapping.path || mapping.path[0] == '/');
	demand(!mapping.path || strlen(mapping.path) <= bytes);
	free(mapping.path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	while (bytes) {
		const uint8_t *end = memchr(data, '\n', bytes);
		size_t len = end ? (size_t)(end - data) : bytes;

		parse(data, len);
		data += len + (end != NULL);
		bytes -= len + (end != NULL);
	}
	return 0;
}
