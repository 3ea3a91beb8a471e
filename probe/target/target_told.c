// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings that the kernel's side walked through before the daemon had read them: they name the
 * stacks of a process that ends before its maps can be read. */
#include "target/target_state.h"

static bool is_plausible(const struct told_mapping *told)
{
	return told->start < told->end && told->end < UINT64_C(1) << FRAME_KIND_SHIFT;
}

void targets_on_told_maps(struct targets *targets, const struct told_maps *told, size_t bytes)
{
	size_t most = (bytes - TOLD_MAPS_LEAST) / sizeof(told->each[0]);
	struct target *target = target_table_find(targets->table, told->tgid, told->id);

	if (!target)
		return;
	for (size_t i = 0; i < told->count && i < most && i < TOLD_MAX; i++) {
		const struct told_mapping *each = &told->each[i];
		struct symbol_file *file = tables_known(targets->tables, each->number);

		if (file && is_plausible(each))
			address_space_tell(target->space,
					   &(struct region_view){.start = each->start,
								 .end = each->end,
								 .file_offset = each->file_offset,
								 .kind = MAPPING_FILE,
								 .file = file});
	}
}
