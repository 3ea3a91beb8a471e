// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/accounting_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define FRESH_NS	 NS_PER_S /* /metrics have no reading made more often */
#define ENERGY_PERIOD_NS (60 * NS_PER_S)

static uint64_t period_ns(const struct accounting *accounting)
{
	return (uint64_t)accounting->wanted.params.proc.report_period_s * NS_PER_S;
}

/* A counter of energy may begin again at 0 after some minutes. */
static void read_energy(void *arg)
{
	struct accounting *accounting = arg;

	energy_read(accounting->energy, loop_now_ns());
	loop_timer_set(accounting->setup.loop, &accounting->energy_period,
		       loop_now_ns() + ENERGY_PERIOD_NS);
}

static void period_ends(void *arg)
{
	struct accounting *accounting = arg;

	loop_timer_set(accounting->setup.loop, &accounting->period,
		       loop_now_ns() + period_ns(accounting));
	accounting_begin_reading(accounting);
}

int accounting_new(struct accounting **ret, const struct accounting_setup *setup)
{
	struct accounting *accounting = calloc(1, sizeof(*accounting));

	if (!accounting)
		return -ENOMEM;
	accounting->setup = *setup;
	accounting->counting.tracer = engine_tracer(setup->engine);
	accounting->wanted.params.proc = setup->defaults;
	accounting->period =
		(struct loop_timer){.expired = period_ends, .arg = accounting, .name = "proc"};
	accounting->energy_period =
		(struct loop_timer){.expired = read_energy, .arg = accounting, .name = "proc"};
	*ret = accounting;
	return 0;
}

/* ---- what it does ---- */

static bool is_counting(const struct accounting *accounting)
{
	for (int i = 0; i < COST_COUNTERS; i++) {
		if (accounting->counting.from_ns[i])
			return true;
	}
	return false;
}

static void take_ended(void *arg, const struct ended_cost *ended)
{
	struct accounting *accounting = arg;

	if (!accounting->table)
		return;
	cost_table_end(accounting->table, ended);
	/* What programs of ours counted of the ended is read before their rows are folded. */
	if (is_counting(accounting) &&
	    cost_table_unfolded(accounting->table) >= 2 * COST_ENDED_KEPT)
		accounting_begin_reading(accounting);
}

bool accounting_is_running(const struct accounting *accounting)
{
	return accounting->told && accounting->wanted.running && accounting->wanted.probes;
}

static bool has_waits(const struct accounting *accounting)
{
	for (int i = 0; i < COST_WAITS_MAX; i++) {
		if (accounting->waits[i])
			return true;
	}
	return false;
}

/* ---- what programs of ours count ---- */

static bool wants_counter(const struct accounting *accounting, enum cost_counter which)
{
	enum cost_probe probe = counting_probe(which);

	if (accounting_is_running(accounting) && accounting->wanted.probes & 1u << probe)
		return true;
	for (int i = 0; i < COST_WAITS_MAX; i++) {
		if (accounting->waits[i] && accounting->waits[i]->asking.probe == probe)
			return true;
	}
	return false;
}

/* Forgets what was counted before: it begins at 0 again. */
static void clear_counts(struct accounting *accounting, enum cost_counter which)
{
	cost_table_clear(accounting->table, which);
	cost_rows_clear(&accounting->base, which);
	for (int i = 0; i < COST_WAITS_MAX; i++) {
		if (accounting->waits[i])
			cost_rows_clear(&accounting->waits[i]->before, which);
	}
}

/* Stops the programs whose counts nobody wants any more. */
static void stop_counters(struct accounting *accounting)
{
	for (int i = 0; i < COST_COUNTERS; i++) {
		if (!wants_counter(accounting, (enum cost_counter)i))
			counting_stop(&accounting->counting, (enum cost_counter)i);
	}
}

int accounting_start_counters(struct accounting *accounting, uint32_t probes, struct why *why)
{
	for (int i = 0; i < COST_COUNTERS; i++) {
		enum cost_counter which = (enum cost_counter)i;
		int r = probes & 1u << counting_probe(which)
				? counting_start(&accounting->counting, which, why)
				: 0;

		if (r < 0)
			return r;
		if (r > 0)
			clear_counts(accounting, which);
	}
	return 0;
}

/* ---- on and off ---- */

static void turn_off(struct accounting *accounting)
{
	for (int i = 0; i < COST_COUNTERS; i++)
		counting_stop(&accounting->counting, (enum cost_counter)i);
	tracer_costs_stop(engine_tracer(accounting->setup.engine));
	cost_table_free(TAKE_PTR(accounting->table));
	cost_rows_done(&accounting->base);
	cost_series_done(&accounting->series);
	unseen_ends_done(&accounting->unseen);
	energy_close(TAKE_PTR(accounting->energy));
	loop_timer_cancel(accounting->setup.loop, &accounting->energy_period);
	accounting->has_base = false;
	accounting->read_ns = 0;
	loop_timer_cancel(accounting->setup.loop, &accounting->period);
}

