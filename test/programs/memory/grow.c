/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grow MODE[:MIB]...: stops itself (SIGSTOP), then grows in each of these ways, in a function of
 * its own (main -> grow_MODE -> touch or its system call). Prints how its resident memory grew
 * while it did, by /proc/self/smaps_rollup, and its faults, by getrusage(): a line of JSON; then it
 * waits for a signal.
 *
 *	anon	writes to each page of fresh memory
 *	huge	the same, of huge pages
 *	pipe	read() of a file into fresh memory, which the kernel writes to
 *	file	reads each page of a file that is mapped (in the page cache already)
 *	cold	the same, of one that isn't in the page cache
 *	private	writes to pages of a private mapping of a file that were read before
 *	zero	reads fresh memory: the zero page
 *	zeroed	writes to memory that was read
 *	cow	a child writes to what its parent has
 *	reuse	the parent writes to it when the child has ended
 *	hugecow	a child writes to a byte in each page of huge pages that its parent has
 *	hugeuse	the parent writes to them when the child has ended
 *	direct	reads a file with O_DIRECT into fresh memory: no event
 *	shared	writes to fresh shared memory
 *	halves	the same, behind a fault elsewhere from its middle on
 *	threads	four threads write to fresh memory, each to a fourth
 *	colds	four threads read a file as `cold` does
 *	populate mmap(MAP_POPULATE): no event
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define MIB	   (1024 * 1024)
#define PAGE	   4096
#define HUGE_BYTES (2 * MIB)
#define THREADS	   4

static size_t bytes;
static const char *folder;

/* kB of smaps_rollup, which is exact where /proc/self/status may be late. */
static long resident_kb(void)
{
	char line[256];
	long kb = -1;
	FILE *file = fopen("/proc/self/smaps_rollup", "r");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Rss: %ld", &kb) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kb;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_majflt;
}

static volatile char sink;

__attribute__((noinline)) static void touch(volatile char *at, size_t count)
{
	keep_frame();
	for (size_t i = 0; i < count; i += PAGE)
		at[i] = 1;
}

__attribute__((noinline)) static void look(volatile char *at, size_t count)
{
	keep_frame();
	for (size_t i = 0; i < count; i += PAGE)
		sink = at[i];
}

