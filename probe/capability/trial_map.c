// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capability/seccomp_check.h"
#include "capability/trial.h"

static void report_map_refusal(struct finding *finding, const char *what, int error)
{
	finding_set(finding, FINDING_NO, "%s: %s", what, error_words(error));
	if (error == EPERM || error == EACCES)
		privileges_remedy(finding);
}

static int create_map(enum bpf_map_type type, uint32_t flags, int inner_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);

	options.map_flags = flags;
	if (inner_fd >= 0)
		options.inner_map_fd = (uint32_t)inner_fd;
	return bpf_map_create(type, "stackprobe_try", sizeof(uint32_t), sizeof(uint32_t), 4,
			      &options);
}

void trial_map_in_map(enum capability which, struct finding *finding)
{
	_cleanup_close_ int inner = create_map(BPF_MAP_TYPE_ARRAY, 0, -1);
	_cleanup_close_ int outer =
		inner < 0 ? -1 : create_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, 0, inner);
	uint32_t zero = 0;

	(void)which;
	if (outer < 0 || bpf_map_update_elem(outer, &zero, &inner, BPF_ANY) < 0)
		report_map_refusal(finding, "an array of maps can't be made", errno);
	else
		finding_set(finding, FINDING_YES, "an array of maps was made and filled");
}

void trial_shared_map(enum capability which, struct finding *finding)
{
	_cleanup_close_ int fd = create_map(BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, -1);
	uint32_t zero = 0, value = 0;
	void *shared =
		fd < 0 ? MAP_FAILED
		       : mmap(NULL, sizeof(value), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)which;
	if (shared == MAP_FAILED) {
		report_map_refusal(finding, "an array can't be shared with programs", errno);
		return;
	}
	*(volatile uint32_t *)shared = 7;
	if (bpf_map_lookup_elem(fd, &zero, &value) == 0 && value == 7)
		finding_set(finding, FINDING_YES, "what was written to a mapped array is in it");
	else
		finding_set(finding, FINDING_NO, "what was written to a mapped array is not in it");
	munmap(shared, sizeof(value));
}

void trial_batch(enum capability which, struct finding *finding)
{
	_cleanup_close_ int fd = create_map(BPF_MAP_TYPE_HASH, 0, -1);
	uint32_t keys[4], values[4], count = 4, position;
	int r = fd < 0 ? -1 : 0;

	(void)which;
	for (uint32_t i = 0; i < 3 && r == 0; i++)
		r = bpf_map_update_elem(fd, &i, &i, BPF_ANY);
	if (r == 0) {
		r = bpf_map_lookup_and_delete_batch(fd, NULL, &position, keys, values, &count,
						    NULL);
		r = r < 0 && errno == ENOENT ? 0 : r; /* ENOENT: the map has no more entries */
	}
	if (r < 0)
		report_map_refusal(finding, "a hash map can't be read in a batch", errno);
	else if (count != 3)
		finding_set(finding, FINDING_NO, "a batch gave %u of 3 entries", count);
	else
		finding_set(finding, FINDING_YES, "a hash map was read and emptied in one call");
}

/* Makes a map without libbpf, which would raise RLIMIT_MEMLOCK by itself. */
static int create_plainly(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 4};

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* If a map can be made with RLIMIT_MEMLOCK 0, maps are accounted to the control group. If not,
 * RLIMIT_MEMLOCK is their limit, and the daemon has to be able to raise it. */
void trial_map_memory(enum capability which, struct finding *finding)
{
	struct rlimit before, none, all = {RLIM_INFINITY, RLIM_INFINITY};
	struct seccomp_filter filtered;

	(void)which;
	if (getrlimit(RLIMIT_MEMLOCK, &before) < 0) {
		report_map_refusal(finding, "RLIMIT_MEMLOCK", errno);
		return;
	}
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_MEMLOCK, &none);
	_cleanup_close_ int fd = create_plainly();
	int error = errno;
	setrlimit(RLIMIT_MEMLOCK, &before);
	if (fd >= 0) {
		finding_set(finding, FINDING_YES,
			    "BPF maps are accounted to the control group, not to RLIMIT_MEMLOCK");
		return;
	}
	seccomp_find(&filtered);
	if (!privilege_held(NUMBER_BPF) || filtered.bpf) {
		report_map_refusal(finding, "no map can be made", error);
		return;
	}
	bool raised = setrlimit(RLIMIT_MEMLOCK, &all) == 0;
	setrlimit(RLIMIT_MEMLOCK, &before);
	if (raised || before.rlim_max == RLIM_INFINITY)
		finding_set(finding, FINDING_YES,
			    "BPF maps are limited by RLIMIT_MEMLOCK, which can be raised");
	else
		finding_set(
			finding, FINDING_LIMITED,
			"BPF maps are limited by RLIMIT_MEMLOCK to %llu KiB, which can't be raised",
			(unsigned long long)before.rlim_max / 1024);
}
