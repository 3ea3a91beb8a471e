// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks of `record --every`: to a file that takes all, and to a pipe that nobody reads. */
#include "command/record/record_blocks.h"

#include <fcntl.h>
#include <signal.h>

#include "base/file.h"
#include "unit/lib/unit.h"

#define PIPE_BYTES 4096
#define FILE_NAME  "blocks.folded"

static struct loop *loop;
static struct record_file file;
static struct record_blocks blocks;
static char folder[] = "/tmp/test_record_blocks_XXXXXX";

static int begin(void **state)
{
	(void)state;
	return loop_new(&loop);
}

static int end(void **state)
{
	(void)state;
	record_blocks_done(&blocks);
	record_file_close(&file);
	loop_free(loop);
	loop = NULL;
	return 0;
}

/* A block: a line of so many letters. */
static int add_block(char letter, size_t letters, bool is_last)
{
	struct render render = {
		.total = letters,
		.meta = {.lost = 1, .truncated = 2, .events = 4, .samples = 3, .processes = 5},
		.content = {BUF_INIT(1 << 20)}};

	for (size_t i = 0; i < letters; i++)
		buf_char(&render.content[0], letter);
	buf_char(&render.content[0], '\n');
	int r = record_blocks_add(&blocks, &render, is_last);
	buf_done(&render.content[0]);
	return r;
}

static void stop_loop(void *arg)
{
	loop_stop(arg);
}

static void run_for_a_moment(void)
{
	struct loop_timer over = {.expired = stop_loop, .arg = loop};

	loop_timer_set(loop, &over, loop_now_ns() + 10 * NS_PER_MS);
	assert_int_equal(loop_run(loop), 0);
}

static void a_file_appears_with_its_first_block_and_grows(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/" FILE_NAME, folder);
	assert_int_equal(record_file_open(&file, path, true), 0);
	record_blocks_begin(&blocks, &file, output_find("folded"), loop);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(add_block('a', 3, false), 0);
	assert_int_equal(file_read(AT_FDCWD, path, &text), 0);
	assert_int_equal(text.len, 4);
	assert_int_equal(add_block('b', 2, false), 0);
	assert_int_equal(add_block('c', 1, true), 0);
	text.len = 0;
	assert_int_equal(file_read(AT_FDCWD, path, &text), 0);
	buf_char(&text, '\0');
	assert_string_equal(text.data, "aaa\nbb\nc\n");
	assert_int_equal(blocks.count, 3);
	assert_int_equal(blocks.total, 6);
	assert_true(blocks.told.lost == 3 && blocks.told.truncated == 6);
	assert_true(blocks.told.events == 12 && blocks.told.samples == 9);
	assert_int_equal(blocks.told.processes, 0);
	unlink(path);
	rmdir(folder);
}

/* A pipe that holds a page. */
static int open_pipe(void)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES) == PIPE_BYTES);
	file = (struct record_file){.dir_fd = -1, .fd = fds[1]};
	record_file_dont_wait(&file);
	assert_true(fcntl(file.fd, F_GETFL) & O_NONBLOCK);
	record_blocks_begin(&blocks, &file, output_find("folded"), loop);
	return fds[0];
}

static void
a_pipe_that_nobody_reads_holds_nothing_up_and_the_text_says_what_is_missing(void **state)
{
	static char got[8 * PIPE_BYTES];
	int fd = open_pipe();
	ssize_t len;

	(void)state;
	assert_int_equal(add_block('a', 2 * PIPE_BYTES, false), 0);
	run_for_a_moment(); /* it waits for room */
	assert_int_equal(add_block('b', 10, false), 0);
	assert_int_equal(add_block('c', 10, false), 0);
	assert_int_equal(blocks.missed, 2);
	for (size_t all = 0; all < 2 * PIPE_BYTES + 1; all += (size_t)len) {
		len = read(fd, got, sizeof(got));
		assert_true(len > 0 && got[0] == (all == 2 * PIPE_BYTES ? '\n' : 'a'));
		run_for_a_moment();
	}
	assert_int_equal(add_block('d', 1, true), 0);
	len = read(fd, got, sizeof(got) - 1);
	assert_true(len > 0);
	got[len] = '\0';
	assert_string_equal(got, "# 2 intervals are missing here: they were not read in time\nd\n");
	assert_true(blocks.count == 2 && blocks.total == 2 * PIPE_BYTES + 1);
	close(fd);
}

static void a_reader_that_has_gone_is_an_error_at_the_next_block(void **state)
{
	int fd = open_pipe();

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(add_block('a', 2 * PIPE_BYTES, false), 0);
	run_for_a_moment();
	close(fd);
	run_for_a_moment();
	assert_int_equal(add_block('b', 1, false), -EPIPE);
	assert_int_equal(add_block('c', 1, true), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_appears_with_its_first_block_and_grows,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_pipe_that_nobody_reads_holds_nothing_up_and_the_text_says_what_is_missing,
			begin, end),
		cmocka_unit_test_setup_teardown(
			a_reader_that_has_gone_is_an_error_at_the_next_block, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
