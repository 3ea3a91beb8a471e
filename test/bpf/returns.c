// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps empty probes on functions of a file, of all processes that have it mapped, until its input
 * ends: at returns, or at the calls of those that begin with `=`. Says "ready" when they are there.
 * usage: returns FILE FUNCTION...
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

#include "returns.skel.h"

static bool attach(const struct returns_bpf *object, const char *file, const char *name)
{
	bool at_call = name[0] == '=';
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = name + at_call, .retprobe = !at_call);

	return bpf_program__attach_uprobe_opts(at_call ? object->progs.empty_call
						       : object->progs.empty_return,
					       -1, file, 0, &options);
}

int main(int argc, char **argv)
{
	struct returns_bpf *object = returns_bpf__open_and_load();
	char byte;

	if (!object || argc < 3) {
		perror("returns");
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		if (!attach(object, argv[1], argv[i])) {
			perror(argv[i]);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0; /* the kernel detaches */
}
