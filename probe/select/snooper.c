// SPDX-License-Identifier: GPL-2.0-or-later
#include "select/snooper_state.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/proc.h"
#include "select/pattern.h"

static atomic_uint_fast64_t serials;

uint64_t snoopers_serial(const struct snoopers *snoopers)
{
	return snoopers->serial;
}

int snoopers_new(struct snoopers **ret)
{
	struct snoopers *snoopers = calloc(1, sizeof(*snoopers));

	if (!snoopers)
		return -ENOMEM;
	snoopers->refs = 1;
	snoopers->serial = atomic_fetch_add(&serials, 1) + 1;
	*ret = snoopers;
	return 0;
}

struct snoopers *snoopers_ref(struct snoopers *snoopers)
{
	atomic_fetch_add(&snoopers->refs, 1);
	return snoopers;
}

static void name_done(struct name_snooper *name)
{
	free(name->comm);
	free(name->cmdline);
	free(name->debugging_dir);
	pattern_free(name->pattern);
}

void snoopers_unref(struct snoopers *snoopers)
{
	if (!snoopers || atomic_fetch_sub(&snoopers->refs, 1) > 1)
		return;
	for (size_t i = 0; !snoopers->parts && i < snoopers->names_count; i++)
		name_done(&snoopers->names[i]);
	for (size_t i = 0; !snoopers->parts && i < snoopers->containers_count; i++)
		container_snooper_done(&snoopers->containers[i]);
	for (size_t i = 0; snoopers->parts && i < snoopers->parts_count; i++)
		snoopers_unref(snoopers->parts[i]);
	free(snoopers->parts);
	free(snoopers->containers);
	free(snoopers->names);
	free(snoopers->ids);
	free(snoopers);
}

static void add_part(struct snoopers *to, const struct snoopers_part *part)
{
	struct snoopers *from = part->snoopers;

	to->parts[to->parts_count++] = snoopers_ref(from);
	for (size_t i = 0; i < from->ids_count; i++) {
		to->ids[to->ids_count] = from->ids[i];
		to->ids[to->ids_count++].probes &= part->probes;
	}
	for (size_t i = 0; i < from->names_count; i++) {
		struct name_snooper *name = &to->names[to->names_count];

		*name = from->names[i];
		name->probes &= part->probes;
		to->names_count += name->probes != 0;
	}
	for (size_t i = 0; i < from->containers_count; i++) {
		struct container_snooper *entry = &to->containers[to->containers_count];

		*entry = from->containers[i];
		entry->probes &= part->probes;
		to->containers_count += entry->probes != 0;
	}
}

int snoopers_join(struct snoopers **ret, const struct snoopers_part *parts, size_t count)
{
	_cleanup_snoopers_ struct snoopers *joined = NULL;
	size_t ids = 0, names = 0, containers = 0;
	int r = snoopers_new(&joined);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		ids += parts[i].snoopers ? parts[i].snoopers->ids_count : 0;
		names += parts[i].snoopers ? parts[i].snoopers->names_count : 0;
		containers += parts[i].snoopers ? parts[i].snoopers->containers_count : 0;
	}
	joined->parts = calloc(count + 1, sizeof(struct snoopers *));
	joined->ids = calloc(ids + 1, sizeof(*joined->ids));
	joined->names = calloc(names + 1, sizeof(*joined->names));
	joined->containers = calloc(containers + 1, sizeof(*joined->containers));
	if (!joined->parts || !joined->ids || !joined->names || !joined->containers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (parts[i].snoopers)
			add_part(joined, &parts[i]);
	}
	*ret = TAKE_PTR(joined);
	return 0;
}

