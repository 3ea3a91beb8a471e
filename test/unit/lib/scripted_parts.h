/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scripted tracer's parts: hooks/tracer_*.h, kernel/halves.h, kernel/preload.h and
 * kernel/tracer_waits.h. Included by scripted_tracer.h. */
#pragma once

#include "unit/lib/scripted_kernel.h"

#include <sys/mman.h>

/* ---- objects that are loaded ahead: when the test says so ---- */

const struct loadable *const life_loads[] = {NULL}, *const sample_loads[] = {NULL},
			     *const sched_loads[] = {NULL}, *const offcpu_loads[] = {NULL},
			     *const cost_loads[] = {NULL}, *const faults_loads[] = {NULL},
			     *const calls_loads[] = {NULL};

#define SCRIPTED_PRELOADS 8

static bool scripted_loads_wait; /* until scripted_loaded() */
static struct {
	void (*done)(void *arg);
	void *arg;
} scripted_preloads[SCRIPTED_PRELOADS];

int tracer_load_ahead(struct tracer *tracer, struct worker *worker)
{
	(void)tracer, (void)worker;
	return 0;
}

bool tracer_preload(struct tracer *tracer, const struct loadable *const *const lists[],
		    size_t lists_count, void (*done)(void *arg), void *arg)
{
	(void)tracer, (void)lists;
	assert_true(lists_count > 0);
	for (int i = 0; scripted_loads_wait && i < SCRIPTED_PRELOADS; i++) {
		if (scripted_preloads[i].done)
			continue;
		scripted_preloads[i].done = done;
		scripted_preloads[i].arg = arg;
		return true;
	}
	return false;
}

void tracer_preload_forget(struct tracer *tracer, const void *arg)
{
	(void)tracer;
	for (int i = 0; i < SCRIPTED_PRELOADS; i++) {
		if (scripted_preloads[i].arg == arg)
			scripted_preloads[i].done = NULL;
	}
}

/* Returns how many wait for objects. */
static inline unsigned scripted_loading(void)
{
	unsigned count = 0;

	for (int i = 0; i < SCRIPTED_PRELOADS; i++)
		count += scripted_preloads[i].done != NULL;
	return count;
}

/* Objects are loaded: all who wait go on, and nobody waits any more. */
static inline void scripted_loaded(void)
{
	scripted_loads_wait = false;
	for (int i = 0; i < SCRIPTED_PRELOADS; i++) {
		void (*done)(void *arg) = scripted_preloads[i].done;

		scripted_preloads[i].done = NULL;
		if (done)
			done(scripted_preloads[i].arg);
	}
}

/* ---- objects of a probe's own (kernel/tracer_part.h, whose struct tracer is another one): none
 * can be loaded ---- */

struct loadable;
struct ktypes;
struct bpf_object;
struct bpf_object_open_opts;
int tracer_load_own(struct tracer *tracer, const struct loadable *which, void **own,
		    const char *what, struct why *why);
void tracer_unload(void **own);
void *tracer_own_bpf(void *own);
struct loaded;
void loaded_add(struct tracer *tracer, const struct loaded *loaded);
void loaded_remove(struct tracer *tracer, const struct bpf_object *object, int program_fd);
bool loaded_is(const struct tracer *tracer, const struct loadable *which);
const struct bpf_object_open_opts *tracer_options(struct tracer *tracer);
int tracer_share_maps(const struct bpf_object *from, struct bpf_object *to);
void *tracer_loaded(const struct loadable *which, void *bpf, int r);
void tracer_explain(struct why *why, int error, const char *what);
const struct ktypes *tracer_ktypes(const struct tracer *tracer);
void tracer_choose_memory(const struct tracer *tracer, struct bpf_object *object);
bool tracer_has_task_pt_regs(void);
uint32_t tracer_kernel_frames_max(void);

