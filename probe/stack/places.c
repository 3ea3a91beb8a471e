// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct frame_place {
	const struct module *module;
	uint64_t address;
};

static void places_freep(struct places **places)
{
	places_free(*places);
}

void places_free(struct places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < places->count; i++)
		lines_free(places->files[i].lines);
	free(places->files);
	free(places->addresses);
	free(places);
}

static int by_module(const void *a, const void *b)
{
	const struct frame_place *left = a, *right = b;

	if (left->module != right->module)
		return (uintptr_t)left->module < (uintptr_t)right->module ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

/* Lists the places of all frames, in order, with duplicates. NULL: no memory. */
static struct frame_place *list_places(const struct tree *tree, size_t *count)
{
	size_t frames = tree_frames_count(tree);
	struct frame_place *all = calloc(frames + 1, sizeof(*all));

	*count = 0;
	for (uint32_t i = 0; all && i < frames; i++) {
		struct frame frame = tree_frame_at(tree, i);

		if (frame.module)
			all[(*count)++] = (struct frame_place){frame.module, frame.address};
	}
	if (all)
		qsort(all, *count, sizeof(*all), by_module);
	return all;
}

int places_new(struct places **ret, const struct tree *tree)
{
	_cleanup_(places_freep) struct places *places = calloc(1, sizeof(*places));
	size_t count, addresses = 0;
	_cleanup_free_ struct frame_place *all = list_places(tree, &count);

	if (!places || !all)
		return -ENOMEM;
	places->files = calloc(count + 1, sizeof(*places->files));
	places->addresses = calloc(count + 1, sizeof(*places->addresses));
	if (!places->files || !places->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct places_file *file = &places->files[places->count];

		if (!i || all[i].module != all[i - 1].module) {
			file->module = all[i].module;
			file->addresses = &places->addresses[addresses];
			places->count++;
		} else {
			file--;
			if (all[i].address == all[i - 1].address || file->count == LINES_MAX)
				continue;
		}
		places->addresses[addresses++] = all[i].address;
		file->count++;
	}
	*ret = TAKE_PTR(places);
	return 0;
}

static int compare_file(const void *key, const void *element)
{
	const struct module *module = key;
	const struct places_file *file = element;

	if (module == file->module)
		return 0;
	return (uintptr_t)module < (uintptr_t)file->module ? -1 : 1;
}

size_t places_lines(const struct places *places, const struct frame *frame,
		    struct line_text texts[LINE_LEVELS])
{
	if (!places || !frame->module)
		return 0;
	const struct places_file *file = bsearch(frame->module, places->files, places->count,
						 sizeof(*places->files), compare_file);

	return file && file->lines ? lines_at(file->lines, frame->address, texts) : 0;
}
