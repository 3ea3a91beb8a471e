// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file read back, and what is alive in it written into a new one: code whose record the table
 * has at that very place, and the methods that it names. Others may write into the file: each
 * record is checked as a reader does.
 */
#include "journal.h"

#include <errno.h>

#define NEW_NAME JAVA_SYMBOLS_NAME ".new"

struct rewriting {
	struct journal *journal;
	uint8_t *data;
	uint64_t len;
	uint8_t *wanted; /* by method's number */
	size_t wanted_bytes;
	struct table alive; /* as it will be */
	struct bytes out;
};

static int read_back(struct rewriting *mine)
{
	uint64_t at = 0;

	while (at < mine->len) {
		long n = sys_pread(mine->journal->fd, mine->data + at, mine->len - at, at);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		at += (uint64_t)n;
	}
	return 0;
}

/* NULL: the end, or nonsense. */
static struct java_record *record_at(const struct rewriting *mine, uint64_t at)
{
	struct java_record *record = (struct java_record *)(mine->data + at);

	if (mine->len - at < JAVA_RECORD_BYTES || record->bytes % 8 ||
	    record->bytes < JAVA_RECORD_BYTES || record->bytes > mine->len - at ||
	    java_record_check(record, record->bytes) != record->check)
		return NULL;
	if ((record->kind == JAVA_CODE || record->kind == JAVA_STUB) &&
	    record->bytes < JAVA_CODE_BYTES)
		return NULL;
	return record;
}

static bool is_alive(const struct rewriting *mine, const struct java_record *record, uint64_t at)
{
	const struct table_slot *slot;

	if (record->kind != JAVA_CODE && record->kind != JAVA_STUB)
		return false;
	slot = table_find(&mine->journal->alive, record->code.address);
	return slot && slot->value >> 24 == at;
}

static void want(struct rewriting *mine, uint64_t number)
{
	if (number / 8 < mine->wanted_bytes)
		mine->wanted[number / 8] |= (uint8_t)(1 << number % 8);
}

static bool is_wanted(const struct rewriting *mine, uint64_t number)
{
	return number / 8 < mine->wanted_bytes && mine->wanted[number / 8] >> number % 8 & 1;
}

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static void want_methods(struct rewriting *mine, const struct java_record *record)
{
	const uint8_t *at = record->code.data;
	const uint8_t *end = (const uint8_t *)record + record->bytes;

	want(mine, record->method);
	for (uint32_t i = 0; record->kind == JAVA_CODE && i < record->code.nodes && at < end; i++) {
		varint(&at, end);
		want(mine, varint(&at, end));
		varint(&at, end);
	}
}

static void take_record(struct rewriting *mine, const struct java_record *record, uint64_t at)
{
	uint64_t to = sizeof(struct java_symbols_header) + mine->out.len;

	if (is_alive(mine, record, at)) {
		/* Without its place in the table it would be there for ever. */
		if (table_put(&mine->alive, record->code.address, to << 24 | record->bytes / 8))
			bytes_add(&mine->out, record, record->bytes);
	} else if (record->kind == JAVA_METHOD && is_wanted(mine, record->method)) {
		bytes_add(&mine->out, record, record->bytes);
	}
}

static void go_through(struct rewriting *mine, bool take)
{
	const struct java_record *record;

	for (uint64_t at = sizeof(struct java_symbols_header);
	     at < mine->len && (record = record_at(mine, at)); at += record->bytes) {
		if (take)
			take_record(mine, record, at);
		else if (is_alive(mine, record, at))
			want_methods(mine, record);
	}
}

static int replace(struct rewriting *mine)
{
	struct journal *journal = mine->journal;

	journal->rewrites++;
	int fd = journal_begin(journal);
	int r = fd < 0 ? fd : journal_write(fd, mine->out.data, mine->out.len);
	if (r == 0)
		r = (int)sys_rename(journal->folder, NEW_NAME, JAVA_SYMBOLS_NAME);
	if (r < 0) {
		journal->rewrites--;
		if (fd >= 0) {
			sys_close(fd);
			sys_unlink(journal->folder, NEW_NAME, 0);
		}
		return r;
	}
	sys_close(journal->fd);
	journal->fd = fd;
	journal->len = sizeof(struct java_symbols_header) + mine->out.len;
	journal->dead = 0;
	table_free(&journal->alive);
	journal->alive = mine->alive;
	mine->alive = (struct table){0};
	for (size_t i = 0; i < journal->methods.room; i++) {
		struct table_slot *slot = &journal->methods.slots[i];

		if (slot->key > 1 && !is_wanted(mine, slot->value))
			table_drop(&journal->methods, slot);
	}
	return 0;
}

int journal_rewrite(struct journal *journal)
{
	struct rewriting mine = {
		.journal = journal,
		.len = journal->len,
		.wanted_bytes = journal->methods_made / 8 + 1,
	};
	int r = -ENOMEM;

	mine.data = pages_take(mine.len);
	mine.wanted = pages_take(mine.wanted_bytes);
	if (mine.data && mine.wanted)
		r = read_back(&mine);
	if (r == 0) {
		go_through(&mine, false);
		go_through(&mine, true);
		r = mine.out.failed ? -ENOMEM : replace(&mine);
	}
	pages_give(mine.data, mine.len);
	pages_give(mine.wanted, mine.wanted_bytes);
	table_free(&mine.alive);
	bytes_free(&mine.out);
	return r;
}
