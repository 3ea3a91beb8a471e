// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/format/output.h"

#include <string.h>

#include "base/cleanup.h"

static const struct output outputs[] = {
	{"svg", "image/svg+xml", .picture = true, .write = svg_write},
	{"html", "text/html; charset=utf-8", .picture = true, .write = html_write},
	{"folded", "text/plain; charset=utf-8", .write = folded_write},
	{"json", "application/json", .write = json_tree_write},
	{"frames", "application/octet-stream", .write = frames_write, .modules = true},
	{"jsonl", "application/x-ndjson", .write = jsonl_write},
	{"pb.gz", "application/octet-stream", .write = pprof_write, .places = true, .values = true},
};

const struct output *output_find(const char *extension)
{
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		if (strcmp(outputs[i].extension, extension) == 0)
			return &outputs[i];
	}
	return NULL;
}
