// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/host_times.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

#define LINE "cpu " /* all CPUs together */

/* Fields of the line, in the kernel's order. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };

static uint64_t count_cpus(const char *text)
{
	uint64_t count = 0;

	for (const char *at = strstr(text, "\ncpu"); at; at = strstr(at + 1, "\ncpu"))
		count++;
	return count;
}

int host_times_parse(const char *text, struct host_times *times)
{
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = NS_PER_S / (hz > 0 ? (uint64_t)hz : 100);
	uint64_t ticks[FIELDS];
	char *end;

	if (strncmp(text, LINE, strlen(LINE)) != 0)
		return -EBADMSG;
	text += strlen(LINE);
	for (int i = 0; i < FIELDS; i++) {
		ticks[i] = strtoull(text, &end, 10);
		if (end == text)
			return -EBADMSG;
		text = end;
	}
	*times = (struct host_times){
		.idle_ns = ticks[IDLE] * tick_ns,
		.iowait_ns = ticks[IOWAIT] * tick_ns,
		.interrupts_ns = (ticks[IRQ] + ticks[SOFTIRQ]) * tick_ns,
		.steal_ns = ticks[STEAL] * tick_ns,
		.cpus = count_cpus(text),
	};
	return 0;
}

int host_times_read(struct host_times *times)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	int r = file_read(AT_FDCWD, "/proc/stat", &text);

	if (r < 0)
		return r;
	buf_char(&text, '\0');
	r = buf_error(&text);
	return r < 0 ? r : host_times_parse(text.data, times);
}

static uint64_t count_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void host_times_subtract(struct host_times *times, const struct host_times *before)
{
	times->idle_ns = count_since(times->idle_ns, before->idle_ns);
	times->iowait_ns = count_since(times->iowait_ns, before->iowait_ns);
	times->interrupts_ns = count_since(times->interrupts_ns, before->interrupts_ns);
	times->steal_ns = count_since(times->steal_ns, before->steal_ns);
}
