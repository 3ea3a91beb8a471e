// SPDX-License-Identifier: GPL-2.0-or-later
/* What is loaded beside `life`: the list of objects, and those that a probe has for itself. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kernel/tracer_part.h"
#include "life.skel.h"

void loaded_add(struct tracer *tracer, const struct loaded *loaded)
{
	loaded_remove(tracer, loaded->object, loaded->program_fd);
	if (tracer->loaded_count < LOADED_MAX)
		tracer->loaded[tracer->loaded_count++] = *loaded;
	else
		log_error("more than %d BPF objects: one isn't counted, nor stopped with them",
			  LOADED_MAX);
}

void loaded_remove(struct tracer *tracer, const struct bpf_object *object, int program_fd)
{
	size_t left = 0;

	for (size_t i = 0; i < tracer->loaded_count; i++) {
		const struct loaded *loaded = &tracer->loaded[i];

		if (loaded->object != object || loaded->program_fd != program_fd)
			tracer->loaded[left++] = tracer->loaded[i];
	}
	tracer->loaded_count = left;
}

bool loaded_is(const struct tracer *tracer, const struct loadable *which)
{
	for (size_t i = 0; i < tracer->loaded_count; i++) {
		if (tracer->loaded[i].which == which)
			return true;
	}
	return false;
}

void loaded_stop(struct tracer *tracer)
{
	for (size_t i = tracer->loaded_count; i > 0; i--) {
		const struct loaded loaded = tracer->loaded[i - 1];

		if (!loaded.stop)
			continue;
		loaded.stop(loaded.arg);
		loaded_remove(tracer, loaded.object, loaded.program_fd);
		i = tracer->loaded_count + 1; /* its owner may have had others */
	}
}

/* An object of a probe's own. */
struct own_object {
	struct tracer *tracer;
	const struct loadable *which;
	void *bpf;
};

/* Returns the first member of each skeleton. */
static struct bpf_object_skeleton *skeleton_of(const struct own_object *own)
{
	return *(struct bpf_object_skeleton **)own->bpf;
}

static void unload_own(void *arg)
{
	tracer_unload(arg);
}

int tracer_load_own(struct tracer *tracer, const struct loadable *which, void **own,
		    const char *what, struct why *why)
{
	struct own_object *mine = calloc(1, sizeof(*mine));
	void *bpf = mine ? tracer_take(tracer, which) : NULL;

	if (!bpf) {
		int error = mine ? -errno : -ENOMEM;

		free(mine);
		tracer_explain(why, error, what);
		return error;
	}
	*mine = (struct own_object){tracer, which, bpf};
	*own = mine;
	loaded_add(tracer, &(struct loaded){which->object(bpf), -1, unload_own, own, which});
	int r = bpf_object__attach_skeleton(skeleton_of(mine));
	if (r < 0) {
		tracer_explain(why, r, what);
		tracer_unload(own);
	}
	return r;
}

void tracer_unload(void **own)
{
	struct own_object *mine = TAKE_PTR(*own);

	if (!mine)
		return;
	loaded_remove(mine->tracer, mine->which->object(mine->bpf), -1);
	mine->which->destroy(mine->bpf);
	free(mine);
}

void *tracer_own_bpf(void *own)
{
	const struct own_object *mine = own;

	return mine->bpf;
}