/* At a huge page's border; without huge pages unless they are asked for. */
static char *fresh(int flags, int advice)
{
	char *at = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (at == MAP_FAILED)
		err(1, "mmap");
	at = (char *)(((uintptr_t)at + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
	madvise(at, bytes, advice);
	return at;
}

static char *fresh_private(void)
{
	return fresh(MAP_PRIVATE | MAP_ANONYMOUS, MADV_NOHUGEPAGE);
}

static int make_file(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/grow-XXXXXX", folder);
	int fd = mkstemp(path);
	if (fd < 0)
		err(1, "%s", path);
	unlink(path);
	char *block = calloc(1, 65536);
	for (size_t i = 0; i < bytes; i += 65536) {
		if (write(fd, block, 65536) != 65536)
			err(1, "write");
	}
	free(block);
	fsync(fd);
	return fd;
}

static char *map_file(int fd, int flags)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		err(1, "mmap");
	return at;
}

/* Told to the parent: what a child grew. */
static long child_kb, child_faults;

static void in_child(void (*work)(char *), char *at)
{
	int fds[2];
	long told[2];

	if (pipe(fds) < 0)
		err(1, "pipe");
	pid_t pid = fork();
	if (pid == 0) {
		long kb = resident_kb(), count = faults();

		work(at);
		told[1] = faults() - count;
		told[0] = resident_kb() - kb;
		_exit(write(fds[1], told, sizeof(told)) != sizeof(told));
	}
	if (read(fds[0], told, sizeof(told)) != sizeof(told))
		err(1, "read");
	waitpid(pid, NULL, 0);
	close(fds[0]);
	close(fds[1]);
	child_kb += told[0];
	child_faults += told[1];
}

static char *memory;
static int file_fd;

static void before_private_memory(void)
{
	memory = fresh_private();
}

static void before_huge(void)
{
	memory = fresh(MAP_PRIVATE | MAP_ANONYMOUS, MADV_HUGEPAGE);
}

static void before_shared(void)
{
	memory = fresh(MAP_SHARED | MAP_ANONYMOUS, MADV_NOHUGEPAGE);
}

static char *elsewhere;

static void before_halves(void)
{
	before_private_memory();
	elsewhere = memory;
	before_shared();
}

static void before_file(void)
{
	memory = map_file(make_file(), MAP_SHARED);
}

static void before_cold(void)
{
	file_fd = make_file();
	posix_fadvise(file_fd, 0, 0, POSIX_FADV_DONTNEED);
	memory = map_file(file_fd, MAP_PRIVATE);
}

static void before_private(void)
{
	memory = map_file(make_file(), MAP_PRIVATE);
	look(memory, bytes);
}

static void before_pipe(void)
{
	before_private_memory();
	file_fd = make_file();
}

static void before_written(void)
{
	before_private_memory();
	touch(memory, bytes);
}

static void before_zeroed(void)
{
	before_private_memory();
	look(memory, bytes);
}

static void nothing(char *at)
{
	(void)at;
}

static void before_reuse(void)
{
	before_written();
	in_child(nothing, memory);
}

static void before_hugecow(void)
{
	before_huge();
	touch(memory, bytes);
}

static void before_hugeuse(void)
{
	before_hugecow();
	in_child(nothing, memory);
}

static void before_direct(void)
{
	before_pipe();
	if (fcntl(file_fd, F_SETFL, O_DIRECT) < 0)
		err(1, "O_DIRECT");
}

/* ---- */

__attribute__((noinline)) static void grow_anon(void)
{
	keep_frame();
	touch(memory, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_huge(void)
{
	keep_frame();
	touch(memory, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_pipe(void)
{
	keep_frame();
	if (pread(file_fd, memory, bytes, 0) != (ssize_t)bytes)
		err(1, "pread");
	keep_frame();
}

__attribute__((noinline)) static void grow_file(void)
{
	keep_frame();
	look(memory, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_cold(void)
{
	keep_frame();
	look(memory, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_private(void)
{
	keep_frame();
	touch(memory, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_zero(void)
{
	keep_frame();
	look(memory, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_zeroed(void)
{
	keep_frame();
	touch(memory, bytes);
	keep_frame();
}

static void touch_all(char *at)
{
	touch(at, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_cow(void)
{
	keep_frame();
	in_child(touch_all, memory);
	keep_frame();
}

__attribute__((noinline)) static void grow_reuse(void)
{
	keep_frame();
	touch(memory, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_shared(void)
{
	keep_frame();
	touch(memory, bytes);
	keep_frame();
}

__attribute__((noinline)) static void grow_halves(void)
{
	keep_frame();
	touch(memory, bytes / 2);
	*(volatile char *)elsewhere = 1;
	touch(memory + bytes / 2, bytes / 2);
	keep_frame();
}

static bool only_look;

__attribute__((noinline)) static void grow_part(uintptr_t number)
{
	keep_frame();
	if (only_look)
		look(memory + number * (bytes / THREADS), bytes / THREADS);
	else
		touch(memory + number * (bytes / THREADS), bytes / THREADS);
	keep_frame();
}

static pthread_t threads[THREADS];
static pthread_barrier_t begin;

static void *run_part(void *arg)
{
	pthread_barrier_wait(&begin);
	grow_part((uintptr_t)arg);
	pthread_barrier_wait(&begin);
	return NULL;
}

static void start_threads(void)
{
	pthread_barrier_init(&begin, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_part, (void *)i);
}

static void before_threads(void)
{
	before_private_memory();
	only_look = false;
	start_threads();
}

static void before_colds(void)
{
	before_cold();
	only_look = true;
	start_threads();
}

__attribute__((noinline)) static void grow_threads(void)
{
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&begin);
}

__attribute__((noinline)) static void grow_populate(void)
{
	keep_frame();
	if (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		 -1, 0) == MAP_FAILED)
		err(1, "mmap");
	keep_frame();
}

static void no_preparation(void)
{
}

static const struct mode {
	const char *name;
	void (*before)(void);
	void (*grow)(void);
} modes[] = {
	{"anon", before_private_memory, grow_anon},
	{"huge", before_huge, grow_huge},
	{"pipe", before_pipe, grow_pipe},
	{"file", before_file, grow_file},
	{"cold", before_cold, grow_cold},
	{"private", before_private, grow_private},
	{"zero", before_private_memory, grow_zero},
	{"zeroed", before_zeroed, grow_zeroed},
	{"cow", before_written, grow_cow},
	{"reuse", before_reuse, grow_reuse},
	{"hugecow", before_hugecow, grow_cow},
	{"hugeuse", before_hugeuse, grow_reuse},
	{"direct", before_direct, grow_pipe},
	{"shared", before_shared, grow_shared},
	{"halves", before_halves, grow_halves},
	/* By threads, by the kernel. */
	{"threads", before_threads, grow_threads},
	{"colds", before_colds, grow_threads},
	{"populate", no_preparation, grow_populate},
};

static const struct mode *find_mode(char *text)
{
	char *size = strchr(text, ':');

	bytes = (size_t)(size ? atol(size + 1) : 16) * MIB;
	if (size)
		*size = '\0';
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i].name, text) == 0)
			return &modes[i];
	}
	errx(2, "no such mode: %s", text);
}

int main(int argc, char **argv)
{
	folder = getenv("GROW_FOLDER") ? getenv("GROW_FOLDER") : "/var/tmp";
	if (argc < 2) {
		fprintf(stderr, "usage: grow MODE[:MIB]...\n");
		return 2;
	}
	resident_kb(); /* its own memory is there */
	raise(SIGSTOP);
	printf("{");
	for (int i = 1; i < argc; i++) {
		const struct mode *mode = find_mode(argv[i]);

		child_kb = child_faults = 0;
		mode->before();
		child_kb = child_faults = 0;
		long kb = resident_kb(), count = faults(), majors = major_faults();
		mode->grow();
		count = faults() - count + child_faults;
		kb = resident_kb() - kb + child_kb;
		printf("%s\"%s\": {\"bytes\": %ld, \"faults\": %ld, \"majors\": %ld, "
		       "\"touched\": %zu}",
		       i > 1 ? ", " : "", mode->name, kb * 1024, count, major_faults() - majors,
		       bytes);
	}
	printf("}\n");
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
