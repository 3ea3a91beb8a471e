// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/functions/pyfunctions.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "python/functions/pyfunctions_state.h"

#define INTERPRETERS_MAX 16
#define TYPES_MAX	 65536
#define CLOCK_EVERY	 512 /* objects */

bool pysearch_goes_on(struct pysearch *search)
{
	if (search->error || search->cut)
		return false;
	search->objects++;
	if (search->objects > PYFUNCTIONS_OBJECTS_MAX)
		search->cut = true;
	if (search->objects % CLOCK_EVERY == 0 &&
	    (clock_ns(CLOCK_THREAD_CPUTIME_ID) > search->cpu_until_ns ||
	     clock_ns(CLOCK_MONOTONIC) > search->until_ns))
		search->cut = true;
	return !search->cut;
}

/* Reads by the pages, for all who read: what was not seen is noted. */
static int read_near(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct pysearch *search = arg;
	int r = memory_pages_read(search->pages, address, to, bytes);

	if (r == -ENOSPC)
		search->cut = true;
	else if (r == -ESRCH)
		search->error = r;
	return r;
}

bool pysearch_word(struct pysearch *search, uint64_t address, uint64_t *word)
{
	return read_near(search, address, word, sizeof(*word)) == 0;
}

/* Notes that a map has no room, or there is no memory. */
void pysearch_fail(struct pysearch *search, int error)
{
	if (error == -ENOSPC)
		search->cut = true;
	else
		search->error = error;
}

void pysearch_add(struct pysearch *search, enum pyplace_kind kind, uint64_t address)
{
	bool *seen;
	int r = map_put(search->seen, &address, (void **)&seen);

	if (r == 1)
		r = array_grow(search->places, search->places_capacity, search->places_count + 1,
			       256);
	else if (r == 0)
		return;
	if (r < 0) {
		pysearch_fail(search, r);
		return;
	}
	search->places[search->places_count++] = (struct pyplace){address, kind};
}

static void search_done(struct pysearch *search)
{
	const uint64_t *address;
	struct pywanted *wanted;

	if (search->wanted) {
		map_each (search->wanted, pos, address, wanted)
			pywanted_done(wanted);
	}
	map_free(search->wanted);
	map_free(search->seen);
	map_free(search->types);
	free(search->places);
	memory_pages_free(search->pages);
}
#define _cleanup_search_ _cleanup_(search_done)

static int search_init(struct pysearch *search, size_t count)
{
	int r = memory_pages_new(&search->pages, search->memory, PYFUNCTIONS_BYTES_MAX);

	if (r == 0)
		r = map_new(&search->wanted, sizeof(uint64_t), sizeof(struct pywanted), count);
	if (r == 0)
		r = map_new(&search->seen, sizeof(uint64_t), sizeof(bool), PYFUNCTIONS_PLACES_MAX);
	if (r == 0)
		r = map_new(&search->types, sizeof(uint64_t), sizeof(struct pytype), TYPES_MAX);
	if (r < 0)
		return r;
	search->near = (struct process_memory){.read = read_near, .arg = search};
	search->cpu_until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + PYFUNCTIONS_CPU_NS;
	search->until_ns = clock_ns(CLOCK_MONOTONIC) + PYFUNCTIONS_NS;
	return 0;
}

/* Begins with what each interpreter has. */
static int search_begin(struct pysearch *search)
{
	const struct cpython *walk = &search->layout->walk;
	uint64_t interpreter;
	int r = memory_pages_read(search->pages, walk->runtime + walk->interpreters_head,
				  &interpreter, sizeof(interpreter));

	for (int i = 0; r == 0 && interpreter && i < INTERPRETERS_MAX; i++) {
		pywalk_begin(search, interpreter);
		if (!pysearch_word(search, interpreter + walk->interpreter_next, &interpreter))
			break;
	}
	return r;
}

static void look_at_all(struct pysearch *search)
{
	while (search->places_count && pysearch_goes_on(search)) {
		const struct pyplace place = search->places[--search->places_count];

		pywalk_look(search, &place);
	}
}

static void take_names(struct pysearch *search)
{
	const uint64_t *address;
	const struct pywanted *wanted;

	map_each (search->wanted, pos, address, wanted) {
		if (clock_ns(CLOCK_MONOTONIC) > search->until_ns)
			search->cut = true; /* names by functions count no more */
		pycandidate_take(search, wanted);
	}
}

/* Searches; the time that it takes is the caller's. */
static int search_all(struct pysearch *search, struct pyfunction_sought *sought, size_t count)
{
	int r = search_init(search, count);

	for (size_t i = 0; r == 0 && i < count; i++)
		r = pycandidate_want(search, &sought[i]);
	if (r == 0)
		r = search_begin(search);
	if (r < 0)
		return r;
	look_at_all(search);
	if (!search->error)
		take_names(search);
	return search->error;
}

int pyfunctions_search(struct pyfunction_sought *sought, size_t count,
		       const struct python_layout *layout, const struct process_memory *memory,
		       struct pyfunctions_result *result)
{
	_cleanup_search_ struct pysearch search = {.layout = layout, .memory = memory};
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	*result = (struct pyfunctions_result){0};
	for (size_t i = 0; i < count; i++) {
		sought[i].found = NULL;
		sought[i].also = NULL;
	}
	if (!count)
		return 0;
	int r = search_all(&search, sought, count);
	result->objects = search.objects;
	result->bytes = search.pages ? memory_pages_bytes(search.pages) : 0;
	result->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	result->cut = search.cut;
	return r;
}
