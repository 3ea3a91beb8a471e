// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the files of a VM's window in a job, as their folder is the target's. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/close_job.h"
#include "java/agents/jfr_state.h"
#include "kind/kind.h"

struct jfr_job {
	struct job job;
	struct jfr *jfr;
	pid_t pid;
	uint64_t start_ticks, sequence;
	int folder_fd;
	uid_t owner;
	uint32_t probes;
	struct jfrfile *files[PROBE_COUNT];
	int error;
	_Atomic bool begun;
};

static void jfr_job_run(struct job *job)
{
	struct jfr_job *mine = (struct jfr_job *)job;

	atomic_store(&mine->begun, true);
	for (int probe = 0; mine->error == 0 && probe < PROBE_COUNT; probe++) {
		if (mine->probes & 1U << probe)
			mine->error = jfrfile_read(&mine->files[probe], mine->folder_fd,
						   mine->owner, kind_get(probe)->name);
	}
}

static void jfr_job_done(struct job *job, bool finished)
{
	struct jfr_job *mine = (struct jfr_job *)job;
	struct jfr_vm *vm = jfr_find(mine->jfr, mine->pid, mine->start_ticks);
	struct jfrfile *none[PROBE_COUNT] = {NULL};

	if (!vm)
		return;
	/* A job that didn't begin waited for others that hang. */
	if (!finished && atomic_load(&mine->begun))
		jfr_hangs(vm); /* also when its window is over */
	else if (vm->sequence == mine->sequence)
		jfr_was_read(vm, finished ? mine->error : -ETIMEDOUT,
			     finished ? mine->files : none);
}

static void free_reading(struct job *job)
{
	struct jfr_job *mine = (struct jfr_job *)job;

	for (int probe = 0; probe < PROBE_COUNT; probe++)
		jfrfile_free(mine->files[probe]);
	close_later(mine->job.worker, mine->job.whose, &mine->folder_fd, 1, NULL);
	free(mine);
}

int jfr_read(struct jfr_vm *vm)
{
	struct jfr_job *mine = calloc(1, sizeof(*mine));
	int fd = fcntl(vm->attached.folder_fd, F_DUPFD_CLOEXEC, 0);

	if (!mine || fd < 0) {
		int error = mine ? errno : ENOMEM;

		cleanup_close(&fd);
		free(mine);
		return -error;
	}
	*mine = (struct jfr_job){
		.job = {.run = jfr_job_run,
			.done = jfr_job_done,
			.free = free_reading,
			.whose = vm->attached.question.whose},
		.jfr = jfr_of(vm),
		.pid = vm->attached.pid,
		.start_ticks = vm->attached.start_ticks,
		.sequence = vm->sequence,
		.folder_fd = fd,
		.owner = vm->owner,
		.probes = vm->probes,
	};
	worker_submit(vm->attached.vms->foreign, &mine->job);
	return 0;
}