int tracer_load_own(struct tracer *tracer, const struct loadable *which, void **own,
		    const char *what, struct why *why)
{
	(void)tracer, (void)which, (void)own;
	why_set(why, "%s", what);
	return -ENOTSUP;
}

void tracer_unload(void **own)
{
	*own = NULL;
}

void *tracer_own_bpf(void *own)
{
	return own;
}

void loaded_add(struct tracer *tracer, const struct loaded *loaded)
{
	(void)tracer, (void)loaded;
}

void loaded_remove(struct tracer *tracer, const struct bpf_object *object, int program_fd)
{
	(void)tracer, (void)object, (void)program_fd;
}

bool loaded_is(const struct tracer *tracer, const struct loadable *which)
{
	(void)tracer, (void)which;
	return false;
}

const struct bpf_object_open_opts *tracer_options(struct tracer *tracer)
{
	(void)tracer;
	errno = ENOTSUP;
	return NULL;
}

void tracer_choose_memory(const struct tracer *tracer, struct bpf_object *object)
{
	(void)tracer, (void)object;
}

const struct ktypes *tracer_ktypes(const struct tracer *tracer)
{
	(void)tracer;
	return NULL;
}

int tracer_share_maps(const struct bpf_object *from, struct bpf_object *to)
{
	(void)from, (void)to;
	return -ENOTSUP;
}

void *tracer_loaded(const struct loadable *which, void *bpf, int r)
{
	(void)which, (void)bpf;
	errno = -r;
	return NULL;
}

void tracer_explain(struct why *why, int error, const char *what)
{
	why_set(why, "%s: %s", what, strerror(-error));
}

bool tracer_has_task_pt_regs(void)
{
	return true;
}

uint32_t tracer_kernel_frames_max(void)
{
	return KERNEL_FRAMES_MAX;
}

void tracer_walk_runtimes(struct tracer *tracer, uint32_t runtimes)
{
	tracer->runtimes |= runtimes;
}

void tracer_foresee_runtimes(struct tracer *tracer, uint32_t runtimes)
{
	tracer->foreseen = runtimes;
}

bool tracer_awaits_walkers(const struct tracer *tracer)
{
	return tracer->awaits_walkers;
}

int tracer_offcpu(struct tracer *tracer, const struct offcpu_settings *settings, struct why *why)
{
	if (!scripted_errors[SCRIPTED_OFFCPU]) {
		tracer->offcpu = true;
		tracer->offcpu_settings = *settings;
	}
	return scripted_result(SCRIPTED_OFFCPU, why);
}

void tracer_offcpu_stop(struct tracer *tracer)
{
	tracer->offcpu = false;
}

void halves_choose(struct bpf_object *object)
{
	(void)object;
}

bool tracer_renew_halves(const struct tracer *tracer, struct worker *worker,
			 void (*done)(void *arg), void *arg)
{
	(void)tracer, (void)worker, (void)done, (void)arg;
	return false;
}

int tracer_waiting_open(const struct tracer *tracer)
{
	(void)tracer;
	return -ENOENT;
}

int tracer_known_file_put(struct tracer *tracer, const struct known_file_key *key,
			  const struct known_file *file)
{
	(void)tracer;
	(void)key;
	(void)file;
	return 0;
}

void tracer_known_file_drop(struct tracer *tracer, const struct known_file_key *key)
{
	(void)tracer;
	(void)key;
}

int tracer_iterate(int fd)
{
	(void)fd;
	return 0;
}

uint64_t tracer_unseen_waits(const struct tracer *tracer)
{
	(void)tracer;
	return 0;
}

int tracer_faults(struct tracer *tracer, uint64_t sample_bytes, struct why *why)
{
	if (!scripted_errors[SCRIPTED_FAULTS]) {
		tracer->faults = true;
		tracer->fault_bytes = sample_bytes;
	}
	return scripted_result(SCRIPTED_FAULTS, why);
}

void tracer_faults_stop(struct tracer *tracer)
{
	tracer->faults = false;
}

