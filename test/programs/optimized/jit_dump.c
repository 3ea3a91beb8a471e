/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_dump FOLDER none|names|rows SECONDS [other]: code made at run time, without frame pointers,
 * which is written to FOLDER/jit-PID.dump. main -> call_made -> dumped::outer() -> called_back ->
 * dumped_inner -> called_back_work, which burns. none: no file; names: without unwind rows.
 *
 * SIGUSR1: the outer function's place is taken by one of another name, other_outer. `other`: that
 * calls other_back instead of called_back.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../jit_dump.h"
#include "level.h"

static char *code;
static int dump = -1, with_rows;
static uint64_t number;
static volatile sig_atomic_t again;
static volatile uint64_t sum;

static void on_signal(int signal_number)
{
	(void)signal_number;
	again = 1;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The file is mapped, as that tells profilers of it. */
static void begin_dump(const char *folder)
{
	const struct dump_header header = dump_header((uint32_t)getpid());
	char path[4096];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	dump = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (dump < 0 || !dump_put(dump, &header, sizeof(header)))
		fail(path);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
		fail("mmap");
}

static void tell(int place, const char *name)
{
	unsigned char frames[DUMP_FRAMES];
	uint64_t start = (uint64_t)(uintptr_t)code + (uint64_t)place * DUMP_BYTES;

	if (dump < 0)
		return;
	if (with_rows &&
	    !dump_put_frames(dump, dump_now(), frames, dump_frames(frames, DUMP_CODE), 0))
		fail("write");
	if (!dump_put_load(dump, (uint32_t)getpid(), dump_now(), start, DUMP_CODE, number++, name))
		fail("write");
}

LEVEL static void called_back_work(void)
{
	use_frame_register();
	sum += burn_ns(2000000);
}

LEVEL static void run_made(int place, void (*called)(void))
{
	void (*made)(void (*)(void));
	const char *at = code + place * DUMP_BYTES;

	memcpy(&made, &at, sizeof(made));
	made(called);
	sum++; /* not a tail call */
}

LEVEL static void called_back(void)
{
	use_frame_register();
	run_made(1, called_back_work);
}

LEVEL static void other_back(void)
{
	use_frame_register();
	run_made(1, called_back_work);
	sum++;
}

LEVEL static void call_made(void (*back)(void))
{
	run_made(0, back);
	sum++;
}

int main(int argc, char **argv)
{
	void (*back)(void) = called_back;

	if (argc < 4) {
		fprintf(stderr, "usage: jit_dump FOLDER none|names|rows SECONDS [other]\n");
		return 2;
	}
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		fail("mmap");
	memcpy(code, dumped_function, DUMP_CODE);
	memcpy(code + DUMP_BYTES, dumped_function, DUMP_CODE);
	signal(SIGUSR1, on_signal);
	with_rows = strcmp(argv[2], "rows") == 0;
	if (strcmp(argv[2], "none") != 0)
		begin_dump(argv[1]);
	tell(0, "_ZN6dumped5outerEv");
	tell(1, "dumped_inner");
	while (thread_cpu_ns() < seconds_ns(argv[3])) {
		if (again) {
			again = 0;
			tell(0, "other_outer");
			back = argc > 4 ? other_back : called_back;
		}
		call_made(back);
	}
	return 0;
}
