/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_debug object|file SECONDS: code made at run time, without frame pointers, of which debuggers
 * are told (GDB's JIT interface). main -> call_made -> made::outer() -> called_back -> made_inner
 * -> called_back_work, which burns. Told as an object file whose .eh_frame was loaded elsewhere, or
 * as a file that has it.
 *
 * SIGUSR1: told no more, while it runs on. SIGUSR2: told again, as other_outer and other_inner.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../jit_elf.h"
#include "level.h"

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const void *symfile;
	uint64_t symfile_bytes;
};

struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};

enum { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

void __jit_debug_register_code(void);
struct jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, NULL, NULL};

LEVEL void __jit_debug_register_code(void)
{
	__asm__ volatile("" : : : "memory");
}

static const char *const names[] = {"_ZN4made5outerEv", "made_inner"};
static const char *const other_names[] = {"other_outer", "other_inner"};

/* Its entry lies before one of code that nobody runs, so that the list has a middle. */
static struct made_elf elf, idle_elf;
static struct jit_code_entry entry, idle = {NULL, NULL, &idle_elf, sizeof(idle_elf)};
static unsigned char loaded[MADE_FRAMES];
static char *code;
static int is_object;
static volatile sig_atomic_t wanted = JIT_REGISTER, again;
static volatile uint64_t sum;

static void tell(const char *const *told)
{
	made_frames(loaded, (uintptr_t)code, 2);
	made_elf_fill(&elf, (uintptr_t)code, told, 2, is_object ? loaded : NULL);
	entry = (struct jit_code_entry){&idle, NULL, &elf, sizeof(elf)};
	idle.prev = &entry;
	__jit_debug_descriptor.first = __jit_debug_descriptor.relevant = &entry;
	__jit_debug_descriptor.action = JIT_REGISTER;
	__jit_debug_register_code();
}

static void tell_no_more(void)
{
	idle.prev = NULL;
	__jit_debug_descriptor.first = &idle;
	__jit_debug_descriptor.relevant = &entry;
	__jit_debug_descriptor.action = JIT_UNREGISTER;
	__jit_debug_register_code();
}

static void on_signal(int number)
{
	wanted = number == SIGUSR1 ? JIT_UNREGISTER : JIT_REGISTER;
	again = 1;
}

LEVEL static void called_back_work(void)
{
	use_frame_register();
	sum += burn_ns(2000000);
}

LEVEL static void run_made(int number, void (*called)(void))
{
	void (*made)(void (*)(void));
	const char *at = code + number * MADE_BYTES;

	memcpy(&made, &at, sizeof(made));
	made(called);
	sum++; /* not a tail call */
}

LEVEL static void called_back(void)
{
	use_frame_register();
	run_made(1, called_back_work);
}

LEVEL static void call_made(void)
{
	run_made(0, called_back);
	sum++;
}

int main(int argc, char **argv)
{
	static const char *const idle_names[] = {"idle_code"};

	if (argc < 3) {
		fprintf(stderr, "usage: jit_debug object|file SECONDS\n");
		return 2;
	}
	is_object = strcmp(argv[1], "object") == 0;
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		return 1;
	memcpy(code, made_function, MADE_CODE);
	memcpy(code + MADE_BYTES, made_function, MADE_CODE);
	made_elf_fill(&idle_elf, (uintptr_t)code + 2048, idle_names, 1, NULL);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	tell(names);
	while (thread_cpu_ns() < seconds_ns(argv[2])) {
		if (again) {
			again = 0;
			if (wanted == JIT_REGISTER)
				tell(other_names);
			else
				tell_no_more();
		}
		call_made();
	}
	return 0;
}