const char *tracer_faults_lack(const struct ktypes *types)
{
	(void)types;
	return "";
}

const char *tracer_faults_limit(const struct ktypes *types)
{
	(void)types;
	return "";
}

int tracer_calls(struct tracer *tracer, const struct calls_settings *settings, struct why *why)
{
	if (!scripted_errors[SCRIPTED_CALLS]) {
		if (!tracer->calls)
			scripted_free_held();
		tracer->calls = true;
		tracer->sample_bytes = settings->sample_bytes;
		tracer->keeps_age = settings->keeps_age;
	}
	return scripted_result(SCRIPTED_CALLS, why);
}

void tracer_calls_stop(struct tracer *tracer)
{
	tracer->calls = false;
}

/* There is nothing that could be attached. */
int tracer_call_programs(const struct tracer *tracer, struct call_programs *programs)
{
	(void)tracer, (void)programs;
	return -ENOENT;
}

/* Gives a descriptor of no map. */
int tracer_held_fd(const struct tracer *tracer)
{
	(void)tracer;
	return scripted_errors[SCRIPTED_HELD_FD] ? scripted_errors[SCRIPTED_HELD_FD] : dup(0);
}

int tracer_held_read(int fd,
		     bool (*each)(void *arg, const struct allocation_key *key,
				  const struct allocation *allocation),
		     void *arg)
{
	size_t kept = 0;

	assert_true(fd >= 0);
	pthread_mutex_lock(&scripted_held_lock);
	for (size_t i = 0; i < scripted_held_count && !scripted_errors[SCRIPTED_HELD_READ]; i++) {
		const struct scripted_held entry = scripted_held[i];

		if (each(arg, &entry.key, &entry.allocation))
			scripted_held[kept++] = entry;
	}
	if (!scripted_errors[SCRIPTED_HELD_READ])
		scripted_held_count = kept;
	pthread_mutex_unlock(&scripted_held_lock);
	return scripted_errors[SCRIPTED_HELD_READ];
}

uint32_t tracer_held_max(const struct tracer *tracer)
{
	return tracer->calls ? tracer->sizes.allocations : 0;
}

int tracer_hists(struct tracer *tracer, const struct sched_hists_settings *settings,
		 struct why *why)
{
	if (!scripted_errors[SCRIPTED_HISTS]) {
		tracer->hists = true;
		tracer->hists_settings = *settings;
	}
	return scripted_result(SCRIPTED_HISTS, why);
}

void tracer_hists_stop(struct tracer *tracer)
{
	tracer->hists = false;
}

int tracer_hists_read(struct tracer *tracer, enum sched_probe probe,
		      void (*each)(void *arg, const struct hist_row *row), void *arg)
{
	(void)probe;
	tracer->hists_reads++;
	for (size_t i = 0; i < tracer->hists_count; i++)
		each(arg, &tracer->hists_rows[i]);
	return 0;
}

int tracer_scaled_begin(struct tracer *tracer, const struct hist_scale *scale, uint64_t *number)
{
	if (tracer->scaled_count == SCALED_MAX)
		return -EBUSY;
	tracer->scales[ *number = tracer->scaled_count++] = *scale;
	return 0;
}

int tracer_scaled_read(struct tracer *tracer, uint64_t number,
		       void (*each)(void *arg, const struct hist_cell *cell), void *arg)
{
	(void)number;
	for (size_t i = 0; i < tracer->cells_count; i++)
		each(arg, &tracer->cells[i]);
	return 0;
}

void tracer_scaled_end(struct tracer *tracer, uint64_t number)
{
	(void)number;
	if (tracer->scaled_count)
		tracer->scaled_count--;
}

int tracer_lengths_read(struct tracer *tracer,
			void (*each)(void *arg, unsigned cpu, const struct lengths *lengths),
			void *arg)
{
	each(arg, 0, &tracer->lengths);
	return 0;
}

void tracer_read_slow(struct tracer *tracer)
{
	(void)tracer;
}

