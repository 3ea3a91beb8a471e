// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks that an agent wrote by JFR. */
#include "unit/lib/folder.h"

#include <errno.h>

#include "java/files/jfrfile.h"

#define HEAD	"stackprobe-jfr\t1\toncpu\t7\t1000\t2000\t3\t0\t1\t10\t0\n"
#define METHODS "m\ta.Main\trun\t(I)V\nm\ta.Known$$Lambda$15/0x01\tget\t()V\n"
#define STACK	"s\t20000000\t2\twhole\tmain\t00:12 j1:0 n0:3\n"
#define NAME	"stacks-oncpu.txt"

static int parse(const char *text)
{
	struct jfrfile *file = NULL;
	int r = jfrfile_parse(&file, text, strlen(text), "oncpu");

	if (r == 0)
		jfrfile_free(file);
	return r;
}

static void assert_method(const struct jfrfile *file, uint32_t number, const char *expected)
{
	const struct jfr_method *method = &file->methods[number];

	assert_int_equal(method->name_len, strlen(expected));
	assert_memory_equal(file->text + method->name, expected, method->name_len);
}

static void a_window_is_read(void **state)
{
	static const char text[] = HEAD METHODS STACK "s\t5\t1\tcut\t\t\n";
	struct jfrfile *file;

	(void)state;
	assert_int_equal(jfrfile_parse(&file, text, sizeof(text) - 1, "oncpu"), 0);
	assert_int_equal(file->head.sequence, 7);
	assert_int_equal(file->head.to_us, 2000);
	assert_int_equal(file->head.lost_samples, 3);
	assert_int_equal(file->head.refused_weight, 10);
	assert_int_equal(file->methods_count, 2);
	assert_method(file, 0, "a.Main.run(int)");
	assert_int_equal(file->methods[0].signature_len, strlen("(int)"));
	assert_method(file, 1, "a.Known$$Lambda.get()");
	assert_int_equal(file->stacks_count, 2);
	assert_int_equal(file->weight, 20000005);
	assert_int_equal(file->stacks[0].frames_count, 3);
	assert_memory_equal(file->text + file->stacks[0].thread, "main", 4);
	assert_int_equal(file->frames[0].type, FRAME_TYPE_INTERPRETED);
	assert_int_equal(file->frames[0].line, 12);
	assert_int_equal(file->frames[1].method, 1);
	assert_int_equal(file->frames[2].type, FRAME_TYPE_JIT);
	assert_true(file->stacks[1].cut);
	assert_int_equal(file->stacks[1].frames_count, 0);
	assert_int_equal(file->stacks[1].thread_len, 0);
	jfrfile_free(file);
}

static void one_wrong_line_and_all_is_wrong(void **state)
{
	static const char *const wrong[] = {
		"",
		"stackprobe-jfr\t1\toncpu\t7\t1000\t2000\t3\t0\t1\t10\t0",
		"stackprobe-jfr\t2\toncpu\t7\t1000\t2000\t3\t0\t1\t10\t0\n",
		"stackprobe-jfr\t1\tmem\t7\t1000\t2000\t3\t0\t1\t10\t0\n",
		"stackprobe-jfr\t1\toncpu\t7\t2001\t2000\t3\t0\t1\t10\t0\n",
		"stackprobe-jfr\t1\toncpu\t7\t1000\t2000\t3\t0\t1\t10\t2\n",
		"stackprobe-jfr\t1\toncpu\t7\t1000\t2000\t3\t0\t1\t10\t0\t\n0",
		HEAD "\n",
		HEAD "x\ta\tb\tc\n",
		HEAD "m\ta\tb\n",
		HEAD "m\ta\tb\tc\td\n",
		HEAD "m\ta\t\t()V\n",
		HEAD METHODS "s\t1\t1\twhole\tmain\tj2:0\n",
		HEAD METHODS "s\t1\t1\twhole\tmain\tx0:0\n",
		HEAD METHODS "s\t1\t1\twhole\tmain\tj0\n",
		HEAD METHODS "s\t1\t1\twhole\tmain\tj0:4294967296\n",
		HEAD METHODS "s\t1\t1\twhole\tmain\tj0:0  j0:0\n",
		HEAD METHODS "s\t1\t1\twhole\tmain\tj0:0 \n",
		HEAD METHODS "s\t1\t1\thalf\tmain\tj0:0\n",
		HEAD METHODS "s\t-1\t1\twhole\tmain\tj0:0\n",
		HEAD METHODS "s\t99999999999999999999\t1\twhole\tmain\tj0:0\n",
		HEAD METHODS "s\t9223372036854775807\t1\tcut\t\t\ns\t1\t1\tcut\t\t\n",
		HEAD METHODS "s\t1\t4294967296\twhole\tmain\tj0:0\n",
		HEAD METHODS "s\t1\t1\twhole\tmain\tj0:0",
	};

	(void)state;
	assert_int_equal(parse(HEAD), 0);
	assert_int_equal(parse(HEAD METHODS STACK), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (parse(wrong[i]) != -EBADMSG)
			fail_msg("taken: %s", wrong[i]);
	}
	struct jfrfile *file;
	assert_int_equal(jfrfile_parse(&file, HEAD "\0", sizeof(HEAD), "oncpu"), -EBADMSG);
}

