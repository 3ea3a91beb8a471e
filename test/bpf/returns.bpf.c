// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that do nothing at calls and returns of functions. */
#include "bpf/core/kernel_types.h"

SEC("uprobe")
int empty_call(struct pt_regs *ctx)
{
	return 0;
}

SEC("uretprobe")
int empty_return(struct pt_regs *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
