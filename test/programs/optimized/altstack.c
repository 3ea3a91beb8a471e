/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * altstack fault|timer SECONDS: most of that CPU time goes by in a signal handler on a stack of its
 * own: main -> outer -> victim -> (the kernel's return from signals) -> handler -> handler_work.
 *
 * fault: victim's first instruction is not allowed, so what was interrupted is an address with
 * another function right before it. timer: victim is interrupted wherever it is.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "level.h"

#define HANDLER_NS 20000000u

static volatile uint64_t sum;

LEVEL static void handler_work(void)
{
	use_frame_register();
	sum += burn_ns(HANDLER_NS);
}

LEVEL static void handler(int number, siginfo_t *info, void *context)
{
	(void)info;
	handler_work();
	if (number != SIGILL)
		return;
	ucontext_t *at = context;
#if defined(__x86_64__)
	at->uc_mcontext.gregs[REG_RIP] += 2;
#elif defined(__aarch64__)
	at->uc_mcontext.pc += 4;
#elif defined(__i386__)
	at->uc_mcontext.gregs[REG_EIP] += 2;
#endif
}

void forbidden(void);
__asm__(".text\n.p2align 4\n.type forbidden, %function\nforbidden:\n.cfi_startproc\n"
#if defined(__x86_64__) || defined(__i386__)
	"ud2\nret\n"
#elif defined(__aarch64__)
	"udf #0\nret\n"
#endif
	".cfi_endproc\n.size forbidden, . - forbidden\n");

LEVEL static void victim(int fault)
{
	use_frame_register();
	if (fault)
		forbidden();
	else
		sum += burn_ns(HANDLER_NS / 2);
}

LEVEL static void outer(int fault, uint64_t ns)
{
	while (thread_cpu_ns() < ns)
		victim(fault);
}

int main(int argc, char **argv)
{
	static char other[65536];
	stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct itimerval every = {{0, 25000}, {0, 25000}};
	int fault = argc > 1 && strcmp(argv[1], "fault") == 0;

	if (argc < 3) {
		fprintf(stderr, "usage: altstack fault|timer SECONDS\n");
		return 2;
	}
	if (sigaltstack(&stack, NULL) || sigaction(SIGILL, &action, NULL) ||
	    sigaction(SIGPROF, &action, NULL) || (!fault && setitimer(ITIMER_PROF, &every, NULL)))
		return 1;
	outer(fault, seconds_ns(argv[2]));
	return 0;
}
