/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects whose events have a begin and an end (bpf/stack/probe_halves.h): their events that go on
 * are counted as waiting right before each window's end, so that the frames of their stacks are
 * kept. One of the object's two programs does that: one that goes through the map by itself (since
 * Linux 5.13), or an iterator. Objects without these programs are left as they are. Loop thread.
 */
#pragma once

#include <stdbool.h>

struct bpf_object;
struct tracer;
struct worker;

/* Chooses the program that this kernel has, before the object is loaded. */
void halves_choose(struct bpf_object *object);

/*
 * Has events of all that is loaded counted as waiting in the current window, on the worker: that
 * takes 0.15 us an event. Calls done(arg) then. Returns false if there are no such objects; done()
 * is not called.
 */
bool tracer_renew_halves(const struct tracer *tracer, struct worker *worker,
			 void (*done)(void *arg), void *arg);
