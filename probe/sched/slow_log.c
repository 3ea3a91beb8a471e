// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/slow_log.h"

#include <stdlib.h>

#include "container/container.h"

void slow_log_add(struct slow_log *log, const struct slow_entry *entry)
{
	struct slow_entry *place = &log->entries[log->next++ % SLOW_LOG_EVENTS];

	container_ref(entry->container);
	container_unref(place->container);
	*place = *entry;
}

void slow_log_free(struct slow_log *log)
{
	for (size_t i = 0; log && i < SLOW_LOG_EVENTS; i++)
		container_unref(log->entries[i].container);
	free(log);
}

uint64_t slow_log_first(const struct slow_log *log)
{
	return log->next > SLOW_LOG_EVENTS ? log->next - SLOW_LOG_EVENTS : 0;
}

const struct slow_entry *slow_log_get(const struct slow_log *log, uint64_t number)
{
	return &log->entries[number % SLOW_LOG_EVENTS];
}
