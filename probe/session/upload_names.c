// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/upload_names.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "base/utf8.h"
#include "output/pprof/protobuf.h"
#include "kind/kind.h"

#define SERIES_BYTES 80

/* Numbers of fields in push/v1/push.proto and types/v1/types.proto. */
enum {
	REQUEST_SERIES = 1,
	SERIES_LABELS = 1,
	SERIES_SAMPLES = 2,
	LABEL_NAME = 1,
	LABEL_VALUE = 2,
	SAMPLE_PROFILE = 1,
};

/* Adds text as valid UTF-8: a host's name may be any bytes, and a server refuses others. */
static void add_clean(struct buf *out, const char *text)
{
	for (size_t len = strlen(text); len > 0;) {
		size_t bytes = utf8_sequence(text, len);

		if (bytes)
			buf_add(out, text, bytes);
		else
			buf_str(out, UTF8_REPLACEMENT);
		text += bytes ? bytes : 1;
		len -= bytes ? bytes : 1;
	}
}

static void add_label(struct buf *out, struct buf *label, const char *name, const char *value)
{
	_cleanup_buf_ struct buf text = BUF_INIT(SIZE_MAX);

	add_clean(&text, value);
	label->len = 0;
	protobuf_bytes(label, LABEL_NAME, name, strlen(name));
	protobuf_bytes(label, LABEL_VALUE, text.data, text.len);
	if (buf_error(&text))
		label->error = buf_error(&text);
	protobuf_bytes(out, SERIES_LABELS, label->data, label->len);
}

/* Writes the name of a series: of a second value that of its files, as a metric's name may be. */
static void name_series(enum probe probe, enum view view, char name[SERIES_BYTES])
{
	snprintf(name, SERIES_BYTES, "%s",
		 view == VIEW_ALL ? kind_get(probe)->upload.series : view_get(probe, view)->folder);
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) ? *c : '_';
}

void push_request(struct buf *out, const struct upload_names *names, enum probe probe,
		  enum view view, const struct upload_piece *piece)
{
	char name[SERIES_BYTES];
	_cleanup_buf_ struct buf series = BUF_INIT(SIZE_MAX);
	_cleanup_buf_ struct buf inner = BUF_INIT(SIZE_MAX);

	name_series(probe, view, name);
	add_label(&series, &inner, "__name__", name);
	add_label(&series, &inner, "service_name", names->service);
	if (names->host[0])
		add_label(&series, &inner, "host", names->host);
	add_label(&series, &inner, "probe", kind_get(probe)->name);
	inner.len = 0;
	protobuf_bytes(&inner, SAMPLE_PROFILE, piece->data, piece->bytes);
	protobuf_bytes(&series, SERIES_SAMPLES, inner.data, inner.len);
	int error = buf_error(&inner) ? buf_error(&inner) : buf_error(&series);
	if (error)
		out->error = error;
	else
		protobuf_bytes(out, REQUEST_SERIES, series.data, series.len);
}

static void add_escaped(struct buf *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (isalnum(c) || (c && strchr("-_.", c)))
			buf_char(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

/*
 * Writes a label's value within {…} of a name, which ends at , or } and is UTF-8; then escapes it
 * for a query.
 */
static void add_value(struct buf *out, const char *value, size_t len)
{
	for (size_t i = 0, bytes; i < len; i += bytes) {
		unsigned char c = (unsigned char)value[i];

		bytes = utf8_sequence(value + i, len - i);
		if (!bytes) {
			add_escaped(out, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
			bytes = 1;
		} else if (c == ',' || c == '}' || c == '{' || c < ' ' || c == 0x7f) {
			buf_char(out, '_');
		} else {
			add_escaped(out, value + i, bytes);
		}
	}
}

static void add_pair(struct buf *out, bool *first, const char *name, const char *value, size_t len)
{
	if (!len)
		return;
	buf_printf(out, "%s%s%%3D", *first ? "" : "%2C", name);
	add_value(out, value, len);
	*first = false;
}

static void add_text_pair(struct buf *out, bool *first, const char *name, const char *value)
{
	add_pair(out, first, name, value, strlen(value));
}

void ingest_target(struct buf *out, const struct upload_names *names, enum probe probe,
		   const struct upload_piece *piece, int64_t from, int64_t until,
		   uint64_t period_ns)
{
	const struct upload_kind *kind = &kind_get(probe)->upload;
	const struct upload_whose *whose = &piece->whose;
	const char *process = whose->process, *end = strchr(process, ']');
	uint64_t rate = kind->rate;
	bool first = true;

	if (!rate)
		rate = period_ns ? (NS_PER_S + period_ns / 2) / period_ns : 100;
	buf_str(out, "/ingest?name=");
	buf_str(out, kind->app);
	if (names->machine[0]) {
		buf_char(out, '-');
		add_value(out, names->machine, strlen(names->machine));
	}
	buf_str(out, kind->suffix);
	buf_str(out, "%7B");
	add_text_pair(out, &first, "host", names->host);
	if (end) {
		add_pair(out, &first, "pid", process + 1, (size_t)(end - process) - 1);
		add_text_pair(out, &first, "comm", end + 1);
		add_text_pair(out, &first, "container", whose->container);
		add_text_pair(out, &first, "pod", whose->pod);
		add_text_pair(out, &first, "namespace", whose->pod_namespace);
		add_text_pair(out, &first, "container_pid", whose->container_pid);
	}
	add_text_pair(out, &first, "probe", kind_get(probe)->name);
	buf_printf(out,
		   "%%7D&from=%" PRId64 "&until=%" PRId64 "&units=%s&sampleRate=%" PRIu64
		   "&spyName=stackprobe",
		   from / (int64_t)NS_PER_S, (until - 1) / (int64_t)NS_PER_S + 1, kind->units,
		   rate);
}

static bool read_id(const char *path, char *id, size_t bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, id, bytes - 1);

	if (len < 0)
		len = 0;
	while (len > 0 && !isalnum((unsigned char)id[len - 1]))
		len--;
	id[len] = '\0';
	for (ssize_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)id[i]) && id[i] != '-')
			id[0] = '\0';
	}
	return id[0];
}

void machine_id(char *id, size_t bytes)
{
	if (!read_id("/sys/class/dmi/id/product_uuid", id, bytes))
		read_id("/etc/machine-id", id, bytes);
}
