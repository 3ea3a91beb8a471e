// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports: each report_period a line in the log on what the probes have counted in it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sched/sched_state.h"

#define LINE_BYTES (64 + SCHED_COUNT * (SCHED_NAME_BYTES + 96))

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

static void put_bound(struct report_line *line, const char *what, uint64_t us)
{
	if (us)
		put_text(line, "%s below %llu us", what, (unsigned long long)us);
	else
		put_text(line, "%s above %llu us", what, 1ULL << (HIST_SLOTS - 2));
}

/* Returns what was counted since the last report. */
static uint64_t since_report(uint64_t now, uint64_t *reported)
{
	uint64_t before = *reported;

	*reported = now;
	return before <= now ? now - before : now;
}

static void report_hist(struct report_line *line, const struct sched_data *data,
			union sched_sum *reported)
{
	struct hist period;

	sched_data_sum(data, &period);
	for (size_t i = 0; i < HIST_SLOTS; i++)
		period.slots[i] = since_report(period.slots[i], &reported->hist.slots[i]);
	uint64_t count = hist_count(&period);
	put_text(line, " %llu %s", (unsigned long long)count, sched_kind_get(data->probe)->what);
	if (!count)
		return;
	put_bound(line, ", half", hist_bound_us(&period, count, 0.5));
	put_bound(line, ", 99 %", hist_bound_us(&period, count, 0.99));
}

static void report_lengths(struct report_line *line, const struct sched_data *data,
			   union sched_sum *reported)
{
	struct lengths period;

	sched_data_sum_lengths(data, &period);
	for (size_t i = 0; i < LENGTH_SLOTS; i++)
		period.slots[i] = since_report(period.slots[i], &reported->lengths.slots[i]);
	uint64_t count = lengths_count(&period);
	if (count)
		put_text(line, " a task waited in %.1f %% of the looks",
			 100.0 * (double)(count - period.slots[0]) / (double)count);
	else
		put_text(line, " no look");
}

static void report_events(struct report_line *line, const struct sched_data *data,
			  union sched_sum *reported)
{
	put_text(line, " %llu longer than %llu us",
		 (unsigned long long)since_report(sched_data_count(data), &reported->events),
		 (unsigned long long)(data->slow_ns / 1000));
}

static void (*const reports[SCHED_FORMS])(struct report_line *line, const struct sched_data *data,
					  union sched_sum *reported) = {
	[SCHED_HIST] = report_hist,
	[SCHED_LENGTHS] = report_lengths,
	[SCHED_EVENTS] = report_events,
};

static void report_probe(struct sched *sched, enum sched_probe probe, struct report_line *line)
{
	_cleanup_sched_data_ struct sched_data data = {0};

	put_text(line, "; %s:", sched_kind_get(probe)->name);
	if (sched_read_now(sched, probe, &data) < 0)
		put_text(line, " can't be read");
	else
		reports[sched_form(probe)](line, &data, &sched->probes[probe].reported);
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

void sched_report_start(struct sched *sched)
{
	if (sched->report.active && sched->report_period_ns == period_ns(sched))
		return;
	sched->report_period_ns = period_ns(sched);
	loop_timer_set(sched->setup.loop, &sched->report, loop_now_ns() + period_ns(sched));
}

void sched_report_stop(struct sched *sched)
{
	loop_timer_cancel(sched->setup.loop, &sched->report);
}
