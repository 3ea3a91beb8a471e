// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"
#include "unit/lib/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "proc/maps.h"
#include "proc/proc.h"

struct line {
	const char *text;
	int result;
	enum mapping_kind kind;
	const char *path;
};

static void every_kind_of_line_is_told(void **state)
{
	static const struct line lines[] = {
		{"00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon", 1,
		 MAPPING_FILE, "/usr/bin/dbus-daemon"},
		{"00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/dbus-daemon", 0, 0, 0},
		{"00e03000-00e24000 rw-p 00000000 00:00 0           [heap]", 0, 0, NULL},
		{"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 ", 1, MAPPING_JIT, NULL},
		{"7f0000000000-7f0000001000 rwxp 00000000 00:00 0", 1, MAPPING_JIT, NULL},
		{"7ffd1000-7ffd3000 r-xp 00000000 00:00 0           [vdso]", 1, MAPPING_VDSO, NULL},
		{"7fffffffe000-7ffffffff000 --xp 00000000 00:00 0    [uprobes]", 1, MAPPING_UPROBES,
		 NULL},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", 1,
		 MAPPING_VSYSCALL, NULL},
		{"1000-2000 r-xp 00000000 00:01 1024                /memfd:jit (deleted)", 1,
		 MAPPING_FILE, "/memfd:jit"},
		{"1000-2000 r-xs 00000000 00:01 1024                /SYSV00000000 (deleted)", 1,
		 MAPPING_JIT, NULL},
		{"1000-2000 rwxs 00000000 00:01 1024                /dev/zero (deleted)", 1,
		 MAPPING_JIT, NULL},
		{"1000-2000 r-xp 00000000 00:00 0                   [anon:code]", 1, MAPPING_JIT,
		 0},
		{"1000-2000 r-xp 00000000 00:00 0                   [stack]", 1, MAPPING_JIT, 0},
		{"1000-2000 r-xp 00000000 08:02 7                   anon_inode:x", 1, MAPPING_JIT,
		 0},
		{"1000-2000 r-xp 00000000 08:02 7    /a b  c ", 1, MAPPING_FILE, "/a b  c "},
		{"1000-2000 r-xp 00000000 08:02 7    /two\\012lines (deleted)", 1, MAPPING_FILE,
		 "/two\nlines"},
		{"1000-2000 r-xp 00000000 08:02 7    /x (deleted) (deleted)", 1, MAPPING_FILE,
		 "/x (deleted)"},
		{"1000-2000 r-xp 00000000 08:02 7    /back\\slash\\01", 1, MAPPING_FILE,
		 "/back\\slash\\01"},
		{"1000-2000 r-xp 00000000 08:02 7    /[vdso]", 1, MAPPING_FILE, "/[vdso]"},
		{"2000-1000 r-xp 00000000 08:02 7    /x", -EINVAL, 0, NULL},
		{"1000-1000 r-xp 00000000 08:02 7    /x", -EINVAL, 0, NULL},
		{"", -EINVAL, 0, NULL},
		{"\n", -EINVAL, 0, NULL},
		{"1000-2000", -EINVAL, 0, NULL},
		{"1000-2000 r-xp", -EINVAL, 0, NULL},
		{"1000-2000 r-xp 0 08:02", -EINVAL, 0, NULL},
		{"zzzz-2000 r-xp 00000000 08:02 7 /x", -EINVAL, 0, NULL},
		{"1000 2000 r-xp 00000000 08:02 7 /x", -EINVAL, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct mapping mapping = {0};
		int r = maps_parse_line(lines[i].text, &mapping);

		if (r != lines[i].result)
			fail_msg("%d for: %s", r, lines[i].text);
		if (r != 1)
			continue;
		assert_int_equal(mapping.kind, lines[i].kind);
		if (lines[i].path)
			assert_string_equal(mapping.path, lines[i].path);
		else
			assert_null(mapping.path);
		free(mapping.path);
	}
}

