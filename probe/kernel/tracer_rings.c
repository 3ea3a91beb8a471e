// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/shared/code_copy.h"
#include "bpf/shared/known_files.h"
#include "kernel/tracer_part.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>

/*
 * Most bytes of stacks that one reading takes, some 2,000 of 20 frames: the loop has other things
 * to do.
 */
#define READING_BYTES (512u << 10)

/* Period of reading stacks while they come and none is urgent. */
#define LOOK_NS (250 * NS_PER_MS)

unsigned tracer_ring_read(const struct tracer_ring *ring)
{
	int n = ring->ring ? ring_buffer__consume(ring->ring) : 0;

	return n < 0 ? 0 : (unsigned)n;
}

/* Checks the record's size: the names' sizes in it are the kernel side's. */
static void on_group(struct tracer *tracer, const struct group_event *event, size_t bytes)
{
	if (tracer->events.group && bytes >= GROUP_EVENT_LEAST &&
	    bytes >= GROUP_EVENT_LEAST + event->v2_bytes + event->v1_bytes)
		tracer->events.group(tracer->events.arg, event);
}

/* Reads mappings first: what a program did before it ended, or another one began. */
static int on_life(void *arg, void *data, size_t bytes)
{
	struct tracer *tracer = arg;

	const struct life_event *event = data;

	tracer_ring_read(&tracer->mapped_ring);
	if (bytes >= sizeof(event->kind) && event->kind == LIFE_GROUP)
		on_group(tracer, data, bytes);
	else if (bytes >= sizeof(*event) && event->kind != LIFE_MOVED)
		tracer->events.life(tracer->events.arg, event);
	else if (bytes >= sizeof(*event) && tracer->events.moved)
		tracer->events.moved(tracer->events.arg, event);
	return 0;
}

_Static_assert(offsetof(struct code_copy, kind) == offsetof(struct stack, key.probe),
	       "it tells what a record is");

_Static_assert(offsetof(struct told_maps, kind) == offsetof(struct stack, key.probe), "likewise");

static void on_code(struct tracer *tracer, const struct code_copy *copy, size_t bytes)
{
	if (tracer->events.code && bytes >= CODE_COPY_LEAST)
		tracer->events.code(tracer->events.arg, copy, bytes);
}

static void on_told(struct tracer *tracer, const struct told_maps *told, size_t bytes)
{
	if (tracer->events.told)
		tracer->events.told(tracer->events.arg, told, bytes);
}

static void take_away(size_t *from, size_t bytes)
{
	*from -= bytes < *from ? bytes : *from;
}

/* Returns an error when the reading has taken enough: the record is read, and libbpf stops. */
static int on_stack(void *arg, void *data, size_t bytes)
{
	struct tracer *tracer = arg;
	const struct stack *stack = data;

	tracer->found++;
	take_away(&tracer->room_bytes, bytes);
	take_away(&tracer->ended_bytes, bytes);
	if (bytes >= sizeof(*stack) && stack->key.probe == CODE_COPY_KIND)
		on_code(tracer, data, bytes);
	else if (bytes >= TOLD_MAPS_LEAST && stack->key.probe == TOLD_MAPS_KIND)
		on_told(tracer, data, bytes);
	else if (bytes >= sizeof(*stack) &&
		 bytes >= sizeof(*stack) + stack->words_count * sizeof(uint64_t))
		tracer->events.stack(tracer->events.arg, stack, (const uint64_t *)(stack + 1));
	return tracer->room_bytes ? 0 : -EAGAIN;
}

void tracer_read_life(struct tracer *tracer)
{
	tracer_ring_read(&tracer->life_ring);
}

/* Returns whether the last reading has taken all that it may: there may be more. */
static bool has_more(const struct tracer *tracer)
{
	return !tracer->room_bytes;
}

/* Reads events and a part of the stacks; returns their number. */
static unsigned read_stacks(struct tracer *tracer)
{
	tracer_read_life(tracer);
	tracer->found = 0;
	tracer->room_bytes = READING_BYTES;
	tracer_ring_read(&tracer->stack_ring);
	tracer_ring_read(&tracer->mapped_ring);
	return tracer->found;
}

