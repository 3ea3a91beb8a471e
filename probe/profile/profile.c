// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "loop/loop.h"
#include "kind/kind.h"

#define NODES_MAX      (2u * 1024 * 1024)
#define NAME_BYTES_MAX (64u * 1024 * 1024)
#define RECORDS_MAX    (256u * 1024)

/* Creates a profile of one view; its tree has room for `share` times what a collected one has. */
static int new_with(struct profile **ret, enum probe probe, int64_t from, uint64_t period_ns,
		    uint32_t share)
{
	_cleanup_profile_ struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return -ENOMEM;
	profile->refs = 1;
	int r = tree_new(&profile->tree, (size_t)NODES_MAX * share, (size_t)NAME_BYTES_MAX * share);
	if (r == 0)
		r = records_new(&profile->records, RECORDS_MAX);
	if (r < 0)
		return r;
	profile->probe = probe;
	profile->from = profile->until = from;
	profile->began_ns = loop_now_ns();
	profile->period_ns = period_ns;
	*ret = TAKE_PTR(profile);
	return 0;
}

int profile_new(struct profile **ret, enum probe probe, int64_t from, uint64_t period_ns)
{
	_cleanup_profile_ struct profile *profile = NULL;
	int r = new_with(&profile, probe, from, period_ns, 1);

	if (r == 0 && view_get(probe, VIEW_SECOND)) {
		r = new_with(&profile->second, probe, from, period_ns, 1);
		if (r == 0)
			profile->second->view = VIEW_SECOND;
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(profile);
	return 0;
}

int profile_new_like(struct profile **ret, const struct profile *like, bool places)
{
	struct profile *made;
	/* Frames of pods and containers are added. */
	int r = new_with(&made, like->probe, like->from, like->period_ns, 2);

	if (r < 0)
		return r;
	made->places = places && like->places;
	if (!made->places)
		profile_drop_places(made);
	made->view = like->view;
	made->until = like->until;
	made->covered_ns = like->covered_ns;
	made->weight = like->weight;
	made->events = like->events;
	made->samples = like->samples;
	made->shows_events = like->shows_events;
	made->by_container = like->by_container;
	made->left_out = like->left_out;
	made->lost = like->lost;
	made->refused = like->refused;
	for (size_t i = 0; i < like->jfr_count; i++)
		profile_tell_jfr(made, like->jfr_pids[i]);
	*ret = made;
	return 0;
}

struct profile *profile_ref(struct profile *profile)
{
	if (profile)
		profile->refs++;
	return profile;
}

void profile_unref(struct profile *profile)
{
	if (!profile || --profile->refs > 0)
		return;
	profile_unref(profile->second);
	tree_free(profile->tree);
	records_free(profile->records);
	free(profile->jfr_pids);
	free(profile);
}

int64_t profile_thread(struct profile *profile, const struct record_who *who, bool thread_frame)
{
	char process[COMM_BYTES + 16];
	int len = snprintf(process, sizeof(process), "[%d]%.*s", (int)who->pid, COMM_BYTES,
			   who->process);
	const struct owner owner = {who->pid, who->start_ticks, who->ns_pid, who->container};
	const struct frame frame = {
		.type = FRAME_TYPE_PROCESS,
		.name = process,
		.name_len = (size_t)len,
		.owner = &owner,
	};
	int64_t node = tree_child_with(profile->tree, TREE_ROOT, &frame);

	if (node < 0 || !thread_frame)
		return node;
	return tree_child(profile->tree, (uint32_t)node, FRAME_TYPE_THREAD, who->thread,
			  strnlen(who->thread, sizeof(who->thread)));
}

/* Each stack has a leaf of its own, and many have a caller of their own. */
int profile_reserve(struct profile *profile, size_t stacks)
{
	int r = tree_reserve(profile->tree, stacks * 2);

	return r < 0 ? r : records_reserve(profile->records, stacks);
}

int profile_add(struct profile *profile, const struct record *record, uint64_t events,
		uint64_t samples)
{
	tree_add(profile->tree, record->key.node, record->weight);
	tree_add_events(profile->tree, record->key.node, events);
	profile->weight += record->weight;
	profile->events += events;
	profile->samples += samples;
	return records_add(profile->records, record);
}

void profile_begin(struct profile *profile, int64_t real_ns)
{
	profile->from = profile->until = real_ns;
	profile->began_ns = loop_now_ns();
	if (profile->second)
		profile_begin(profile->second, real_ns);
}

void profile_set_from(struct profile *profile, int64_t from)
{
	profile->from = profile->until = from;
	if (profile->second)
		profile_set_from(profile->second, from);
}

void profile_add_lost(struct profile *profile, uint64_t lost, uint64_t left_out)
{
	profile->lost += lost;
	profile->left_out += left_out;
	if (profile->second)
		profile_add_lost(profile->second, lost, left_out);
}

void profile_set_until(struct profile *profile, int64_t until)
{
	profile->until = until;
	if (until < profile->from)
		profile->from = until - (int64_t)(loop_now_ns() - profile->began_ns);
	if (profile->second)
		profile_set_until(profile->second, until);
}

bool profile_is_jfr(const struct profile *profile, int pid)
{
	for (size_t i = 0; i < profile->jfr_count; i++) {
		if (profile->jfr_pids[i] == pid)
			return true;
	}
	return false;
}

void profile_tell_jfr(struct profile *profile, int pid)
{
	if (profile_is_jfr(profile, pid))
		return;
	int *grown = reallocarray(profile->jfr_pids, profile->jfr_count + 1, sizeof(*grown));
	if (!grown)
		return;
	profile->jfr_pids = grown;
	grown[profile->jfr_count++] = pid;
}

/* Adds the stacks below a process's node, or all (TREE_ROOT), with their records. */
static int add_part(struct profile *profile, const struct profile *from, uint32_t node)
{
	_cleanup_free_ uint32_t *numbers = NULL;
	int r = tree_merge(profile->tree, from->tree, node, &numbers);

	return r < 0 ? r : records_merge(profile->records, from->records, numbers);
}

int profile_merge(struct profile *profile, const struct profile *more)
{
	if (more->from < profile->from)
		profile->from = more->from;
	if (more->until > profile->until)
		profile->until = more->until;
	profile->weight += more->weight;
	profile->events += more->events;
	profile->samples += more->samples;
	profile->left_out += more->left_out;
	profile->lost += more->lost;
	profile->refused += more->refused;
	for (size_t i = 0; i < more->jfr_count; i++)
		profile_tell_jfr(profile, more->jfr_pids[i]);
	int second =
		profile->second && more->second ? profile_merge(profile->second, more->second) : 0;
	int r = add_part(profile, more, TREE_ROOT);

	return r < 0 ? r : second;
}

struct process_list {
	struct profile_process *processes;
	size_t count, capacity;
	bool failed;
};

/* Returns the pid of "[pid]comm"; *end: "]comm". */
static int pid_of(const struct frame *frame, char **end)
{
	return (int)strtol(frame->name + 1, end, 10);
}

static bool take_process(void *arg, const struct tree_frame *node)
{
	struct process_list *list = arg;
	char *end;

	if (node->frame.type != FRAME_TYPE_PROCESS)
		return node->frame.type < FRAME_TYPE_PROCESS;
	if (array_grow(list->processes, list->capacity, list->count + 1, 16) < 0) {
		list->failed = true;
		return false;
	}
	int pid = pid_of(&node->frame, &end);
	list->processes[list->count++] = (struct profile_process){node->node, pid, end + 1};
	return false;
}

int64_t profile_processes(const struct profile *profile, struct profile_process **ret)
{
	static const struct tree_visitor visitor = {.open = take_process};
	struct process_list list = {0};
	int r = tree_walk(profile->tree, TREE_ROOT, &visitor, &list);

	if (r < 0 || list.failed) {
		free(list.processes);
		return r < 0 ? r : -ENOMEM;
	}
	*ret = list.processes;
	return (int64_t)list.count;
}

void profile_drop_places(struct profile *profile)
{
	profile->places = false;
	tree_drop_places(profile->tree);
	if (profile->second)
		profile_drop_places(profile->second);
}

int profile_select(struct profile **ret, const struct profile *from, int pid, bool places)
{
	_cleanup_free_ struct profile_process *processes = NULL;
	_cleanup_profile_ struct profile *selected = NULL;
	int64_t count = profile_processes(from, &processes);

	if (count < 0)
		return (int)count;
	int r = profile_new_like(&selected, from, places);
	if (r < 0)
		return r;
	for (int64_t i = 0; i < count; i++) {
		if (processes[i].pid != pid)
			continue;
		r = add_part(selected, from, processes[i].node);
		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(selected);
	return 0;
}

static bool add_truncated(void *arg, const struct tree_frame *node)
{
	uint64_t *sum = arg;

	if (node->frame.type != FRAME_TYPE_MARKER || strcmp(node->frame.name, FRAME_TRUNCATED) != 0)
		return node->frame.type <
		       FRAME_TYPE_MARKER; /* it stands right below process or thread */
	*sum += node->total;
	return false;
}

static uint64_t truncated_weight(const struct tree *tree, uint32_t start)
{
	static const struct tree_visitor visitor = {.open = add_truncated};
	uint64_t sum = 0;

	return tree_walk(tree, start, &visitor, &sum) < 0 ? 0 : sum;
}

void profile_show_events(struct profile *profile)
{
	tree_show_events(profile->tree);
	profile->shows_events = true;
}

/* Counts the processes below whose VM recorded stacks. */
static uint32_t count_jfr(const struct profile *profile, uint32_t start,
			  const struct profile_process *processes, int64_t count)
{
	uint32_t found = 0;
	char *end;

	if (start != TREE_ROOT) {
		struct frame frame = tree_frame_of(profile->tree, start);

		return frame.type == FRAME_TYPE_PROCESS &&
		       profile_is_jfr(profile, pid_of(&frame, &end));
	}
	for (int64_t i = 0; profile->jfr_count && i < count; i++)
		found += profile_is_jfr(profile, processes[i].pid);
	return found;
}

void profile_describe(const struct profile *profile, uint32_t start, const char *host,
		      struct profile_meta *meta)
{
	const struct view_row *row = view_get(profile->probe, profile->view);
	const char *unit = row->count_name ? row->count_name : kind_get(profile->probe)->count_name;
	_cleanup_free_ struct profile_process *processes = NULL;
	int64_t count = start == TREE_ROOT ? profile_processes(profile, &processes) : 1;

	*meta = (struct profile_meta){
		.title = profile->shows_events ? row->event_title : row->title,
		.count_name = profile->shows_events ? row->event_name : unit,
		.event_name = profile->shows_events ? NULL : row->event_name,
		.is_part_of_events = !profile->shows_events && profile->view == VIEW_ALL &&
				     kind_get(profile->probe)->is_part_of_events,
		.host = host,
		.from = (time_t)(profile->from / (int64_t)NS_PER_S),
		.until = (time_t)(profile->until / (int64_t)NS_PER_S),
		.from_ns = profile->from,
		.until_ns = profile->until,
		.covered_ns = profile->covered_ns,
		.period_ns = profile->period_ns,
		.events = profile->events,
		.samples = profile->samples,
		.left_out = profile->left_out,
		.by_period = kind_get(profile->probe)->by_period,
		.deepflow = kind_get(profile->probe)->deepflow,
		.by_bytes = kind_get(profile->probe)->by_bytes,
		.lost = profile->lost + profile->refused,
		.truncated = truncated_weight(profile->tree, start),
		.processes = count > 0 ? (uint32_t)count : 0,
		.pprof = row->pprof,
		.recorded = count_jfr(profile, start, processes, count),
		.probe = profile->probe,
		.records = profile->records,
	};
}
