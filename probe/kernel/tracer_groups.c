// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel side's verdicts on cgroups (bpf/process/process_events.h), and reports of processes
 * that get other cgroups (bpf/moves.bpf.c).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "life.skel.h"
#include "moves.skel.h"
#include "kernel/tracer_part.h"

/* Keeps only the link of the object: each map kept open would need one more descriptor. */
static int attach_moves(struct tracer *tracer)
{
	struct moves_bpf *moves = tracer_open(tracer, moves);

	if (!moves)
		return -errno;
	int r = tracer_share_maps(tracer->life->obj, moves->obj);
	if (r == 0)
		r = moves_bpf__load(moves);
	if (r == 0) {
		tracer->moves = bpf_program__attach(moves->progs.on_move);
		r = tracer->moves ? 0 : -errno;
	}
	moves_bpf__destroy(moves);
	return r;
}

void tracer_unfollow_moves(struct tracer *tracer)
{
	bpf_link__destroy(tracer->moves);
	tracer->moves = NULL;
}

void tracer_by_group(struct tracer *tracer, bool by_group)
{
	if (!tracer->control)
		return;
	__atomic_store_n(&tracer->control->by_cgroup, by_group, __ATOMIC_SEQ_CST);
	if (!by_group)
		tracer_unfollow_moves(tracer);
	if (!by_group || tracer->moves || !tracer->types.known.has_moves)
		return;
	int r = attach_moves(tracer);
	if (r < 0)
		log_warn("processes that get other cgroups are seen at their next exec only: %s",
			 strerror(-r));
}

static struct verdict_key key_of(const struct cgroup_key *group)
{
	return (struct verdict_key){.on = VERDICT_ON_GROUP, .group = *group};
}

void tracer_judge_group(struct tracer *tracer, const struct cgroup_key *group,
			enum verdict_word word)
{
	struct verdict verdict = {.selection = tracer->selection, .word = word};
	struct verdict_key key = key_of(group);

	if (tracer->life)
		bpf_map_update_elem(bpf_map__fd(tracer->life->maps.verdicts), &key, &verdict,
				    BPF_ANY);
}

void tracer_forget_group(struct tracer *tracer, const struct cgroup_key *group)
{
	struct verdict_key key = key_of(group);

	if (tracer->life)
		bpf_map_delete_elem(bpf_map__fd(tracer->life->maps.verdicts), &key);
}
