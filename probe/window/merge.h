/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One stack from two chains: its native frames and Python's (doc/decisions/0013-python.md). Pure:
 * it knows neither names nor processes.
 *
 * Python's chain is cut into segments: each is what one entry into the interpreter's loop has run,
 * and its last frame is the one for which the loop was entered. A segment stands leafward of its
 * loop's native frame:
 *
 *	native   [long_mul] [loop] [vectorcall, ffi …] [loop] [main …]
 *	Python              [f g h|                    [i j|
 *	merged   [long_mul] f g h [loop] [vectorcall, ffi …] i j [loop] [main …]
 *
 * Where Python's reaches its root there may be a loop more than segments: the leaf's, on its way in
 * or out. Where there are more of them, or the leaf is elsewhere, the thread has put away the chain
 * of what called it (greenlet, PyThreadState_Swap): both are laid side by side at the leaf, and
 * loops beyond have no segment. So are chains that don't reach their root; Python frames beyond the
 * last loop are without native ones.
 *
 * Java's frames are native ones (doc/decisions/0014-java.md): the VM's own code is for native_stack
 * only where a Java method is leafward of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"

/* What a native frame is. */
enum merge_native {
	NATIVE_LOOP = 1, /* the interpreter's loop */
	NATIVE_OWN = 2,	 /* code of the interpreter's file; a loop is that too */
	NATIVE_JIT = 4,	 /* code made at run time */
	NATIVE_KERNEL = 8,
	NATIVE_JAVA = 16, /* a Java method */
	NATIVE_VM = 32,	  /* code of the Java VM, or made by it for itself */
};

/* What a Python frame is. */
enum merge_python {
	PYTHON_ENTRY = 1, /* the loop was entered for it */
	PYTHON_EMPTY = 2, /* none: it stands for a loop that has no frame yet */
};

struct merging {
	const uint8_t *natives, *pythons; /* leaf first; flags as above */
	size_t natives_count, pythons_count;
	enum truncation truncated; /* of the native chain */
	enum python_end end;
};

/* Who sees a frame. */
enum merged_shown {
	SHOWN_ALWAYS,	   /* everybody */
	SHOWN_NATIVE,	   /* who wants the runtime's own stack (native_stack) */
	SHOWN_UNLESS_CALL, /* the others too, unless it only calls what is leafward of it; its name
			    * tells that (window/python_call.h) */
};

struct merged {
	uint32_t frame : 24; /* natives by their number, Python's behind all natives */
	uint32_t shown : 8;  /* enum merged_shown */
};

/*
 * All frames leaf first, without empty ones and without the trampolines of -X perf: these name a
 * Python frame that is there. `merged` has room for all. Returns how many these are; *truncated:
 * why the whole doesn't reach its root.
 */
size_t merge_frames(const struct merging *merging, struct merged *merged,
		    enum truncation *truncated);

/* Whether a stack is the Java VM's own, that of a thread which collects garbage or compiles: some
 * of it is the VM's, and there is neither a Java method nor a Python frame (which may have called
 * the VM). Of one that is cut off that isn't known. */
bool merge_is_vms_own(const struct merging *merging);
