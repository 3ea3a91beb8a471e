// SPDX-License-Identifier: GPL-2.0-or-later
/* What probes in an allocator cost that do nothing, or count. */
#include "bpf/core/kernel_types.h"

uint64_t calls, returns, frees;

/* Of a point; from Linux 6.13 a session's that wants no return. */
SEC("uprobe")
int on_point(struct pt_regs *ctx)
{
	return 1;
}

SEC("uprobe")
int on_malloc(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&calls, 1);
	return 0;
}

SEC("uprobe")
int on_malloc_return(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&returns, 1);
	return 0;
}

SEC("uprobe")
int on_free(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&frees, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
