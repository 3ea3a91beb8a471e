/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes .gopclntab of each format, and reads its rows. */
#pragma once

#include "unit/proc/elf_maker.h"
#include "unit/symbol/look_up.h"

#include "cfi/gopclntab.h"

#define GO_1_16	  0xfffffffaU
#define GO_1_18	  0xfffffff0U
#define GO_1_20	  0xfffffff1U

#define FUNCTIONS 32 /* of 32 bytes each: all of the code */
#define RBP	  6
#define RSP	  7

struct row {
	uint64_t address;
	struct rule rule;
};

struct rows {
	struct row *each;
	size_t count, capacity;
	const struct elf_image *image;
};

/* Rows come by address, equal neighbours once, all in executable code or right behind it. */
static inline int take_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct rows *rows = arg;

	if (rows->count == rows->capacity) {
		rows->capacity = rows->capacity * 2 + 1024;
		rows->each = reallocarray(rows->each, rows->capacity, sizeof(*rows->each));
		assert_non_null(rows->each);
	}
	if (rows->count) {
		assert_true(address > rows->each[rows->count - 1].address);
		assert_false(rule_is_equal(rule, &rows->each[rows->count - 1].rule));
	}
	rows->each[rows->count++] = (struct row){address, *rule};
	return 0;
}

static inline void rows_free(struct rows *rows)
{
	free(rows->each);
}
#define _cleanup_rows_ _cleanup_(rows_free)

static inline int read_rows(int fd, struct rows *rows, struct cfi_stats *stats)
{
	struct elf_image image;
	int r = elf_read(fd, &image);

	rows->count = 0;
	if (r == 0)
		r = gopclntab_read(fd, &image, take_row, rows, stats);
	if (r == 0)
		assert_int_equal(rows->count, stats->rows);
	return r;
}

static const struct row *row_at(const struct rows *rows, uint64_t address)
{
	size_t low = 0, high = rows->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rows->each[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &rows->each[low - 1] : NULL;
}

/* A function of a table made by hand: `steps` are pairs {delta, up to which byte}. */
struct function_plan {
	const char *name;
	uint8_t code[24]; /* what its first bytes are; the rest is filler */
	uint8_t flags;
	struct {
		int delta, to;
	} steps[6];
};

struct table_maker {
	uint32_t format;
	uint8_t data[0x4000];
	size_t len;
};

static inline void put(struct table_maker *maker, uint64_t value, size_t bytes)
{
	memcpy(maker->data + maker->len, &value, bytes);
	maker->len += bytes;
}

static inline void put_number(struct table_maker *maker, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		put(maker, (value & 0x7f) | 0x80, 1);
	put(maker, value, 1);
}

static inline void put_steps(struct table_maker *maker, const struct function_plan *plan)
{
	int delta = -1, at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(plan->steps) && plan->steps[i].to; i++) {
		int change = plan->steps[i].delta - delta;

		put_number(maker, (uint32_t)change << 1 ^ (uint32_t)(change >> 31));
		put_number(maker, (uint32_t)(plan->steps[i].to - at));
		delta = plan->steps[i].delta;
		at = plan->steps[i].to;
	}
	put(maker, 0, 1);
}

static inline void put_record(struct table_maker *maker, uint32_t start, uint32_t name,
			      uint32_t steps, uint8_t flags)
{
	if (maker->format == GO_1_16)
		put(maker, CODE_ADDRESS + start, 8);
	else
		put(maker, start, 4);
	const uint32_t words[] = {name, 0, 0, steps, 0, 0, 0, 0, 0};
	for (size_t i = 0; i < (maker->format == GO_1_20 ? 9 : 8); i++)
		put(maker, words[i], 4);
	put(maker, (uint64_t)flags << 8, 4);
}

/* The last functions are plain ones. */
static inline size_t make_table(struct table_maker *maker, uint32_t format, bool told,
				const struct function_plan *plans, size_t count)
{
	static const struct function_plan plain = {"main.plain", {0xc3}, 0, {{0, 32}}};
	uint32_t names[FUNCTIONS], steps[FUNCTIONS], places[5];
	size_t header = format == GO_1_16 ? 8 + 7 * 8 : 8 + 8 * 8;
	bool old = format == GO_1_16;
	size_t records[FUNCTIONS];

	*maker = (struct table_maker){.format = format, .len = header};
	places[0] = places[1] = places[2] = (uint32_t)maker->len;
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const struct function_plan *plan = i < count ? &plans[i] : &plain;

		names[i] = (uint32_t)maker->len - places[0];
		memcpy(maker->data + maker->len, plan->name, strlen(plan->name) + 1);
		maker->len += strlen(plan->name) + 1;
	}
	places[3] = (uint32_t)maker->len;
	put(maker, 0, 1);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const struct function_plan *plan = i < count ? &plans[i] : &plain;

		steps[i] = plan->steps[0].to ? (uint32_t)maker->len - places[3] : 0;
		put_steps(maker, plan);
	}
	maker->len = (maker->len + 7) & ~(size_t)7;
	places[4] = (uint32_t)maker->len;
	size_t table = maker->len;
	maker->len += (FUNCTIONS + 1) * (old ? 16 : 8);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		records[i] = maker->len - table;
		put_record(maker, (uint32_t)i * 32, names[i], steps[i],
			   i < count ? plans[i].flags : 0);
	}
	size_t end = maker->len;
	maker->len = 0;
	put(maker, format, 4);
	put(maker, 8ULL << 24 | 1 << 16, 4);
	put(maker, FUNCTIONS, 8);
	put(maker, 0, 8);
	if (!old)
		put(maker, told ? CODE_ADDRESS : 0, 8);
	for (size_t i = 0; i < 5; i++)
		put(maker, places[i], 8);
	maker->len = table;
	for (size_t i = 0; i <= FUNCTIONS; i++) {
		put(maker, (old ? CODE_ADDRESS : 0) + i * 32, old ? 8 : 4);
		put(maker, i < FUNCTIONS ? records[i] : 0, old ? 8 : 4);
	}
	maker->len = end;
	return end;
}

static inline int go_file(uint32_t format, bool told, const struct function_plan *plans,
			  size_t count)
{
	static struct table_maker table;
	static struct elf_maker elf;
	struct section_plan section = {".gopclntab", table.data, 0};
	struct elf_plan plan = {.sections = &section, .sections_count = 1};

	section.bytes = make_table(&table, format, told, plans, count);
	size_t bytes = elf_make(&elf, &plan);
	unsigned char *code = elf.image + CODE_OFFSET;
	memset(code, 0xcc, CODE_BYTES);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		code[i * 32] = 0xc3;
		if (i < count && plans[i].code[0])
			memcpy(code + i * 32, plans[i].code, sizeof(plans[i].code));
	}
	return file_of(elf.image, bytes);
}
