/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to event_files.c (targets and their files) and event_work.c (the jobs). */
#pragma once

#include "event/event_files.h"
#include "file/symbol_file.h"

enum event_file_state {
	EVENT_FILE_NEW,
	EVENT_FILE_BUSY,  /* a job works on it */
	EVENT_FILE_READY, /* its points are attached */
	EVENT_FILE_SAME,  /* another file's points are its own: it lies over that one (overlayfs) */
	EVENT_FILE_FAILED,
};

/* A file of the path of an event; one for each event and file. */
struct event_file {
	struct event_file *next;
	struct event_files *files;
	enum probe probe;
	uint64_t epoch; /* of the event's programs */
	struct open_request_id content;
	struct symbol_file *file; /* owns a reference */
	struct symbol_place place;
	enum event_file_state state;
	struct uprobes *uprobes;
	struct event_file *same; /* of EVENT_FILE_SAME */
	bool is_overlay;
	int error;
	struct why why;
	uint64_t failed_ns; /* when the last job ended */
	uint64_t seen_ns;   /* when a target was seen to map it, loop_now_ns() */
};

struct event_slot {
	bool running;
	bool dirty; /* not all targets were looked at since it began or changed */
	uint64_t epoch;
	struct event_text event;
	bool with_return;
	struct call_programs programs; /* owned */
	void (*opens)(void *arg);      /* struct event_wish; NULL: it was called */
	void *opens_arg;
	size_t targets, with_file; /* at the last sweep */
	struct why why;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* Submits a job that attaches a file's points, or detaches them. Returns 0 or a negative errno:
 * nothing was submitted. */
int event_work_attach(struct event_file *file, struct worker *worker,
		      const struct event_slot *slot);
int event_work_detach(struct event_file *file, struct worker *worker);

/* What came of it. `same`: another file with these points; NULL: none. */
struct event_attached {
	struct uprobes *uprobes; /* taken over; NULL: none */
	bool is_overlay, is_same;
	int error;
	const char *why;
};
void event_file_attached(struct event_file *file, const struct event_attached *result);
void event_file_detached(struct event_file *file);

/* Returns another file of the event that has points and the same content and inode number. */
struct event_file *event_file_twin(const struct event_file *file);