static void numbers_of_a_line_are_read_whole(void **state)
{
	struct mapping mapping;

	(void)state;
	assert_int_equal(maps_parse_line("7fffdeadb000-7fffdeadc000 rwxp ffff123456789000 "
					 "103:02 18446744073709551615 /x",
					 &mapping),
			 1);
	assert_true(mapping.start == 0x7fffdeadb000 && mapping.end == 0x7fffdeadc000);
	assert_true(mapping.file_offset == 0xffff123456789000);
	assert_true(mapping.writable);
	assert_int_equal(mapping.kind, MAPPING_FILE);
	free(mapping.path);
	assert_int_equal(mapping.device, makedev(0x103, 2));
}

static void lines_cut_anywhere_or_with_a_byte_changed_do_no_harm(void **state)
{
	static const char line[] =
		"7f5c1000-7f5c2000 r-xp 0000a000 08:02 173521  /usr/lib/a\\012b.so (deleted)";
	uint64_t random = 3;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		char text[sizeof(line)];
		uint64_t bits = random_next(&random);
		struct mapping mapping;

		memcpy(text, line, sizeof(line));
		text[bits % (sizeof(line) - 1)] = (char)(bits >> 32);
		text[(bits >> 16) % sizeof(line)] = '\0';
		if (maps_parse_line(text, &mapping) == 1) {
			assert_true(mapping.start < mapping.end);
			free(mapping.path);
		}
	}
}

static void our_own_maps_hold_our_code(void **state)
{
	struct maps maps;
	uint64_t code = (uint64_t)(uintptr_t)our_own_maps_hold_our_code, last = 0;
	char self[4096] = "";
	bool found = false, vdso = false;
	int written = 0;

	(void)state;
	/* Two pages that may be written as well as executed don't count as exec_vm. */
	void *jit = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_int_equal(maps_read(getpid(), 0, &maps), 0);
	for (size_t i = 0; i < maps.count; i++) {
		const struct mapping *mapping = &maps.mappings[i];

		assert_true(mapping->start >= last && mapping->end > mapping->start);
		last = mapping->end;
		vdso |= mapping->kind == MAPPING_VDSO;
		written += mapping->writable;
		if (code >= mapping->start && code < mapping->end) {
			assert_string_equal(mapping->path, self);
			found = true;
		}
	}
	assert_true(found && vdso);
	assert_true(written >= 1 && jit != MAP_FAILED);
	assert_true(maps.exec_pages > 0);
	maps_done(&maps);
	munmap(jit, 8192);
}

/* A child that waits under a name, until it is killed. */
static pid_t child_named(const char *name)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, name);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void names_with_parentheses_blanks_and_line_ends_do_not_confuse(void **state)
{
	static const char *const names[] = {
		"plain",
		"a) R 1 2 3 4",
		"(((",
		")))",
		") (",
		"a;b\nc 7",
		"",
		" ",
		"../../../etc/x",
		"\xff\xfe) 9",
		"123456789012345",
		"\n) S 0 0 0\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct proc_stat stat = {0}, own;
		pid_t child = child_named(names[i]);
		char comm[PROC_COMM_BYTES] = "as before";
		int r = proc_stat(child, &stat), r_comm = proc_comm(child, comm);

		end_child(child);
		assert_int_equal(r, 0);
		assert_string_equal(stat.comm, names[i]);
		assert_int_equal(r_comm, 0);
		assert_string_equal(comm, names[i]);
		assert_int_equal(proc_stat(getpid(), &own), 0);
		assert_in_range(stat.start_ticks, own.start_ticks, own.start_ticks + 100 * 60);
	}
}

static void names_that_are_equal_have_equal_bytes(void **state)
{
	struct proc_stat stat, other;

	(void)state;
	memset(&stat, 'x', sizeof(stat));
	memset(&other, 'y', sizeof(other));
	assert_int_equal(proc_stat(getpid(), &stat), 0);
	assert_int_equal(proc_stat(getpid(), &other), 0);
	assert_memory_equal(stat.comm, other.comm, sizeof(stat.comm));
}

