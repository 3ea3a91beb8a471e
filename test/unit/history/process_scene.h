/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blends whose functions are told by process. */
#pragma once

#include "history/history_anomalies.h"
#include "unit/history/history_scene.h"

static inline struct blend new_process_blend(void)
{
	struct blend blend = new_blend();

	blend.by_process = true;
	return blend;
}

/* Returns the row of a process's function, or (process NULL) of nobody's, or of a process; NULL:
 * the table hasn't got it. */
static inline const struct function_row *find_owned(const struct functions *functions,
						    const char *process, const char *written)
{
	struct frame frame = frame_written(written);

	for (size_t i = 0; i < functions_count(functions); i++) {
		const struct function_row *row = functions_at(functions, i);
		const struct function_row *owner =
			row->process == NO_PROCESS ? NULL : functions_at(functions, row->process);

		if (row->type != frame.type || strlen(row->name) != frame.name_len ||
		    memcmp(row->name, frame.name, frame.name_len) != 0)
			continue;
		if (!process ? !owner : owner && strcmp(owner->name, process) == 0)
			return row;
	}
	return NULL;
}