static void a_name_that_is_no_text_becomes_one(void **state)
{
	static const char text[] = HEAD "m\ta\xff\tb\t(broken\n";
	struct jfrfile *file;

	(void)state;
	assert_int_equal(jfrfile_parse(&file, text, sizeof(text) - 1, "oncpu"), 0);
	assert_method(file, 0, "a\xef\xbf\xbd.b");
	assert_int_equal(file->methods[0].signature_len, 0);
	jfrfile_free(file);
}

static int read_it(const struct folder *folder, uid_t owner)
{
	struct jfrfile *file = NULL;
	int r = jfrfile_read(&file, folder->fd, owner, "oncpu");

	if (r == 0)
		jfrfile_free(file);
	return r;
}

static void only_a_plain_file_of_its_owner_is_read(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	assert_int_equal(read_it(&folder, geteuid()), -ENOENT);
	folder_put(&folder, NAME, HEAD, strlen(HEAD));
	assert_int_equal(read_it(&folder, geteuid()), 0);
	assert_int_equal(read_it(&folder, geteuid() + 1), -EACCES);
	assert_int_equal(renameat(folder.fd, NAME, folder.fd, "other"), 0);
	assert_int_equal(symlinkat("other", folder.fd, NAME), 0);
	assert_int_equal(read_it(&folder, geteuid()), -EACCES);
	assert_int_equal(unlinkat(folder.fd, NAME, 0), 0);
	assert_int_equal(mkfifoat(folder.fd, NAME, 0600), 0);
	assert_int_equal(read_it(&folder, geteuid()), -EACCES);
	assert_int_equal(unlinkat(folder.fd, NAME, 0), 0);
	assert_int_equal(mkdirat(folder.fd, NAME, 0700), 0);
	assert_int_equal(read_it(&folder, geteuid()), -EACCES);
}

static void a_file_that_is_too_large_is_not_read(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	folder_put(&folder, NAME, HEAD, strlen(HEAD));
	_cleanup_close_ int fd = openat(folder.fd, NAME, O_RDWR | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, JFRFILE_BYTES_MAX + 1), 0);
	assert_int_equal(read_it(&folder, geteuid()), -EFBIG);
	assert_int_equal(ftruncate(fd, JFRFILE_BYTES_MAX), 0);
	assert_int_equal(read_it(&folder, geteuid()), -EBADMSG); /* NULs */
}

static void more_stacks_than_are_taken_are_too_large(void **state)
{
	static const char stack[] = "s\t0\t0\twhole\t\t\n";
	const size_t head_len = strlen(HEAD), len = strlen(stack), count = JFRFILE_STACKS_MAX + 1;
	char *text = malloc(head_len + count * len);
	struct jfrfile *file;

	(void)state;
	assert_non_null(text);
	memcpy(text, HEAD, head_len);
	for (size_t i = 0; i < count; i++)
		memcpy(text + head_len + i * len, stack, len);
	assert_int_equal(jfrfile_parse(&file, text, head_len + count * len, "oncpu"), -EFBIG);
	assert_int_equal(jfrfile_parse(&file, text, head_len + (count - 1) * len, "oncpu"), 0);
	assert_int_equal(file->stacks_count, JFRFILE_STACKS_MAX);
	assert_true(file->bytes >= file->stacks_count * sizeof(*file->stacks));
	jfrfile_free(file);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_read),
		cmocka_unit_test(one_wrong_line_and_all_is_wrong),
		cmocka_unit_test(a_name_that_is_no_text_becomes_one),
		cmocka_unit_test(only_a_plain_file_of_its_owner_is_read),
		cmocka_unit_test(a_file_that_is_too_large_is_not_read),
		cmocka_unit_test(more_stacks_than_are_taken_are_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