/* Sets the next reading. Until then only urgent events wake the loop. */
static void look_again(struct tracer *tracer, uint64_t after_ns)
{
	uint64_t at_ns = loop_now_ns() + after_ns;

	loop_timer_set(tracer->loop, &tracer->late, has_more(tracer) ? loop_now_ns() : at_ns);
	if (tracer->control)
		__atomic_store_n(&tracer->control->look_ns, at_ns, __ATOMIC_RELAXED);
}

/* Returns the delay of the next reading: a window's room mustn't be used up between two. */
static uint64_t look_after_ns(const struct tracer *tracer, unsigned found)
{
	return found > tracer->sizes.stacks / 16 ? TRACER_LATE_NS : LOOK_NS;
}

/*
 * Reads stacks by the timer. Events that come while it reads are read too, so only urgent ones need
 * to wake the loop. If nothing came, the timer ends and the next stack wakes the loop.
 */
void tracer_read_late(void *arg)
{
	struct tracer *tracer = arg;

	tracer->looks.in_turn++;
	look_again(tracer, LOOK_NS);
	unsigned found = read_stacks(tracer);
	if (!found) {
		loop_timer_cancel(tracer->loop, &tracer->late);
		if (tracer->control)
			__atomic_store_n(&tracer->control->look_ns, 0, __ATOMIC_SEQ_CST);
		/* those that came before look_ns was cleared woke nobody */
		found = read_stacks(tracer);
	}
	if (found)
		look_again(tracer, look_after_ns(tracer, found));
}

/* Events after a wake-up that was read now wait for another reading. */
bool tracer_read_stacks(struct tracer *tracer)
{
	if (read_stacks(tracer))
		look_again(tracer, TRACER_LATE_NS);
	if (!has_more(tracer))
		tracer->ended_bytes = 0;
	return tracer->ended_bytes > 0;
}

void tracer_window_ended(struct tracer *tracer)
{
	tracer->ended_bytes = tracer->sizes.stack_ring;
}

static void life_ready(void *arg)
{
	tracer_read_life(arg);
}

/*
 * Urgent events too soon after this wake-up to cause another are read by the timer. While a reading
 * has left something the descriptor stays ready, and the timer reads on.
 */
static void stacks_ready(void *arg)
{
	struct tracer *tracer = arg;

	if (tracer->late.active && has_more(tracer))
		return;
	tracer->looks.woken++;
	read_stacks(tracer);
	look_again(tracer, TRACER_LATE_NS);
}

void tracer_looks(const struct tracer *tracer, struct tracer_looks *looks)
{
	*looks = tracer->looks;
}

int tracer_ring_watch(struct tracer *tracer, struct tracer_ring *ring, int map_fd,
		      int (*each)(void *tracer, void *record, size_t bytes),
		      void (*ready)(void *tracer))
{
	ring->ring = ring_buffer__new(map_fd, each, tracer, NULL);
	if (!ring->ring)
		return -errno;
	ring->watch =
		(struct loop_watch){ring_buffer__epoll_fd(ring->ring), ready, tracer, "rings"};
	int r = loop_watch(tracer->loop, &ring->watch);
	if (r < 0) {
		ring_buffer__free(ring->ring);
		ring->ring = NULL;
	}
	return r;
}

void tracer_ring_unwatch(struct tracer *tracer, struct tracer_ring *ring)
{
	if (!ring->ring)
		return;
	loop_unwatch(tracer->loop, &ring->watch);
	ring_buffer__free(ring->ring);
	ring->ring = NULL;
}

int tracer_watch_life(struct tracer *tracer, int map_fd)
{
	return tracer_ring_watch(tracer, &tracer->life_ring, map_fd, on_life, life_ready);
}

int tracer_watch_stacks(struct tracer *tracer, int map_fd)
{
	return tracer_ring_watch(tracer, &tracer->stack_ring, map_fd, on_stack, stacks_ready);
}

void tracer_unwatch_life(struct tracer *tracer)
{
	tracer_ring_unwatch(tracer, &tracer->life_ring);
}

void tracer_unwatch_stacks(struct tracer *tracer)
{
	tracer_ring_unwatch(tracer, &tracer->stack_ring);
	loop_timer_cancel(tracer->loop, &tracer->late);
}