int accounting_turn_on(struct accounting *accounting, struct why *why)
{
	const struct cost_events events = {take_ended, accounting};

	if (accounting->table)
		return 0;
	why_set(why, "no memory");
	int r = energy_open(&accounting->energy, ENERGY_ROOT);
	if (r == 0)
		read_energy(accounting);
	else if (r != -ENOENT)
		log_warn("proc: the host's energy can't be read: %s", strerror(-r));
	r = cost_table_new(&accounting->table, engine_containers(accounting->setup.engine));
	if (r == 0)
		r = tracer_costs_start(engine_tracer(accounting->setup.engine), &events, why);
	if (r < 0)
		turn_off(accounting);
	return r;
}

void accounting_free(struct accounting *accounting)
{
	if (!accounting)
		return;
	turn_off(accounting);
	if (accounting->told)
		spec_done(&accounting->wanted);
	free(accounting);
}

void accounting_settle(struct accounting *accounting)
{
	stop_counters(accounting);
	if (!accounting_is_running(accounting)) {
		cost_rows_done(&accounting->base);
		cost_series_done(&accounting->series);
		accounting->has_base = false;
		loop_timer_cancel(accounting->setup.loop, &accounting->period);
		if (!has_waits(accounting) && !accounting->is_reading && accounting->table)
			turn_off(accounting);
	}
}

static void take_spec(struct accounting *accounting, const struct spec *spec)
{
	struct spec before = accounting->wanted;
	bool is_same = accounting->told && snoopers_equal(before.snoopers, spec->snoopers);

	if (!is_same)
		cost_series_done(&accounting->series); /* others are looked at */
	spec_copy(&accounting->wanted, spec);
	if (is_same) { /* what is known of processes is of these */
		snoopers_unref(accounting->wanted.snoopers);
		accounting->wanted.snoopers = snoopers_ref(before.snoopers);
	}
	if (accounting->told)
		spec_done(&before);
	accounting->told = true;
}

int accounting_apply(struct accounting *accounting, const struct spec *spec, struct why *why)
{
	bool runs = spec->running && spec->probes, ran = accounting_is_running(accounting);

	if (runs) {
		int r = accounting_turn_on(accounting, why);
		if (r == 0)
			r = accounting_start_counters(accounting, spec->probes, why);
		if (r < 0) {
			accounting_settle(accounting);
			return r;
		}
	}
	take_spec(accounting, spec);
	if (runs != ran)
		log_info("proc %s", runs ? "started" : "stopped");
	if (runs && !ran)
		accounting_begin_reading(accounting);
	if (runs)
		loop_timer_set(accounting->setup.loop, &accounting->period,
			       loop_now_ns() + period_ns(accounting));
	accounting_settle(accounting);
	return 0;
}

/* ---- readings ---- */

int accounting_copy_rows(const struct accounting *accounting, struct cost_rows *rows)
{
	int r = cost_table_copy(accounting->table, rows);

	if (accounting->energy)
		rows->energy = *energy_counts(accounting->energy);
	return r;
}

int accounting_copy_since(const struct accounting *accounting, const struct cost_rows *before,
			  enum cost_group by, bool with_idle, struct cost_rows *rows)
{
	*rows = (struct cost_rows){.time_ns = accounting->real_ns};
	int r = accounting_copy_rows(accounting, rows);

	if (r < 0)
		return r;
	cost_rows_subtract(rows, before, with_idle);
	cost_rows_sum(rows);
	if (accounting->told)
		cost_rows_select(rows, accounting->table, accounting->wanted.snoopers);
	return cost_rows_group(rows, accounting->table, by);
}

static void begin_base(struct accounting *accounting)
{
	if (accounting->has_base || !accounting_is_running(accounting))
		return;
	accounting->base.time_ns = accounting->real_ns;
	accounting->has_base = accounting_copy_rows(accounting, &accounting->base) == 0;
}

/* Returns whether what a reading has of our programs' counts is of programs that count no more. */
static bool is_stale(const struct accounting *accounting)
{
	for (int i = 0; i < COST_COUNTERS; i++) {
		if (accounting->counting.from_ns[i] != accounting->counted_from_ns[i])
			return true;
	}
	return false;
}

static void miss_end(void *arg, const struct cost_ended_key *key)
{
	tracer_costs_miss(arg, key);
}

/* Takes what a reading found, and forgets what needs not be read again. */
static int take_rows(struct accounting *accounting, const struct cost_reading *reading)
{
	struct cost_reading mine = *reading;
	bool stale = is_stale(accounting);
	int r;

	if (stale)
		mine.counts = (struct cost_counts){0};
	r = cost_table_take(accounting->table, &mine);
	if (r == 0)
		r = counting_forget(&accounting->counting, accounting->table, &mine.counts,
				    accounting->ends);
	if (r == 0)
		r = unseen_ends_replace(&accounting->unseen, &reading->unseen, accounting->began_ns,
					miss_end, engine_tracer(accounting->setup.engine));
	if (!stale) /* else counts of those that have ended come with the next reading */
		cost_table_fold(accounting->table);
	return r;
}

