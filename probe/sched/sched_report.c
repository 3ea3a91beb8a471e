// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports: each report_period a line in the log on what the probes have counted in it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sched/sched_state.h"

#define LINE_BYTES 512

struct report_line {
	char text[LINE_BYTES];
	size_t len;
};

static void put_text(struct report_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put_text(struct report_line *line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int bytes = vsnprintf(line->text + line->len, sizeof(line->text) - line->len, format, args);
	va_end(args);
	if (bytes > 0 && line->len + (size_t)bytes < sizeof(line->text))
		line->len += (size_t)bytes;
}

/*
 * Returns the upper end, us, of the slot below which that part of all events lies; 0: it is the
 * open one.
 */
static uint64_t bound_us(const struct hist *hist, uint64_t count, double part)
{
	uint64_t below = 0;

	for (size_t i = 0; i + 1 < HIST_SLOTS; i++) {
		below += hist->slots[i];
		if ((double)below >= (double)count * part)
			return 1ULL << i;
	}
	return 0;
}

static void put_bound(struct report_line *line, const char *what, uint64_t us)
{
	if (us)
		put_text(line, "%s below %llu us", what, (unsigned long long)us);
	else
		put_text(line, "%s above %llu us", what, 1ULL << (HIST_SLOTS - 2));
}

static void report_hist(struct sched *sched, enum sched_probe probe, const struct sched_data *data,
			struct report_line *line)
{
	struct hist sum, *before = &sched->reported[probe], period;

	sched_data_sum(data, &sum);
	period = sum;
	for (size_t i = 0; i < HIST_SLOTS; i++)
		period.slots[i] -= before->slots[i] < sum.slots[i] ? before->slots[i] : 0;
	*before = sum;
	uint64_t count = hist_count(&period);
	put_text(line, " %llu %s", (unsigned long long)count, sched_kind_get(probe)->what);
	if (!count)
		return;
	put_bound(line, ", half", bound_us(&period, count, 0.5));
	put_bound(line, ", 99 %", bound_us(&period, count, 0.99));
}

static void report_lengths(struct sched *sched, const struct sched_data *data,
			   struct report_line *line)
{
	struct lengths sum, *before = &sched->reported_lengths, period;

	sched_data_sum_lengths(data, &sum);
	period = sum;
	for (size_t i = 0; i < LENGTH_SLOTS; i++)
		period.slots[i] -= before->slots[i] < sum.slots[i] ? before->slots[i] : 0;
	*before = sum;
	uint64_t count = lengths_count(&period);
	if (count)
		put_text(line, " a task waited in %.1f %% of the looks",
			 100.0 * (double)(count - period.slots[0]) / (double)count);
	else
		put_text(line, " no look");
}

static void report_slow(struct sched *sched, struct report_line *line)
{
	uint64_t next = sched->log->next;

	put_text(line, " %llu longer than %llu us",
		 (unsigned long long)(next - sched->reported_slow),
		 (unsigned long long)(sched->applied.slow_ns / 1000));
	sched->reported_slow = next;
}

static void report_probe(struct sched *sched, enum sched_probe probe, struct report_line *line)
{
	_cleanup_sched_data_ struct sched_data data = {0};

	put_text(line, "; %s:", sched_kind_get(probe)->name);
	if (probe == SCHED_RUNQSLOWER)
		report_slow(sched, line);
	else if (sched_read_now(sched, probe, &data) < 0)
		put_text(line, " can't be read");
	else if (probe == SCHED_RUNQLEN)
		report_lengths(sched, &data, line);
	else
		report_hist(sched, probe, &data, line);
}

static uint64_t period_ns(const struct sched *sched)
{
	return (uint64_t)sched->wanted.params.sched.report_period_s * NS_PER_S;
}

void sched_report(void *arg)
{
	struct sched *sched = arg;
	struct report_line line = {.len = 0};
	uint64_t from_ns = sched->report.at_ns;

	put_text(&line, "sched, the last %llu s",
		 (unsigned long long)(period_ns(sched) / NS_PER_S));
	for (int i = 0; i < SCHED_COUNT; i++) {
		if (sched->on & sched->configured & 1u << i)
			report_probe(sched, i, &line);
	}
	log_info("%s", line.text);
	loop_timer_set(sched->setup.loop, &sched->report, from_ns + period_ns(sched));
}

void sched_report_start(struct sched *sched, uint32_t fresh)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		if (fresh & 1u << i)
			sched->reported[i] = (struct hist){0};
	}
	if (fresh & 1u << SCHED_RUNQLEN)
		sched->reported_lengths = (struct lengths){0};
	if (fresh & 1u << SCHED_RUNQSLOWER)
		sched->reported_slow = sched->log->next;
	if (sched->report.active && sched->report_period_ns == period_ns(sched))
		return;
	sched->report_period_ns = period_ns(sched);
	loop_timer_set(sched->setup.loop, &sched->report, loop_now_ns() + period_ns(sched));
}

void sched_report_stop(struct sched *sched)
{
	loop_timer_cancel(sched->setup.loop, &sched->report);
}
