// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/perfmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/grow.h"
#include "loop/loop.h"

#define BLOCK_BYTES 65536
#define HEAD_BYTES  64 /* for the two numbers */
#define LINE_BYTES  (HEAD_BYTES + PERFMAP_NAME_MAX)
#define STEPS_MAX   (1u << 24) /* sum over all lines of the asked addresses that a line holds */

struct perfmap_pass {
	struct perfmap_question *questions;
	size_t count;
	uint64_t from, settled, steps;

	/* the current line: its first bytes, and its offset in the file */
	char line[LINE_BYTES];
	size_t len;
	uint64_t began;
};

/* Reads a hexadecimal number and the blank behind it, and moves *at behind both. */
static bool take_hex(const char *line, size_t len, size_t *at, uint64_t *value)
{
	size_t i = *at, first;

	if (i + 2 < len && line[i] == '0' && (line[i + 1] | 0x20) == 'x')
		i += 2;
	first = i;
	for (*value = 0; i < len && i - first < 16; i++) {
		unsigned char c = (unsigned char)line[i], low = c | 0x20;

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (c - '0');
		else if (low >= 'a' && low <= 'f')
			*value = *value << 4 | (low - 'a' + 10u);
		else
			break;
	}
	if (i == first || i >= len || line[i] != ' ')
		return false;
	*at = i + 1;
	return true;
}

static size_t first_from(const struct perfmap_pass *pass, uint64_t address)
{
	return PARTITION_POINT(at, pass->count, pass->questions[at].address < address);
}

/* Enters the current line as an answer for an address that it holds; `hash` is the name's. */
static void answer_question(const struct perfmap_pass *pass, struct perfmap_question *question,
			    size_t name_at, uint64_t hash)
{
	uint32_t len = (uint32_t)(pass->len - name_at);
	bool same = question->len == len && question->hash == hash;

	if (pass->began < pass->from) {
		question->stale = true;
		return;
	}
	if (pass->began >= pass->settled && question->len && !same)
		question->torn = true;
	question->at = pass->began + name_at;
	question->hash = hash;
	question->len = len;
}

/* Enters the current line for all addresses that it holds; the name is hashed once. */
static int end_line(struct perfmap_pass *pass)
{
	uint64_t start, bytes;
	size_t at = 0;

	if (!take_hex(pass->line, pass->len, &at, &start) ||
	    !take_hex(pass->line, pass->len, &at, &bytes) || at >= pass->len || !bytes ||
	    start + bytes < start)
		return 0;
	if (pass->len - at > PERFMAP_NAME_MAX)
		pass->len = at + PERFMAP_NAME_MAX;
	size_t i = first_from(pass, start);
	if (i == pass->count || pass->questions[i].address >= start + bytes)
		return 0;
	uint64_t hash = hash_bytes(0, pass->line + at, pass->len - at);
	for (; i < pass->count && pass->questions[i].address < start + bytes; i++) {
		answer_question(pass, &pass->questions[i], at, hash);
		if (++pass->steps > STEPS_MAX)
			return -E2BIG;
	}
	return 0;
}

static int go_by(struct perfmap_pass *pass, const char *block, size_t bytes, uint64_t offset)
{
	for (size_t i = 0; i < bytes;) {
		if (block[i] == '\n' && !pass->len) { /* a file may have nothing but these */
			pass->began = offset + ++i;
			continue;
		}
		const char *end = memchr(block + i, '\n', bytes - i);
		size_t part = end ? (size_t)(end - block) - i : bytes - i;
		size_t room = sizeof(pass->line) - pass->len;

		memcpy(pass->line + pass->len, block + i, part < room ? part : room);
		pass->len += part < room ? part : room;
		i += part;
		if (!end)
			return 0;
		int r = end_line(pass);
		if (r < 0)
			return r;
		pass->len = 0;
		pass->began = offset + ++i;
	}
	return 0;
}

static int pass_all(struct perfmap_pass *pass, struct perfmap_lookup *lookup, int fd)
{
	_cleanup_free_ char *block = malloc(BLOCK_BYTES);

	if (!block)
		return -ENOMEM;
	for (uint64_t offset = 0; offset < PERFMAP_BYTES_MAX;) {
		if ((lookup->bytes_max && lookup->bytes >= lookup->bytes_max) ||
		    (lookup->until_ns && loop_now_ns() >= lookup->until_ns))
			return -ETIME;
		ssize_t bytes = pread(fd, block, BLOCK_BYTES, (off_t)offset);

		if (bytes <= 0)
			return bytes < 0 ? -errno : 0;
		int r = go_by(pass, block, (size_t)bytes, offset);
		if (r < 0)
			return r;
		offset += (uint64_t)bytes;
		lookup->bytes += (uint64_t)bytes;
	}
	return -EFBIG;
}

/* Reads the names; neighbours that one line holds share one. */
static void read_names(struct perfmap_lookup *lookup, int fd)
{
	struct perfmap_question *last = NULL; /* the last one with a name */
	struct buf *names = &lookup->names;

	for (size_t i = 0; i < lookup->count; i++) {
		struct perfmap_question *question = &lookup->questions[i];

		lookup->stale += question->stale && !question->len;
		if (question->torn)
			question->len = 0;
		if (!question->len)
			continue;
		if (last && last->at == question->at) {
			question->name = last->name;
			continue;
		}
		char *room = buf_reserve(names, question->len);
		lookup->no_room += !room;
		if (!room ||
		    pread(fd, room, question->len, (off_t)question->at) != (ssize_t)question->len) {
			question->len = 0;
			continue;
		}
		question->name = names->len;
		names->len += question->len;
		last = question;
	}
}

int perfmap_read(int fd, struct perfmap_lookup *lookup)
{
	_cleanup_free_ struct perfmap_pass *pass = calloc(1, sizeof(*pass));
	struct stat stat;

	if (!pass)
		return -ENOMEM;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (stat.st_size > PERFMAP_BYTES_MAX)
		return -EFBIG;
	pass->questions = lookup->questions;
	pass->count = lookup->count;
	pass->from = lookup->from;
	pass->settled = lookup->settled;
	int r = pass_all(pass, lookup, fd);
	if (r < 0)
		return r;
	read_names(lookup, fd);
	lookup->end = pass->began;
	return 0;
}

int perfmap_end(int fd, uint64_t *end)
{
	_cleanup_free_ char *block = malloc(BLOCK_BYTES);
	struct stat stat;

	if (!block)
		return -ENOMEM;
	if (fstat(fd, &stat) < 0)
		return -errno;
	off_t at = stat.st_size > BLOCK_BYTES ? stat.st_size - BLOCK_BYTES : 0;
	ssize_t bytes = pread(fd, block, BLOCK_BYTES, at);
	if (bytes < 0)
		return -errno;
	const char *last = memrchr(block, '\n', (size_t)bytes);
	*end = (uint64_t)at + (last ? (uint64_t)(last - block) + 1 : 0);
	return 0;
}