int tracer_times_read(struct tracer *tracer, const struct times_reading *reading)
{
	if (!tracer->offcpu && !tracer->hists)
		return -ENOENT;
	for (size_t i = 0; i < tracer->times_count; i++)
		reading->thread(reading->arg, &tracer->times[i]);
	for (size_t i = 0; i < tracer->gone_count; i++)
		reading->gone(reading->arg, &tracer->gone[i].key, &tracer->gone[i].gone);
	return scripted_errors[SCRIPTED_TIMES_READ];
}

void tracer_times_forget(struct tracer *tracer, const struct gone_key *key)
{
	(void)key;
	tracer->times_forgotten++;
}

void tracer_times_counted(const struct tracer *tracer, struct times_counted *counted)
{
	*counted = (struct times_counted){
		.session = tracer->starts, .each = tracer->hists, .wakeups = tracer->hists};
}

int tracer_costs_start(struct tracer *tracer, const struct cost_events *events, struct why *why)
{
	int r = scripted_errors[SCRIPTED_COSTS];

	if (r < 0)
		why_set(why, "scripted");
	tracer->cost_events = *events;
	tracer->counts_costs = r == 0;
	return r;
}

void tracer_costs_stop(struct tracer *tracer)
{
	tracer->counts_costs = false;
}

void tracer_costs_poll(struct tracer *tracer)
{
	(void)tracer;
}

int tracer_costs_open(struct tracer *tracer)
{
	size_t bytes = tracer->costs_count * sizeof(tracer->costs[0]);
	int fd = memfd_create("costs", MFD_CLOEXEC);

	assert_int_equal(pwrite(fd, tracer->costs, bytes, 0), bytes);
	return fd;
}

int tracer_costs_open_ended(const struct tracer *tracer)
{
	(void)tracer;
	return -1;
}

void tracer_costs_miss(struct tracer *tracer, const struct cost_ended_key *key)
{
	(void)tracer;
	(void)key;
}

void tracer_costs_lost(const struct tracer *tracer, struct costs_lost *lost)
{
	(void)tracer;
	*lost = (struct costs_lost){0};
}

void tracer_costs_kinds(const struct tracer *tracer, bool *interrupts, bool *steal)
{
	(void)tracer;
	*interrupts = false;
	*steal = true;
}

uint64_t tracer_costs_known(const struct tracer *tracer)
{
	(void)tracer;
	return (1ULL << COST_VALUES) - 1;
}

int tracer_counter_start(struct tracer *tracer, enum cost_counter which, struct why *why)
{
	(void)why;
	tracer->counting |= 1u << which;
	return 0;
}

void tracer_counter_stop(struct tracer *tracer, enum cost_counter which)
{
	tracer->counting &= ~(1u << which);
}

int tracer_counter_open(const struct tracer *tracer, enum cost_counter which,
			struct counter_fds *fds)
{
	(void)tracer;
	(void)which;
	*fds = (struct counter_fds){-1, -1, 0};
	return 0;
}

void tracer_counter_forget(struct tracer *tracer, enum cost_counter which,
			   const struct cost_counter_key *key)
{
	(void)tracer;
	(void)which;
	(void)key;
}

void tracer_counter_forget_pair(struct tracer *tracer, const struct wake_pair *pair)
{
	(void)tracer;
	(void)pair;
}

const char *tracer_counter_absent(const struct tracer *tracer, enum cost_counter which)
{
	(void)tracer;
	(void)which;
	return NULL;
}

uint64_t tracer_counter_known(const struct tracer *tracer, enum cost_counter which)
{
	return tracer->counting >> which & 1;
}

uint64_t tracer_counter_lost(const struct tracer *tracer, enum cost_counter which)
{
	(void)tracer;
	(void)which;
	return 0;
}

void tracer_times_state(const struct tracer *tracer, struct times_state *state)
{
	*state = (struct times_state){.is_on = tracer->offcpu || tracer->hists, .why = ""};
}
