/* SPDX-License-Identifier: GPL-2.0-only */
/* What profile/tracer.c (loads, starts, stops), tracer_rings.c (what the programs send) and
 * tracer_counts.c (what they count) share. Nobody else includes it. */
#pragma once

#include "profile/tracer.h"

struct tracer {
	struct loop *loop;
	struct tracer_sizes sizes;
	struct tracer_events events;

	struct life_bpf *life;
	struct sample_bpf *sample;
	struct timer *timer;
	struct control *control;    /* shared with the programs */
	const struct guard *guards; /* of the sampling programs, by probe; mapped */
	uint64_t budget_ppm;
	struct ring_buffer *life_ring, *stack_ring;
	struct loop_watch life_watch, stack_watch;
	struct loop_timer late; /* for stacks that came too soon after a wake-up to cause another */
	int barrier_fd;		/* an array of maps: see wait_for_programs() */
	int types_fd;		/* profile/ktypes.h */
	char types_path[32];
	struct counters before; /* of objects that are unloaded */
	uint64_t next_window;	/* numbers are never used again */
	uint64_t selection;	/* struct control.selection, neither */
	struct arena_map *arena_map;
	struct arena *arena;
	struct stack_key *keys; /* room to read one window */
	struct stack_count *counts;
};

/* Reads the rings whenever something comes. Negative errno of libbpf or epoll. */
int tracer_watch_life(struct tracer *tracer, int map_fd);
int tracer_watch_stacks(struct tracer *tracer, int map_fd);

/* Nothing happens if they aren't watched. */
void tracer_unwatch_life(struct tracer *tracer);
void tracer_unwatch_stacks(struct tracer *tracer);

/* The expiry of tracer->late. */
void tracer_read_late(void *arg);
