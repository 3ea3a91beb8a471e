/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls WHAT COUNT [US]: stops itself (SIGSTOP), then does this COUNT times and prints what it did,
 * as JSON, over and over:
 *
 *	time	calls event_empty(), and event_busy(), which works for US us by its own clock:
 *		"busy_ns" is their sum
 *	empty	calls event_empty()
 *	stepped	calls event_stepped()
 *	ask	a system call, getppid(), in run_asks()
 *	pace	a millisecond: sleeps for that long, then calls event_empty() and
 *		event_stepped() PACED times each
 *
 * The first instruction of event_empty() and event_busy() is one that the kernel emulates if a
 * probe is on it, that of event_stepped() is one that it has to single-step.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "optimized/level.h"

#define PACED 40

void event_empty(void);
void event_busy(void);
void event_stepped(void);
void work_busily(void);

/* clang-format off */
#if defined(__x86_64__)
#define EMPTY	"push %rbp\n.cfi_adjust_cfa_offset 8\n pop %rbp\n.cfi_adjust_cfa_offset -8\n ret\n"
#define BUSY	"push %rbp\n.cfi_adjust_cfa_offset 8\n call work_busily\n pop %rbp\n.cfi_adjust_cfa_offset -8\n ret\n"
#define STEPPED "mov %rsp, %rax\n ret\n"
#elif defined(__aarch64__)
#define EMPTY	"nop\n ret\n"
#define BUSY	"b work_busily\n"
#define STEPPED "mov x0, sp\n ret\n"
#endif
#define FUNCTION(name, code) \
	".pushsection .text\n" \
	".balign 16\n" \
	".globl " name "\n" \
	".type " name ", %function\n" \
	name ":\n" \
	".cfi_startproc\n" \
	code \
	".cfi_endproc\n" \
	".size " name ", . - " name "\n" \
	".popsection\n"
__asm__(FUNCTION("event_empty", EMPTY) FUNCTION("event_busy", BUSY) FUNCTION("event_stepped", STEPPED));
/* clang-format on */

static uint64_t each_ns, busy_ns;

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((used)) void work_busily(void)
{
	uint64_t began_ns = clock_ns(), now_ns;

	do
		now_ns = clock_ns();
	while (now_ns - began_ns < each_ns);
	busy_ns += now_ns - began_ns;
}

LEVEL static void run_empty(long count)
{
	for (long i = 0; i < count; i++)
		event_empty();
	__asm__ volatile("");
}

LEVEL static void run_stepped(long count)
{
	for (long i = 0; i < count; i++)
		event_stepped();
	__asm__ volatile("");
}

LEVEL static void run_busy(long count)
{
	for (long i = 0; i < count; i++)
		event_busy();
	__asm__ volatile("");
}

LEVEL static void run_asks(long count)
{
	for (long i = 0; i < count; i++)
		call_kernel(SYS_getppid, NULL);
	__asm__ volatile("");
}

LEVEL static void run_paced(long count)
{
	for (long i = 0; i < count; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		for (int each = 0; each < PACED; each++) {
			event_empty();
			event_stepped();
		}
	}
}

/* Returns whether there is such a thing to do. */
static bool run_once(const char *what, long count)
{
	busy_ns = 0;
	if (strcmp(what, "time") == 0) {
		run_empty(count);
		run_busy(count);
	} else if (strcmp(what, "empty") == 0) {
		run_empty(count);
	} else if (strcmp(what, "stepped") == 0) {
		run_stepped(count);
	} else if (strcmp(what, "ask") == 0) {
		run_asks(count);
	} else if (strcmp(what, "pace") == 0) {
		run_paced(count);
	} else {
		return false;
	}
	return true;
}

int main(int argc, char *argv[])
{
	const char *what = argc > 2 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;

	each_ns = argc > 3 ? (uint64_t)atol(argv[3]) * 1000u : 0;
	for (;;) {
		raise(SIGSTOP);
		if (!run_once(what, count))
			return 2;
		printf("{\"count\": %ld, \"busy_ns\": %" PRIu64 "}\n", count, busy_ns);
		fflush(stdout);
	}
}
