// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of a process's memory are read once, up to a limit. */
#include "unit/lib/unit.h"

#include "proc/memory_pages.h"

#define PAGE	   4096u
#define PLACES	   4096u /* of the cache */
#define FROM	   0x7f0000000000
#define MANY_PAGES 8192u

struct behind {
	unsigned int reads;
	uint64_t to; /* nothing is mapped from there on */
	uint8_t add; /* to what is read */
};

/* Each byte is the number of its page, and its place in the page. */
static uint8_t byte_at(const struct behind *behind, uint64_t address)
{
	return (uint8_t)(address / PAGE * 7 + address + behind->add);
}

static int behind_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct behind *behind = arg;

	behind->reads++;
	if (address < FROM || address >= behind->to || bytes > behind->to - address)
		return -EFAULT;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = byte_at(behind, address + i);
	return 0;
}

static struct memory_pages *pages_over(struct behind *behind, struct process_memory *memory,
				       uint64_t bytes_max)
{
	struct memory_pages *pages;

	*behind = (struct behind){.to = FROM + (uint64_t)MANY_PAGES * PAGE};
	*memory = (struct process_memory){.read = behind_read, .arg = behind};
	assert_int_equal(memory_pages_new(&pages, memory, bytes_max), 0);
	return pages;
}

static void assert_bytes(struct memory_pages *pages, const struct behind *behind, uint64_t address,
			 size_t bytes)
{
	uint8_t found[3 * PAGE];

	assert_int_equal(memory_pages_read(pages, address, found, bytes), 0);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(found[i], byte_at(behind, address + i));
}

static void a_page_is_read_once(void **state)
{
	struct process_memory memory;
	struct behind behind;
	struct memory_pages *pages = pages_over(&behind, &memory, UINT64_MAX);

	(void)state;
	assert_bytes(pages, &behind, FROM + 8, 8);
	assert_bytes(pages, &behind, FROM + PAGE - 8, 8);
	assert_int_equal(behind.reads, 1);
	assert_bytes(pages, &behind, FROM + PAGE - 4, 8); /* in two pages */
	assert_bytes(pages, &behind, FROM + 100, 2 * PAGE);
	assert_int_equal(behind.reads, 3);
	assert_int_equal(memory_pages_bytes(pages), 3 * PAGE);
	memory_pages_free(pages);
}

static void a_page_gives_way_to_another_one(void **state)
{
	struct process_memory memory;
	struct behind behind;
	struct memory_pages *pages = pages_over(&behind, &memory, UINT64_MAX);

	(void)state;
	for (int round = 0; round < 3; round++) {
		assert_bytes(pages, &behind, FROM, 8);
		assert_bytes(pages, &behind, FROM + (uint64_t)PLACES * PAGE, 8);
	}
	assert_int_equal(behind.reads, 6);
	memory_pages_free(pages);
}

static void what_is_not_mapped_is_said(void **state)
{
	struct process_memory memory;
	struct behind behind;
	struct memory_pages *pages = pages_over(&behind, &memory, UINT64_MAX);
	uint64_t word;

	(void)state;
	behind.to = FROM + PAGE;
	assert_int_equal(memory_pages_read(pages, FROM + PAGE - 4, &word, sizeof(word)), -EFAULT);
	assert_int_equal(memory_pages_read(pages, UINT64_MAX - 3, &word, sizeof(word)), -EFAULT);
	assert_int_equal(memory_pages_read(pages, 0, &word, sizeof(word)), -EFAULT);
	behind.to = FROM + 2 * PAGE; /* now it is */
	assert_bytes(pages, &behind, FROM + PAGE - 4, 8);
	/* A page that could not be read has left none of another one behind. */
	assert_int_equal(
		memory_pages_read(pages, FROM + (uint64_t)PLACES * PAGE, &word, sizeof(word)),
		-EFAULT);
	assert_bytes(pages, &behind, FROM, 8);
	memory_pages_free(pages);
}

static void past_the_limit_nothing_is_read(void **state)
{
	struct process_memory memory;
	struct behind behind;
	struct memory_pages *pages = pages_over(&behind, &memory, 2 * PAGE);
	uint64_t word;

	(void)state;
	assert_bytes(pages, &behind, FROM, 8);
	assert_bytes(pages, &behind, FROM + PAGE, 8);
	assert_int_equal(memory_pages_read(pages, FROM + 2 * PAGE, &word, sizeof(word)), -ENOSPC);
	assert_bytes(pages, &behind, FROM, 8); /* what was read is still there */
	assert_int_equal(behind.reads, 2);
	memory_pages_free(pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_read_once),
		cmocka_unit_test(a_page_gives_way_to_another_one),
		cmocka_unit_test(what_is_not_mapped_is_said),
		cmocka_unit_test(past_the_limit_nothing_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
