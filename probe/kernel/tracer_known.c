// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files the kernel's side knows to have a table (bpf/shared/known_files.h). */
#include <bpf/bpf.h>
#include <errno.h>

#include "bpf/shared/known_files.h"
#include "kernel/tracer_part.h"
#include "life.skel.h"

int tracer_known_file_put(struct tracer *tracer, const struct known_file_key *key,
			  const struct known_file *file)
{
	if (!tracer->life)
		return -ENOENT;
	return bpf_map_update_elem(bpf_map__fd(tracer->life->maps.known_files), key, file, BPF_ANY);
}

void tracer_known_file_drop(struct tracer *tracer, const struct known_file_key *key)
{
	if (tracer->life)
		bpf_map_delete_elem(bpf_map__fd(tracer->life->maps.known_files), key);
}
