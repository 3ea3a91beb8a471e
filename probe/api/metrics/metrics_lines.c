// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/metrics/metrics_lines.h"

#include <string.h>

#include "api/status/container_texts.h"
#include "base/utf8.h"

void metrics_label(struct buf *out, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(text + at, len - at);

		if (n == 1 && (text[at] == '\\' || text[at] == '"'))
			buf_char(out, '\\');
		if (n == 1 && text[at] == '\n')
			buf_str(out, "\\n");
		else if (n)
			buf_add(out, text + at, n);
		else
			buf_str(out, UTF8_REPLACEMENT);
		at += n ? n : 1;
	}
}

static void put_label(struct buf *out, const char *name, const char *text)
{
	if (!text[0])
		return;
	buf_printf(out, ",%s=\"", name);
	metrics_label(out, text, strlen(text));
	buf_char(out, '"');
}

void metrics_container(struct buf *out, const struct container *container)
{
	struct container_labels labels;

	container_labels_of(&labels, container);
	put_label(out, "container", labels.container);
	put_label(out, "pod", labels.pod);
	put_label(out, "namespace", labels.pod_namespace);
}
