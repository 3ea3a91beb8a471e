// SPDX-License-Identifier: GPL-2.0-or-later
/* DeepFlow's profile record as a line of JSON; each field is described in doc/deepflow.md. */
#include "output/format/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/json.h"
#include "container/container.h"
#include "output/text/escape.h"
#include "output/text/frame_text.h"
#include "output/text/stack_ids.h"
#include "proc/proc.h"

/* The text of the last stack. Records of one stack follow each other, one for each thread, so the
 * text is made once for all of them. */
struct stack_text {
	struct record_key key; /* of the record that the text was made for */
	bool is_wanted;	       /* the stack lies below the start */
	int64_t user_id, kernel_id;
	struct buf text;
	struct buf frame; /* scratch of frame_text() */
	uint32_t *path;	  /* nodes, leaf first */
	size_t path_count, path_capacity;
};

static void stack_text_done(struct stack_text *stack)
{
	buf_done(&stack->text);
	buf_done(&stack->frame);
	free(stack->path);
}

static size_t name_len(const char name[RECORD_NAME_BYTES])
{
	return strnlen(name, RECORD_NAME_BYTES);
}

static int collect_path(struct stack_text *stack, const struct tree *tree, uint32_t leaf,
			uint32_t start)
{
	stack->path_count = 0;
	stack->is_wanted = start == TREE_ROOT;
	for (uint32_t node = leaf; node != TREE_ROOT; node = tree_parent(tree, node)) {
		if (array_grow(stack->path, stack->path_capacity, stack->path_count + 1, 64) < 0)
			return -ENOMEM;
		stack->path[stack->path_count++] = node;
		stack->is_wanted |= node == start;
	}
	return 0;
}

static bool is_same_stack(const struct record_key *a, const struct record_key *b)
{
	return a->who == b->who && a->node == b->node && a->libraries == b->libraries;
}

static void add_frame(struct stack_text *stack, const struct frame *frame, bool in_library)
{
	struct buf *text = &stack->text;
	size_t len;
	const char *shown = frame_text(&stack->frame, frame, &len);

	buf_char(text, ';');
	if (frame->type == FRAME_TYPE_KERNEL)
		buf_str(text, "[k] ");
	else if (in_library)
		buf_str(text, "[l] ");
	folded_name(text, shown, len);
	if (frame->type != FRAME_TYPE_KERNEL)
		buf_str(text, frame_type_suffix(frame->type));
}

/* Makes "[p] name;user;…;kernel;…". The kernel part begins at the first kernel frame. */
static int make_stack(struct stack_text *stack, const struct tree *tree,
		      const struct record *record, uint32_t start)
{
	struct buf *text = &stack->text;
	int r = collect_path(stack, tree, record->key.node, start);

	if (r < 0)
		return r;
	stack->key = record->key;
	text->len = 0;
	buf_str(text, "[p] ");
	folded_name(text, record->who->process, name_len(record->who->process));
	size_t user = text->len, kernel = 0, frame = 0;
	for (size_t i = stack->path_count; i > 0; i--) {
		struct frame shown = tree_frame_of(tree, stack->path[i - 1]);

		if (frame_type_is_head(shown.type))
			continue;
		if (shown.type == FRAME_TYPE_KERNEL && !kernel)
			kernel = text->len;
		add_frame(stack, &shown, record_libraries_have(&record->libraries, frame++));
	}
	if (buf_error(text) || buf_error(&stack->frame))
		return buf_error(text) ? buf_error(text) : buf_error(&stack->frame);
	if (!kernel)
		kernel = text->len;
	stack->user_id = stack_id(text->data + user, kernel - user);
	stack->kernel_id = stack_id(text->data + kernel, text->len - kernel);
	return stack->user_id < 0 || stack->kernel_id < 0 ? -ENOMEM : 0;
}

/* Adds what is known of the process's container; without a container DeepFlow's field
 * "container_id" is "null". */
static void add_container(struct json *json, const struct record_who *who)
{
	const struct container *container = who->container;
	char text[CONTAINER_NAME_MAX];

	json_name(json, "container_id", container ? container->place.id : "null");
	if (container) {
		json_name(json, "container", container_label(container, text, sizeof(text)));
		const char *pod = container_pod_label(container, text, sizeof(text));
		if (pod)
			json_name(json, "pod", pod);
		if (container->pod_namespace[0])
			json_name(json, "namespace", container->pod_namespace);
	}
	if (who->ns_pid > 0 && who->ns_pid != who->pid)
		json_u64(json, "container_pid", (uint64_t)who->ns_pid);
}

static void add_record(struct buf *out, const struct record *record, const struct stack_text *stack,
		       unsigned deepflow)
{
	const struct record_who *who = record->who;
	struct json json = {.out = out};

	json_object(&json, NULL);
	json_numbers(&json, {"profiler_type", deepflow}, {"timestamp", record->first_ns},
		     {"pid", (uint64_t)who->pid}, {"tid", record->key.tid},
		     {"stime", proc_epoch_ms_of_ticks(who->start_ticks)},
		     {"netns_id", who->netns_id}, {"u_stack_id", (uint64_t)stack->user_id},
		     {"k_stack_id", (uint64_t)stack->kernel_id}, {"cpu", record->key.cpu},
		     {"count", record->weight});
	json_string(&json, "comm", who->thread, name_len(who->thread));
	json_string(&json, "process_name", who->process, name_len(who->process));
	add_container(&json, who);
	json_u64(&json, "stack_data_len", stack->text.len);
	json_string(&json, "stack_data", stack->text.data, stack->text.len);
	json_object_end(&json);
	buf_char(out, '\n');
}

static int compare_weights(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	return (left->weight < right->weight) - (left->weight > right->weight);
}

int jsonl_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		struct buf *out)
{
	_cleanup_(stack_text_done) struct stack_text stack = {.text = BUF_INIT(SIZE_MAX),
							      .frame = BUF_INIT(SIZE_MAX)};
	_cleanup_free_ struct record *records = NULL;
	int64_t count = meta->records ? records_list(meta->records, &records) : 0;
	int r = 0;

	if (count < 0)
		return (int)count;
	if (meta->by_value && count)
		qsort(records, (size_t)count, sizeof(*records), compare_weights);
	for (int64_t i = 0; i < count && r == 0; i++) {
		if (!stack.path_count || !is_same_stack(&records[i].key, &stack.key))
			r = make_stack(&stack, tree, &records[i], start);
		if (r == 0 && stack.is_wanted)
			add_record(out, &records[i], &stack, meta->deepflow);
		if (r == 0)
			r = buf_error(out);
	}
	return r;
}
