// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Words. A table up to this size lies in one chunk, and needs no room for blocks that would cross a
 * chunk's end. */
#define WHOLE_MAX (CHUNK_WORDS / 4)

bool content_is_whole(size_t words)
{
	return words <= WHOLE_MAX;
}

size_t content_words(const struct table_image *image)
{
	return image->count <= WHOLE_MAX ? image->count : image_room(image);
}

/* Returns whether the content is that of the image, word for word: a checksum can be forged, and a
 * planted table would spoil the stacks of all processes that share it. */
static bool is_same(struct tables *tables, const struct content *content,
		    const struct table_image *image)
{
	size_t words = content_words(image);

	if (content->checksum != image->checksum || content->words != words ||
	    content->low != image->low || content->blocks != image->blocks ||
	    content->tracks_bx != image->tracks_bx)
		return false;
	_cleanup_free_ uint32_t *there = calloc(words, sizeof(*there));
	if (!there)
		return false;
	return image_place(image, content->start, there) == content->index &&
	       memcmp(there, arena_words(tables->arena, content->start), words * sizeof(*there)) ==
		       0;
}

static int content_new(struct tables *tables, struct content **ret, const struct table_image *image)
{
	_cleanup_free_ struct content *content = calloc(1, sizeof(*content));

	if (!content)
		return -ENOMEM;
	content->checksum = image->checksum;
	content->words = content_words(image);
	content->blocks = image->blocks;
	content->low = image->low;
	content->tracks_bx = image->tracks_bx;
	content->rows = image->stats.rows;
	memcpy(content->unsupported, image->stats.unsupported, sizeof(content->unsupported));
	int64_t start = arena_take(tables->arena, content->words, content_is_whole(content->words));
	if (start < 0)
		return (int)start;
	content->start = (uint32_t)start;
	uint32_t *to = arena_words(tables->arena, content->start);
	memset(to, 0, content->words * sizeof(*to)); /* gaps too: is_same() compares them */
	content->index = image_place(image, content->start, to);
	content->last_used = ++tables->uses;
	content->next = tables->contents;
	*ret = tables->contents = TAKE_PTR(content);
	return 0;
}

int content_get(struct tables *tables, struct content **ret, const struct table_image *image)
{
	for (struct content *content = tables->contents; content; content = content->next) {
		if (is_same(tables, content, image)) {
			tables->stats.shared++;
			*ret = content;
			return 0;
		}
	}
	int r = content_new(tables, ret, image);
	tables->stats.built += r == 0;
	return r;
}

/* Removes a content that no table holds, and gives its words back. */
static void content_drop(struct tables *tables, struct content *content)
{
	struct content **link = &tables->contents;

	while (*link != content)
		link = &(*link)->next;
	*link = content->next;
	arena_give(tables->arena, content->start, content->words);
	free(content);
}

void table_take_content(struct table *table, struct content *content)
{
	table->content = content;
	table->state = TABLE_THERE;
	content->holders++;
	content->wanted += table->refs > 0;
}

void table_leave_content(struct table *table)
{
	struct content *content = TAKE_PTR(table->content);

	if (!content)
		return;
	table_hide(table);
	content->wanted -= table->refs > 0;
	if (--content->holders == 0)
		content_drop(table->tables, content);
}

static struct content *find_victim(const struct tables *tables)
{
	struct content *found = NULL;

	for (struct content *content = tables->contents; content; content = content->next) {
		if (!found || (!content->wanted && found->wanted) ||
		    (!content->wanted == !found->wanted && content->last_used < found->last_used))
			found = content;
	}
	return found;
}

static void evict_holders(struct tables *tables, struct content *content)
{
	size_t words = content->words, left = content->holders;

	for (struct table *table = tables->all; left; table = table->next) {
		if (table->content != content)
			continue;
		left--;
		table->state = table->refs ? TABLE_HOMELESS : TABLE_UNASKED;
		table->words = words;
		table->failures = table->waits = 2; /* newcomers, with 1, come first */
		table_leave_content(table);
	}
	tables->stats.evicted++;
}

size_t contents_evict(struct tables *tables, size_t words, bool *missed)
{
	size_t sum = 0;

	while (sum < words) {
		struct content *content = find_victim(tables);

		if (!content)
			break;
		sum += content->words;
		*missed |= content->wanted > 0;
		evict_holders(tables, content);
	}
	return sum;
}

void contents_forget(struct tables *tables)
{
	for (struct table *table = tables->all; table; table = table->next) {
		if (table->content)
			table->state = TABLE_UNASKED;
		table->content = NULL;
		table->is_known = false; /* the kernel's side is gone */
	}
	while (tables->contents) {
		struct content *content = tables->contents;

		tables->contents = content->next;
		free(content);
	}
}
