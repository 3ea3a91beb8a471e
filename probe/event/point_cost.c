// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/point_cost.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>

#include "alloc/uprobes.h"
#include "base/cleanup.h"
#include "base/why.h"
#include "capability/self_offset.h"
#include "loop/loop.h"

#define SELF	"/proc/self/exe"
#define BATCH	32 /* calls between two looks at the clock */
#define BATCHES 32

/* Functions that nobody else calls. */
void point_cost_emulated(void);
void point_cost_stepped(void);

/* clang-format off */
#if defined(__x86_64__)
#define EMULATED "push %rbp\n.cfi_adjust_cfa_offset 8\npop %rbp\n.cfi_adjust_cfa_offset -8\n"
#define STEPPED	 "mov %rsp, %rax\n"
#else
#define EMULATED "nop\n"
#define STEPPED	 "mov x0, sp\n"
#endif
#define FUNCTION(name, code) \
	".pushsection .text\n" \
	".balign 16\n" \
	".globl " name "\n" \
	".hidden " name "\n" \
	".type " name ", %function\n" \
	name ":\n" \
	".cfi_startproc\n" \
	code \
	"ret\n" \
	".cfi_endproc\n" \
	".size " name ", . - " name "\n" \
	".popsection\n"
/* clang-format on */
__asm__(FUNCTION("point_cost_emulated", EMULATED) FUNCTION("point_cost_stepped", STEPPED));

/* Loads a program that does nothing. Returns its descriptor or a negative errno. */
static int load_nothing(bool session, bool returns)
{
	const struct bpf_insn code[] = {
		/* 1: a session that doesn't want the return. Of a perf event: that it be written.
		 */
		{.code = BPF_ALU64 | BPF_MOV | BPF_K,
		 .dst_reg = BPF_REG_0,
		 .imm = session && !returns},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options);

	options.expected_attach_type = session ? UPROBES_SESSION_TYPE : 0;
	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "point_cost", "GPL", code,
			     sizeof(code) / sizeof(code[0]), &options);
}

/* Returns the time of a call, ns. A call without a point takes some 2 ns. */
static uint64_t time_call(void (*function)(void))
{
	uint64_t least_ns = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t began_ns = loop_now_ns(), took_ns;

		for (int i = 0; i < BATCH; i++)
			function();
		took_ns = loop_now_ns() - began_ns;
		if (took_ns < least_ns)
			least_ns = took_ns;
	}
	return least_ns / BATCH;
}

int point_cost_measure(bool session, bool returns, struct point_costs *costs)
{
	void (*const functions[])(void) = {point_cost_emulated, point_cost_stepped};
	struct uprobe_point points[] = {{.call = CALL_SIZE}, {.call = CALL_SIZE}};
	struct call_programs programs = {.session = session, .realloc_fd = -1};
	_cleanup_close_ int self = open(SELF, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int program = load_nothing(session, returns);
	struct uprobes *uprobes;
	struct why why;
	int r = self < 0 ? -EBADF : program < 0 ? program : 0;

	for (int i = 0; i < CALL_COUNT_OF; i++)
		programs.fds[i] = programs.return_fds[i] = -1;
	programs.fds[CALL_SIZE] = program;
	if (returns && !session)
		programs.return_fds[CALL_SIZE] = program;
	for (int i = 0; r == 0 && i < 2; i++)
		r = self_offset((uintptr_t)functions[i], &points[i].offset);
	if (r == 0)
		r = uprobes_open(&uprobes, self, points, 2, &programs, &why);
	if (r < 0)
		return r;
	if (returns) {
		uint64_t both_ns = time_call(point_cost_emulated);

		costs->return_ns = both_ns > costs->entry_ns[0] ? both_ns - costs->entry_ns[0] : 0;
	}
	for (int i = 0; !returns && i < 2; i++)
		costs->entry_ns[i] = time_call(functions[i]);
	uprobes_close(uprobes);
	return 0;
}
