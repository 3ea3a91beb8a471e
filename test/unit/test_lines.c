// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "open_fds.h"
#include "symbol/lines.h"

/* Where this program is: what is to be taken off an address of its code. */
static int take_base(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the first one is the program */
}

static uint64_t linked(uint64_t pc)
{
	uint64_t base = 0;

	dl_iterate_phdr(take_base, &base);
	return pc - base;
}

#if defined(__x86_64__)
#define HERE "1: leaq 1b(%%rip), %0"
#else
#define HERE "adr %0, ."
#endif

enum { INNER_LINE = __LINE__ + 5 };
static inline __attribute__((always_inline)) uint64_t inner(void)
{
	uint64_t pc;

	__asm__ volatile(HERE : "=r"(pc)); /* INNER_LINE */
	return pc;
}

enum { MIDDLE_LINE = __LINE__ + 3 };
static inline __attribute__((always_inline)) uint64_t middle(uint64_t *sum)
{
	uint64_t pc = inner(); /* MIDDLE_LINE */

	*sum += pc;
	return pc;
}

enum { OUTER_LINE = __LINE__ + 3 };
static __attribute__((noinline)) uint64_t outer(uint64_t *sum)
{
	uint64_t pc = middle(sum); /* OUTER_LINE */

	*sum ^= pc;
	return pc;
}

static void assert_level(const struct line_text *level, const char *name, uint32_t line)
{
	static const char file[] = "test_lines.c";
	size_t len = sizeof(file) - 1;

	assert_int_equal(level->line, line);
	assert_true(level->file_len >= len);
	assert_memory_equal(level->file + level->file_len - len, file, len);
	assert_int_equal(level->name_len, strlen(name));
	assert_memory_equal(level->name, name, strlen(name));
}

static struct lines *read_self(const uint64_t *addresses, size_t count)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct lines *lines;
	bool whole;

	assert_int_equal(lines_read(&lines, fd, -1, addresses, count, 20000, &whole), 0);
	assert_true(whole);
	return lines;
}

static void inlined_functions_have_their_lines_and_who_called_them(void **state)
{
	struct line_text texts[LINE_LEVELS];
	uint64_t sum = 0, address = linked(outer(&sum));
	struct lines *lines = read_self(&address, 1);

	(void)state;
	assert_int_equal(lines_at(lines, address, texts), 3);
	assert_level(&texts[0], "inner", INNER_LINE);
	assert_level(&texts[1], "middle", MIDDLE_LINE);
	assert_level(&texts[2], "", OUTER_LINE);
	assert_int_equal(lines_at(lines, address + 1, texts), 0); /* wasn't asked */
	lines_free(lines);
}

static void what_has_no_lines_has_no_answer(void **state)
{
	struct line_text texts[LINE_LEVELS];
	uint64_t addresses[] = {0, 8, UINT64_MAX};
	struct lines *lines = read_self(addresses, 3);

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(lines_at(lines, addresses[i], texts), 0);
	lines_free(lines);
}

static void as_many_as_may_be_are_answered(void **state)
{
	static uint64_t addresses[LINES_MAX];
	struct line_text texts[LINE_LEVELS];
	uint64_t sum = 0, first = linked(outer(&sum));
	size_t known = 0;

	(void)state;
	for (size_t i = 0; i < LINES_MAX; i++)
		addresses[i] = first + i;
	struct lines *lines = read_self(addresses, LINES_MAX);
	for (size_t i = 0; i < LINES_MAX; i++)
		known += lines_at(lines, addresses[i], texts) > 0;
	assert_true(known > 1000); /* the tests of this program alone */
	lines_free(lines);
}

static void what_is_no_program_is_no_harm(void **state)
{
	static const char *const paths[] = {"/dev/null", "/dev/zero", "/etc/passwd",
					    "/proc/self/maps"};
	uint64_t address = 4096;
	struct line_text texts[LINE_LEVELS];
	size_t before = count_fds();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_close_ int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct lines *lines;
		bool whole;

		assert_int_equal(lines_read(&lines, fd, fd, &address, 1, 20000, &whole), 0);
		assert_int_equal(lines_at(lines, address, texts), 0);
		lines_free(lines);
	}
	assert_int_equal(count_fds(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void a_limit_is_kept_and_nothing_stays(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t address = 4096;
	struct lines *lines;
	bool whole;

	(void)state;
	assert_int_equal(lines_read(&lines, fd, -1, &address, 1, 0, &whole), 0);
	assert_false(whole);
	lines_free(lines);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_have_their_lines_and_who_called_them),
		cmocka_unit_test(what_has_no_lines_has_no_answer),
		cmocka_unit_test(as_many_as_may_be_are_answered),
		cmocka_unit_test(what_is_no_program_is_no_harm),
		cmocka_unit_test(a_limit_is_kept_and_nothing_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
