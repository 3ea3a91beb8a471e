// SPDX-License-Identifier: GPL-2.0-only
#include "profile/slow_log.h"

void slow_log_add(struct slow_log *log, const struct slow_entry *entry)
{
	log->entries[log->next++ % SLOW_LOG_EVENTS] = *entry;
}

uint64_t slow_log_first(const struct slow_log *log)
{
	return log->next > SLOW_LOG_EVENTS ? log->next - SLOW_LOG_EVENTS : 0;
}

const struct slow_entry *slow_log_get(const struct slow_log *log, uint64_t number)
{
	return &log->entries[number % SLOW_LOG_EVENTS];
}
