// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guesses, before anything is loaded, which runtimes the chosen processes have: by the names of
 * their programs. A wrong guess costs time or memory: the files that a process has mapped decide
 * (target_runtime).
 */
#include <string.h>

#include "proc/proc.h"
#include "target/target_state.h"

#define LOOKS_MAX 1000 /* processes whose names are read: a PUT mustn't take long */

struct foreseeing {
	const struct snoopers *snoopers;
	uint32_t probes, runtimes;
	unsigned looks;
};

static uint32_t runtimes_of(const char *program)
{
	if (strncmp(program, "python", strlen("python")) == 0)
		return WALKS_PYTHON;
	return strcmp(program, "java") == 0 ? WALKS_JAVA : 0;
}

static void see_program(struct foreseeing *seen, pid_t pid)
{
	char program[PROC_COMM_BYTES];

	if (proc_program_name(pid, program) == 0)
		seen->runtimes |= runtimes_of(program);
}

static void see_process(void *arg, pid_t pid)
{
	struct foreseeing *seen = arg;
	char comm[PROC_COMM_BYTES];
	struct match match;

	if (seen->runtimes == WALKS_ALL || seen->looks++ >= LOOKS_MAX || proc_comm(pid, comm) < 0)
		return;
	snoopers_match(seen->snoopers, &(struct identity){.comm = comm}, &match);
	if ((match.probes | match.maybe) & seen->probes)
		see_program(seen, pid);
}

uint32_t targets_foresee(const struct targets *targets, const struct snoopers *snoopers,
			 uint32_t probes)
{
	struct foreseeing seen = {.snoopers = snoopers, .probes = probes};
	const struct id_snooper *ids;
	const struct name_snooper *names;
	size_t count = snoopers_ids(snoopers, &ids);

	for (size_t i = 0; i < count; i++)
		see_program(&seen, ids[i].pid);
	if (snoopers_names(snoopers, &names))
		proc_each(see_process, &seen);
	for (unsigned i = 0; i < RUNTIMES; i++) {
		if (targets->left_out[i])
			seen.runtimes &= ~(1U << i);
	}
	return seen.runtimes;
}