int snoopers_add_id(struct snoopers *snoopers, pid_t pid)
{
	struct proc_stat stat;
	int r = proc_stat(pid, &stat);

	if (r < 0 && r != -ESRCH)
		return r;
	struct id_snooper *ids = reallocarray(snoopers->ids, snoopers->ids_count + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	snoopers->ids = ids;
	struct id_snooper *id = &ids[snoopers->ids_count++];
	*id = (struct id_snooper){.pid = pid, .existed = r == 0, .probes = ALL_PROBES};
	if (id->existed)
		id->start_ticks = stat.start_ticks;
	return 0;
}

void snoopers_set_starts(struct snoopers *snoopers, const uint64_t *start_ticks, size_t count)
{
	for (size_t i = 0; i < snoopers->ids_count; i++) {
		uint64_t ticks = i < count ? start_ticks[i] : 0;

		snoopers->ids[i].existed = ticks != 0;
		snoopers->ids[i].start_ticks = ticks;
	}
}

int snoopers_add_name(struct snoopers *snoopers, const char *comm, const char *cmdline,
		      const char *debugging_dir, uint32_t probes)
{
	_cleanup_(name_done) struct name_snooper name = {0};
	int r = pattern_new(&name.pattern, comm, PATTERN_FOR_COMM);

	if (r < 0)
		return r;
	name.comm = strdup(comm);
	name.cmdline = strdup(cmdline);
	name.debugging_dir = strdup(debugging_dir);
	name.probes = probes ? probes : ALL_PROBES;
	name.probes_given = probes != 0;
	struct name_snooper *names =
		reallocarray(snoopers->names, snoopers->names_count + 1, sizeof(*names));
	if (names)
		snoopers->names = names;
	if (!names || !name.comm || !name.cmdline || !name.debugging_dir)
		return -ENOMEM;
	names[snoopers->names_count++] = name;
	name = (struct name_snooper){0};
	return 0;
}

size_t snoopers_ids(const struct snoopers *snoopers, const struct id_snooper **ids)
{
	*ids = snoopers->ids;
	return snoopers->ids_count;
}

size_t snoopers_names(const struct snoopers *snoopers, const struct name_snooper **names)
{
	*names = snoopers->names;
	return snoopers->names_count;
}

bool snoopers_empty(const struct snoopers *snoopers)
{
	return !snoopers->ids_count && !snoopers->names_count && !snoopers->containers_count;
}

bool snoopers_equal(const struct snoopers *a, const struct snoopers *b)
{
	if (a->ids_count != b->ids_count || a->names_count != b->names_count ||
	    a->containers_count != b->containers_count)
		return false;
	for (size_t i = 0; i < a->ids_count; i++) {
		if (a->ids[i].pid != b->ids[i].pid || a->ids[i].existed != b->ids[i].existed ||
		    a->ids[i].start_ticks != b->ids[i].start_ticks)
			return false;
	}
	for (size_t i = 0; i < a->names_count; i++) {
		const struct name_snooper *left = &a->names[i], *right = &b->names[i];

		if (strcmp(left->comm, right->comm) != 0 ||
		    strcmp(left->cmdline, right->cmdline) != 0 ||
		    strcmp(left->debugging_dir, right->debugging_dir) != 0 ||
		    left->probes != right->probes)
			return false;
	}
	for (size_t i = 0; i < a->containers_count; i++) {
		if (!container_snoopers_equal(&a->containers[i], &b->containers[i]))
			return false;
	}
	return true;
}

static bool comm_matches(struct name_snooper *name, const char *comm)
{
	if (!name->pattern || name->dear)
		return !name->pattern;
	int r = pattern_match(name->pattern, comm, PATTERN_FOR_COMM);
	if (r == -E2BIG)
		name->dear = true; /* one try is enough: it matches nothing from now on */
	return r == 1;
}

static void add_to_match(struct match *match, const struct name_snooper *name)
{
	match->probes |= name->probes;
	if (name->debugging_dir[0] && !match->debugging_dir)
		match->debugging_dir = name->debugging_dir;
}

void snoopers_match(const struct snoopers *snoopers, const struct identity *who,
		    struct match *match)
{
	snoopers_match_container(snoopers, who, match);
	for (size_t i = 0; i < snoopers->ids_count; i++) {
		const struct id_snooper *id = &snoopers->ids[i];

		if (id->pid == who->line_pid && id->existed &&
		    id->start_ticks == who->line_start_ticks)
			match->probes |= id->probes;
	}
	for (size_t i = 0; i < snoopers->names_count; i++) {
		struct name_snooper *name = &snoopers->names[i];

		if (!comm_matches(name, who->comm))
			continue;
		if (name->cmdline[0])
			match->maybe |= name->probes;
		else
			add_to_match(match, name);
	}
	match->maybe &= ~match->probes;
	match->unnamed &= ~match->probes;
}

bool snoopers_ask_for_lines(const struct snoopers *snoopers)
{
	for (size_t i = 0; i < snoopers->names_count; i++) {
		if (snoopers->names[i].cmdline[0])
			return true;
	}
	return false;
}

void snoopers_match_cmdline(const struct snoopers *snoopers, const struct identity *who, pid_t pid,
			    struct match *match)
{
	uint32_t unread = 0;

	snoopers_match(snoopers, who, match);
	for (size_t i = 0; i < snoopers->names_count; i++) {
		struct name_snooper *name = &snoopers->names[i];
		bool found = false;

		if (!name->cmdline[0] || !comm_matches(name, who->comm))
			continue;
		if (proc_cmdline_contains(pid, name->cmdline, &found) < 0)
			unread |= name->probes;
		else if (found)
			add_to_match(match, name);
	}
	match->maybe = unread & ~match->probes;
	match->unnamed &= ~match->probes;
}
