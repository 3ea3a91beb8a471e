// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "loop/loop.h"
#include "loop/reaper.h"
#include "unit/lib/open_fds.h"
#include "elf/lines.h"

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

static bool may_not_kill;
static pid_t stopped;

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);

/* As without CAP_KILL, where another process of nobody's has stopped it. */
int __wrap_kill(pid_t pid, int number)
{
	if (!may_not_kill)
		return __real_kill(pid, number);
	stopped = pid;
	__real_kill(pid, SIGSTOP);
	errno = EPERM;
	return -1;
}

static void a_reader_that_can_not_be_killed_is_not_waited_for(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t address = 4096, began_ns = loop_now_ns();
	struct lines *lines;
	bool whole;

	(void)state;
	may_not_kill = true;
	assert_int_equal(lines_read(&lines, fd, -1, &address, 1, 0, &whole), 0);
	may_not_kill = false;
	assert_true(loop_now_ns() - began_ns < 5 * NS_PER_S);
	lines_free(lines);
	assert_int_equal(reaper_bury(), 1);
	assert_int_equal(__real_kill(stopped, SIGKILL), 0);
	for (int i = 0; i < 5000 && reaper_bury(); i++)
		usleep(1000);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

extern const char line_reader_image[], line_reader_image_end[];

/* A process that is the daemon: it starts a reader, tells its pid, and waits to be killed. */
static void be_daemon(int question, int answers, int tell)
{
	size_t bytes = (size_t)(line_reader_image_end - line_reader_image);
	int image = memfd_create("reader", MFD_CLOEXEC);
	pid_t pid;

	if (image < 0 || write(image, line_reader_image, bytes) != (ssize_t)bytes)
		_exit(1);
	pid = fork();
	if (pid == 0) {
		dup2(question, STDIN_FILENO);
		dup2(answers, STDOUT_FILENO);
		fexecve(image, (char *[]){"reader", NULL}, (char *[]){NULL});
		_exit(1);
	}
	if (pid < 0 || write(tell, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	for (;;)
		pause();
}

/* In its system call, for which it has prepared itself. */
static bool waits_for_its_question(pid_t pid)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && atoi(text) == SYS_read &&
	       strncmp(text, "running", 7) != 0 && strstr(text, " 0x0 ");
}

static void a_reader_ends_with_who_asked_it(void **state)
{
	int question[2], answers[2], tell[2];
	pid_t daemon, reader;
	char byte;

	(void)state;
	assert_int_equal(pipe2(question, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	daemon = fork();
	assert_true(daemon >= 0);
	if (daemon == 0)
		be_daemon(question[0], answers[1], tell[1]);
	close(question[0]);
	close(answers[1]);
	assert_int_equal(read(tell[0], &reader, sizeof(reader)), sizeof(reader));
	for (int i = 0; i < 5000 && !waits_for_its_question(reader); i++)
		usleep(2000);
	assert_true(waits_for_its_question(reader));
	assert_int_equal(kill(daemon, SIGKILL), 0);
	assert_int_equal(waitpid(daemon, NULL, 0), daemon);
	/* Its question isn't over, so it ends by this alone. */
	assert_int_equal(poll(&(struct pollfd){.fd = answers[0], .events = POLLIN}, 1, 10000), 1);
	assert_int_equal(read(answers[0], &byte, 1), 0);
	close(question[1]);
	close(answers[0]);
	close(tell[0]);
	close(tell[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_have_their_lines_and_who_called_them),
		cmocka_unit_test(what_has_no_lines_has_no_answer),
		cmocka_unit_test(as_many_as_may_be_are_answered),
		cmocka_unit_test(what_is_no_program_is_no_harm),
		cmocka_unit_test(a_limit_is_kept_and_nothing_stays),
		cmocka_unit_test(a_reader_that_can_not_be_killed_is_not_waited_for),
		cmocka_unit_test(a_reader_ends_with_who_asked_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