/* Notes a process whose command line hung the reading: the next ones leave it out. */
static void note_hung(struct accounting *accounting, const struct cost_counter_key *who)
{
	if (!who->tgid)
		return;
	accounting->hung[accounting->hung_count++ % COST_HUNG_MAX] = *who;
	log_warn("proc: the command line of process %u can't be read, it hangs: it is left out",
		 (unsigned)who->tgid);
}

static void take_reading(void *arg, const struct cost_reading *reading)
{
	struct accounting *accounting = arg;

	accounting->is_reading = false;
	accounting->error = reading->error;
	note_hung(accounting, &reading->hung);
	if (!accounting->table)
		return;
	tracer_costs_poll(engine_tracer(accounting->setup.engine));
	cost_table_hold(accounting->table, is_counting(accounting));
	if (reading->error == 0)
		accounting->error = take_rows(accounting, reading);
	if (accounting->error < 0)
		log_error("proc: what processes cost can't be read: %s",
			  strerror(-accounting->error));
	if (accounting->energy)
		energy_read(accounting->energy, loop_now_ns());
	accounting->read_ns = accounting->began_ns;
	accounting->real_ns = accounting->began_real_ns;
	begin_base(accounting);
	accounting_serve_waits(accounting);
	accounting_settle(accounting);
}

static void fail_reading(struct accounting *accounting, int error)
{
	const struct cost_reading failed = {.error = error};

	take_reading(accounting, &failed);
}

void accounting_begin_reading(struct accounting *accounting)
{
	struct cost_source source = {0};
	size_t count;

	if (accounting->is_reading || !accounting->table)
		return;
	accounting->is_reading = true;
	cost_table_hold(accounting->table, true);
	accounting->ends = cost_table_ends(accounting->table);
	memcpy(accounting->counted_from_ns, accounting->counting.from_ns,
	       sizeof(accounting->counted_from_ns));
	accounting->readings++;
	accounting->began_ns = loop_now_ns();
	accounting->began_real_ns = clock_ns(CLOCK_REALTIME);
	int r = counting_open(&accounting->counting, &source);
	if (accounting->told && snoopers_ask_for_lines(accounting->wanted.snoopers))
		source.snoopers = snoopers_ref(accounting->wanted.snoopers);
	memcpy(source.hung, accounting->hung, sizeof(source.hung));
	source.fd = tracer_costs_open(engine_tracer(accounting->setup.engine));
	source.ended_fd = tracer_costs_open_ended(engine_tracer(accounting->setup.engine));
	if (r < 0 || source.fd < 0) {
		cost_source_close(&source);
		fail_reading(accounting, r < 0 ? r : source.fd);
		return;
	}
	_cleanup_free_ struct cgroup_key *known = cost_table_known(accounting->table, &count);
	r = cost_reading_start(accounting->setup.worker, &source, known, count, take_reading,
			       accounting);
	if (r < 0)
		fail_reading(accounting, r);
}

/* ---- metrics ---- */

void last_costs_done(struct last_costs *last)
{
	cost_rows_done(&last->rows);
}

/* Fills in the rows since the start, by container; single processes' series on the way. */
static int fill_last(struct accounting *accounting, size_t most, struct last_costs *last)
{
	int r = accounting_copy_since(accounting, &accounting->base, COST_BY_PID, false,
				      &last->rows);

	if (r == 0)
		r = cost_series_update(&accounting->series, &last->rows, most);
	if (r == 0)
		r = cost_rows_group(&last->rows, accounting->table, COST_BY_CONTAINER);
	return r;
}

void accounting_last(struct accounting *accounting, size_t most, struct last_costs *last)
{
	*last = (struct last_costs){0};
	if (!accounting->has_base)
		return;
	if (fill_last(accounting, most, last) == 0) {
		last->table = accounting->table;
		last->known = tracer_costs_known(engine_tracer(accounting->setup.engine));
		last->series = most ? &accounting->series : NULL;
	}
	last->sum.more = &last->sum_more;
	for (size_t i = 0; i < last->rows.count; i++)
		cost_row_add(&last->sum, &last->rows.all[i]);
	if (accounting->read_ns + FRESH_NS <= loop_now_ns())
		accounting_begin_reading(accounting);
}

const struct spec *accounting_spec(const struct accounting *accounting)
{
	return accounting->told ? &accounting->wanted : NULL;
}

const char *accounting_state(const struct accounting *accounting, enum cost_probe probe)
{
	if (!accounting_is_running(accounting) || !(accounting->wanted.probes & 1u << probe))
		return "stopped";
	return accounting->has_base ? "running" : "arming";
}

void accounting_stats(const struct accounting *accounting, struct cost_table_stats *stats)
{
	*stats = (struct cost_table_stats){0};
	if (accounting->table)
		cost_table_stats(accounting->table, stats);
}
