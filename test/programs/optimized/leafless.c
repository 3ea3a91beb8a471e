/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leafless nap|spin cfi|bare SECONDS: main -> a -> b -> a leaf in assembler that has no frame, for
 * that much CPU time. It naps (a system call for each nap) or counts down; `bare`: it has no CFI
 * either.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "level.h"

#define STRING(x)    STRING_OF(x)
#define STRING_OF(x) #x

#if defined(__x86_64__)
#define NAP  "mov $" STRING(SYS_nanosleep) ", %eax\nsyscall\ntest %eax, %eax\nret\n"
#define SPIN "1: dec %rdi\njnz 1b\nret\n"
#elif defined(__aarch64__)
#define NAP  "mov x8, #" STRING(SYS_nanosleep) "\nsvc 0\nret\n"
#define SPIN "1: subs x0, x0, #1\nb.ne 1b\nret\n"
#endif
#define LEAF(name, begin, code, end)                                                               \
	".type " #name ", %function\n" #name ":\n" begin code end ".size " #name ", . - " #name "\n"
#define WITH_CFI(name, code) LEAF(name, ".cfi_startproc\n", code, ".cfi_endproc\n")
#define WITHOUT(name, code)  LEAF(name, "", code, "")

__asm__(".text\n.p2align 4\n" /* */
	WITH_CFI(nap_cfi, NAP) WITHOUT(nap_bare, NAP) WITH_CFI(spin_cfi, SPIN)
		WITHOUT(spin_bare, SPIN));

long nap_cfi(const void *time, void *rest);
long nap_bare(const void *time, void *rest);
void spin_cfi(uint64_t rounds);
void spin_bare(uint64_t rounds);

static const struct timespec nap_time = {0, 1000};

LEVEL static void b(int nap, int bare)
{
	use_frame_register();
	for (int i = 0; i < 100; i++) {
		if (nap)
			(bare ? nap_bare : nap_cfi)(&nap_time, NULL);
		else
			(bare ? spin_bare : spin_cfi)(100003);
	}
}

LEVEL static void a(int nap, int bare, uint64_t ns)
{
	while (thread_cpu_ns() < ns)
		b(nap, bare);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: leafless nap|spin cfi|bare SECONDS\n");
		return 2;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	a(strcmp(argv[1], "nap") == 0, strcmp(argv[2], "bare") == 0, seconds_ns(argv[3]));
	return 0;
}
