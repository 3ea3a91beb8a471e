// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts stacks that Java VMs have recorded into profiles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "container/container.h"
#include "window/batch_state.h"
#include "window/jfr_stacks.h"
#include "target/who.h"

static void lose_events(struct batch *batch, uint32_t probe, uint32_t bit, uint64_t events)
{
	for (size_t s = 0; s < batch->sinks_count; s++) {
		struct sink *sink = &batch->sinks[s];

		if (sink->bit == bit && sink->profile->probe == probe)
			sink->lost += events;
	}
}

int batch_add_recorded(struct batch *batch, const struct target *target, uint32_t probe,
		       uint32_t bit, struct jfrfile *file)
{
	struct batch_recorded *recorded =
		reallocarray(batch->recorded, batch->recorded_count + 1, sizeof(*recorded));

	if (!recorded) {
		lose_events(batch, probe, bit, jfrfile_events(file));
		jfrfile_free(file);
		return -ENOMEM;
	}
	batch->recorded = recorded;
	recorded += batch->recorded_count++;
	*recorded = (struct batch_recorded){
		.who = who_of_target(target),
		.probe = probe,
		.bit = bit,
		.file = file,
	};
	container_ref(recorded->who.container);
	return 0;
}

void batch_put_recorded(const struct batch *batch, struct batch_result *result)
{
	for (size_t i = 0; i < batch->recorded_count; i++) {
		const struct batch_recorded *recorded = &batch->recorded[i];

		for (size_t s = 0; s < batch->sinks_count; s++) {
			const struct sink *sink = &batch->sinks[s];

			if (sink->bit == recorded->bit && sink->profile->probe == recorded->probe)
				jfr_stacks_add(sink->profile, recorded->file, &recorded->who,
					       &sink->detail, result);
		}
	}
}

void batch_free_recorded(struct batch *batch)
{
	for (size_t i = 0; i < batch->recorded_count; i++) {
		jfrfile_free(batch->recorded[i].file);
		container_unref(batch->recorded[i].who.container);
	}
	free(batch->recorded);
}