static void the_start_time_is_field_22(void **state)
{
	char text[4096] = "", *field;
	struct proc_stat stat;
	struct timespec now;

	(void)state;
	assert_int_equal(proc_stat(getpid(), &stat), 0);
	_cleanup_close_ int fd = open("/proc/self/stat", O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	field = strtok(text, " "); /* our own name has no blanks */
	for (int i = 1; i < 22; i++)
		field = strtok(NULL, " ");
	assert_true(stat.start_ticks == strtoull(field, NULL, 10));
	clock_gettime(CLOCK_BOOTTIME, &now);
	uint64_t now_ticks =
		proc_ticks_of_ns((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	/* A machine may have been started a minute ago. */
	uint64_t least_ticks = now_ticks > 600 * 100 ? now_ticks - 600 * 100 : 0;
	assert_in_range(stat.start_ticks, least_ticks, now_ticks);
}

static void sums_of_a_process_are_those_of_its_threads(void **state)
{
	struct proc_stat stat, child_stat;
	struct timespec used;

	(void)state;
	do /* CPU time */
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 100000000);
	assert_int_equal(proc_stat(getpid(), &stat), 0);
	assert_int_equal(stat.state, 'R');
	assert_false(stat.is_kernel);
	assert_int_equal(stat.threads, 1);
	/* The kernel splits the time into two parts, each of which is rounded down. */
	assert_in_range(stat.cpu_ticks, sysconf(_SC_CLK_TCK) / 10 - 2, 60 * sysconf(_SC_CLK_TCK));
	assert_in_range(stat.rss_pages, 50, 1 << 20);
	pid_t child = child_named("x");
	int r = proc_stat(child, &child_stat);
	end_child(child);
	assert_int_equal(r, 0);
	assert_true(child_stat.cpu_ticks < stat.cpu_ticks);
	if (proc_stat(2, &stat) == 0 && strcmp(stat.comm, "kthreadd") == 0)
		assert_true(stat.is_kernel);
}

static void ticks_are_rounded_down_as_the_kernel_does(void **state)
{
	uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	assert_int_equal(proc_ticks_of_ns(0), 0);
	assert_int_equal(proc_ticks_of_ns(tick - 1), 0);
	assert_int_equal(proc_ticks_of_ns(tick), 1);
	assert_int_equal(proc_ticks_of_ns(12345 * tick + 1), 12345);
}

static void a_process_that_has_gone_is_esrch(void **state)
{
	struct proc_stat stat = {.comm = "as before", .start_ticks = 7};
	struct maps maps;
	bool found = false;
	pid_t child = child_named("x");

	(void)state;
	end_child(child);
	assert_int_equal(proc_stat(child, &stat), -ESRCH);
	assert_string_equal(stat.comm, "as before");
	assert_int_equal(proc_comm(child, stat.comm), -ESRCH);
	assert_string_equal(stat.comm, "as before");
	assert_int_equal(maps_read(child, 0, &maps), -ESRCH);
	assert_int_equal(proc_cmdline_contains(child, "x", &found), -ESRCH);
}

static void a_process_whose_parent_waits_later_has_no_command_line(void **state)
{
	pid_t child = fork();
	bool found = false;
	siginfo_t info;

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_cmdline_contains(child, "x", &found), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Stays until it is killed. */
static pid_t child_of(uid_t uid, bool own_namespace)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if ((own_namespace && unshare(CLONE_NEWUSER) < 0) ||
		    (!own_namespace && setresuid(uid, uid, uid) < 0) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ssize_t n = read(ready[0], &byte, 1);
	close(ready[0]);
	if (n == 1)
		return pid;
	waitpid(pid, NULL, 0);
	return -1;
}

static void who_has_a_say_in_a_process(void **state)
{
	static const char map[] = "5 70 1\n0 100000 5\n";
	uid_t user = 7, root = 7;
	char path[64];

	(void)state;
	assert_int_equal(proc_owners(getpid(), &user, &root), 0);
	assert_int_equal(user, geteuid());
	assert_int_equal(root, 0);
	pid_t pid = child_of(65534, false);
	if (pid < 0)
		skip();
	assert_int_equal(proc_owners(pid, &user, &root), 0);
	assert_int_equal(user, 65534);
	assert_int_equal(root, 0);
	end_child(pid);
	assert_int_equal(proc_owners(pid, &user, &root), -ESRCH);
	pid = child_of(0, true);
	if (pid < 0)
		skip();
	assert_int_equal(proc_owners(pid, &user, &root), 0);
	assert_int_equal(root, (uid_t)-1); /* nobody is anybody there yet */
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool mapped = write(fd, map, strlen(map)) == (ssize_t)strlen(map);
	assert_int_equal(proc_owners(pid, &user, &root), 0);
	assert_int_equal(root, mapped ? 100000 : (uid_t)-1);
	end_child(pid);
}

static void the_command_line_is_joined_by_blanks(void **state)
{
	bool found = true;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		execl("/bin/sleep", "one two", "100.5", "--", (char *)NULL);
		_exit(1);
	}
	for (int i = 0; i < 1000; i++) { /* until it has done its execve */
		assert_int_equal(proc_cmdline_contains(child, "one two 100.5", &found), 0);
		if (found)
			break;
		usleep(1000);
	}
	assert_true(found);
	assert_int_equal(proc_cmdline_contains(child, "two 100.5 --", &found), 0);
	assert_true(found);
	assert_int_equal(proc_cmdline_contains(child, "100.5 ---", &found), 0);
	assert_false(found);
	end_child(child);
	assert_int_equal(proc_cmdline_contains(2, "x", &found), 0); /* a kernel thread has none */
	assert_false(found);
}

static pid_t child_with_line(const char *first, const char *second)
{
	pid_t child = fork();
	char text[8] = "";
	bool is_cut;

	if (child == 0) {
		execl("/bin/sleep", first, "100.5", second, (char *)NULL);
		_exit(1);
	}
	for (int i = 0; i < 10000 && strncmp(text, first, 3) != 0; i++) { /* until its execve */
		usleep(1000);
		assert_int_equal(proc_command(child, text, sizeof(text), &is_cut), 0);
	}
	return child;
}

static void a_command_line_is_cut_where_there_is_no_room(void **state)
{
	pid_t child = child_with_line("one two", "0");
	char text[32] = "as before", exact[sizeof("one two 100.5 0")], few[8];
	bool is_cut = true;

	(void)state;
	assert_int_equal(proc_command(child, text, sizeof(text), &is_cut), 0);
	assert_string_equal(text, "one two 100.5 0");
	assert_false(is_cut);
	assert_int_equal(proc_command(child, few, sizeof(few), &is_cut), 0);
	assert_string_equal(few, "one two");
	assert_true(is_cut);
	/* The NUL behind the last argument finds no room, so there may be more. */
	assert_int_equal(proc_command(child, exact, sizeof(exact), &is_cut), 0);
	assert_string_equal(exact, text);
	assert_true(is_cut);
	end_child(child);
	assert_int_equal(proc_command(child, text, sizeof(text), &is_cut), -ESRCH);
	assert_string_equal(text, "one two 100.5 0");
}

static void waits_are_summed_up_over_as_many_threads_as_may_be(void **state)
{
	uint64_t wait_ns = 0, of_main = 0;
	size_t threads_max = 3;
	char text[64] = "";

	(void)state;
	if (!proc_counts_waits())
		skip();
	assert_int_equal(proc_wait_ns(getpid(), &threads_max, &wait_ns), 0);
	assert_int_equal(threads_max, 2);
	_cleanup_close_ int fd = open("/proc/self/schedstat", O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_int_equal(sscanf(text, "%*u %lu", &of_main), 1);
	assert_true(wait_ns <= of_main); /* it was read before */
	threads_max = 0;
	assert_int_equal(proc_wait_ns(getpid(), &threads_max, &wait_ns), -E2BIG);
	pid_t child = child_named("x");
	end_child(child);
	threads_max = 3;
	assert_int_equal(proc_wait_ns(child, &threads_max, &wait_ns), -ESRCH);
}

static void note_own(void *arg, pid_t pid)
{
	*(int *)arg += pid == getpid();
}

static void every_process_is_visited_once(void **state)
{
	int seen = 0;

	(void)state;
	assert_int_equal(proc_each(note_own, &seen), 0);
	assert_int_equal(seen, 1);
}

/* 2,000 mappings of two files in turn: each path is there once. */
static void neighbours_share_their_paths(void **state)
{
	enum { MANY = 2000 };
	_cleanup_folder_ struct folder folder;
	static void *mapped[MANY];
	struct maps maps;
	size_t of_folder = 0;

	(void)state;
	folder_make(&folder);
	folder_put(&folder, "one", "1", 1);
	folder_put(&folder, "two", "2", 1);
	int fds[2] = {openat(folder.fd, "one", O_RDONLY), openat(folder.fd, "two", O_RDONLY)};
	for (int i = 0; i < MANY; i++) {
		mapped[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fds[i % 2], 0);
		assert_true(mapped[i] != MAP_FAILED);
	}
	assert_int_equal(maps_read(getpid(), 0, &maps), 0);
	assert_true(maps.count >= MANY);
	assert_int_equal(maps.left_out, 0);
	assert_false(maps.is_cut);
	for (size_t i = 0; i < maps.paths_count; i++)
		of_folder += strncmp(maps.paths[i], folder.path, strlen(folder.path)) == 0;
	assert_in_range(of_folder, 2, 8); /* some may lie between libraries, far from the others */
	maps_done(&maps);
	for (int i = 0; i < MANY; i++)
		munmap(mapped[i], 4096);
	close(fds[0]);
	close(fds[1]);
}

static void reading_maps_ends_when_its_time_is_over(void **state)
{
	struct maps maps;

	(void)state;
	assert_int_equal(maps_read(getpid(), 1, &maps), 0);
	assert_true(maps.is_cut);
	assert_true(maps.count <= 1);
	maps_done(&maps);
}

static void the_real_user_is_told(void **state)
{
	uid_t uid = 77;

	(void)state;
	assert_int_equal(proc_uid(getpid(), &uid), 0);
	assert_int_equal(uid, getuid());
	assert_int_equal(proc_uid(0x7ffffff0, &uid), -ESRCH);
}

static void a_mount_namespace_of_its_own_is_told(void **state)
{
	int ready[2];
	char byte = 0;

	(void)state;
	assert_int_equal(proc_mounts(1), 0);
	assert_int_equal(proc_mounts(0x7ffffff0), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		byte = unshare(CLONE_NEWNS) == 0;
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (!byte)
		skip();
	assert_int_not_equal(proc_mounts(pid), 0);
	assert_int_not_equal(proc_mounts(pid), proc_mounts(getpid()));
	end_child(pid);
}

static void a_clock_that_was_moved_is_seen(void **state)
{
	(void)state;
	assert_false(proc_text_moves_clock("monotonic           0         0\nboottime  0  0\n"));
	assert_false(proc_text_moves_clock("monotonic           0         0\nboottime  7  0\n"));
	assert_true(proc_text_moves_clock("monotonic        -100         0\nboottime  0  0\n"));
	assert_true(proc_text_moves_clock("monotonic  0         1\nboottime  0  0\n"));
	assert_false(proc_text_moves_clock(""));
	assert_false(proc_moves_clock(getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_was_moved_is_seen),
		cmocka_unit_test(every_kind_of_line_is_told),
		cmocka_unit_test(numbers_of_a_line_are_read_whole),
		cmocka_unit_test(lines_cut_anywhere_or_with_a_byte_changed_do_no_harm),
		cmocka_unit_test(neighbours_share_their_paths),
		cmocka_unit_test(reading_maps_ends_when_its_time_is_over),
		cmocka_unit_test(the_real_user_is_told),
		cmocka_unit_test(a_mount_namespace_of_its_own_is_told),
		cmocka_unit_test(our_own_maps_hold_our_code),
		cmocka_unit_test(names_with_parentheses_blanks_and_line_ends_do_not_confuse),
		cmocka_unit_test(names_that_are_equal_have_equal_bytes),
		cmocka_unit_test(the_start_time_is_field_22),
		cmocka_unit_test(sums_of_a_process_are_those_of_its_threads),
		cmocka_unit_test(ticks_are_rounded_down_as_the_kernel_does),
		cmocka_unit_test(a_process_that_has_gone_is_esrch),
		cmocka_unit_test(a_process_whose_parent_waits_later_has_no_command_line),
		cmocka_unit_test(who_has_a_say_in_a_process),
		cmocka_unit_test(the_command_line_is_joined_by_blanks),
		cmocka_unit_test(a_command_line_is_cut_where_there_is_no_room),
		cmocka_unit_test(waits_are_summed_up_over_as_many_threads_as_may_be),
		cmocka_unit_test(every_process_is_visited_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
