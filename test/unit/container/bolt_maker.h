/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes files of bbolt (container/bolt.h has their form), right ones and wrong ones. */
#pragma once

#include <stdint.h>
#include <string.h>

#define BOLT_MAKER_PAGE	 1024
#define BOLT_MAKER_PAGES 64

enum { MADE_BRANCH = 1, MADE_LEAF = 2, MADE_META = 4 };

struct bolt_maker {
	char data[BOLT_MAKER_PAGES * BOLT_MAKER_PAGE];
	uint64_t pages;
};

/* Of a leaf: a value, or a bucket's (flags 1); of a branch: `page`. */
struct bolt_entry {
	const char *key;
	const void *value;
	uint32_t value_bytes, flags;
	uint64_t page;
};

static inline void bolt_put(char *at, uint64_t value, unsigned bytes)
{
	memcpy(at, &value, bytes);
}

/* A page's head, elements, keys and values; returns their bytes. */
static inline uint32_t bolt_fill(char *at, uint64_t id, uint16_t flags, uint32_t overflow,
				 const struct bolt_entry *entries, uint16_t count)
{
	uint32_t end = 16 + 16 * (uint32_t)count;

	bolt_put(at, id, 8);
	bolt_put(at + 8, flags, 2);
	bolt_put(at + 10, count, 2);
	bolt_put(at + 12, overflow, 4);
	for (uint32_t i = 0; i < count; i++) {
		char *element = at + 16 + 16 * i;
		uint32_t key_bytes = (uint32_t)strlen(entries[i].key);
		uint32_t pos = end - 16 - 16 * i;

		if (flags & MADE_BRANCH) {
			bolt_put(element, pos, 4);
			bolt_put(element + 4, key_bytes, 4);
			bolt_put(element + 8, entries[i].page, 8);
		} else {
			bolt_put(element, entries[i].flags, 4);
			bolt_put(element + 4, pos, 4);
			bolt_put(element + 8, key_bytes, 4);
			bolt_put(element + 12, entries[i].value_bytes, 4);
		}
		memcpy(at + end, entries[i].key, key_bytes);
		end += key_bytes;
		if (entries[i].value_bytes)
			memcpy(at + end, entries[i].value, entries[i].value_bytes);
		end += entries[i].value_bytes;
	}
	return end;
}

static inline void bolt_begin(struct bolt_maker *maker)
{
	memset(maker, 0, sizeof(*maker));
	maker->pages = 2;
}

/* As many pages as it needs; returns the first one's number. */
static inline uint64_t bolt_page(struct bolt_maker *maker, uint16_t flags,
				 const struct bolt_entry *entries, uint16_t count)
{
	uint64_t id = maker->pages;
	char *at = maker->data + id * BOLT_MAKER_PAGE;
	uint32_t overflow = (bolt_fill(at, id, flags, 0, entries, count) - 1) / BOLT_MAKER_PAGE;

	bolt_put(at + 12, overflow, 4);
	maker->pages += 1 + overflow;
	return id;
}

static inline void bolt_sign(char *meta)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (int i = 0; i < 56; i++)
		sum = (sum ^ (uint8_t)meta[i]) * 0x100000001b3;
	bolt_put(meta + 56, sum, 8);
}

/* Meta page 0 or 1, of a transaction whose root bucket is at `root`. */
static inline void bolt_meta(struct bolt_maker *maker, unsigned which, uint64_t root,
			     uint64_t transaction)
{
	char *page = maker->data + which * BOLT_MAKER_PAGE;
	char *meta = page + 16;

	bolt_put(page, which, 8);
	bolt_put(page + 8, MADE_META, 2);
	bolt_put(meta, 0xed0cdaed, 4);
	bolt_put(meta + 4, 2, 4);
	bolt_put(meta + 8, BOLT_MAKER_PAGE, 4);
	bolt_put(meta + 16, root, 8);
	bolt_put(meta + 40, maker->pages, 8);
	bolt_put(meta + 48, transaction, 8);
	bolt_sign(meta);
}

/* A bucket's value: `root`, and a page of its own behind it where that is 0. */
static inline uint32_t bolt_bucket(char *at, uint64_t root, const struct bolt_entry *entries,
				   uint16_t count)
{
	bolt_put(at, root, 8);
	bolt_put(at + 8, 0, 8);
	return 16 + (root ? 0 : bolt_fill(at + 16, 0, MADE_LEAF, 0, entries, count));
}
