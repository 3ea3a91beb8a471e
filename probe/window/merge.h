/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges a stack's two chains, native frames and Python's, into one (doc/decisions/0013-python.md).
 * Pure functions: they know neither names nor processes.
 *
 * Python's chain is cut into segments: the frames that one entry into the interpreter's loop has
 * run, the last of which is the frame that the loop was entered for. A segment is put leafward of
 * its loop's native frame:
 *
 *	native   [long_mul] [loop] [vectorcall, ffi …] [loop] [main …]
 *	Python              [f g h|                    [i j|
 *	merged   [long_mul] f g h [loop] [vectorcall, ffi …] i j [loop] [main …]
 *
 * Complete Python chain: segments == loops, or loops == segments + 1 when the leaf loop is being
 * entered or left. With more segments than loops, or another leaf, the thread has put away the
 * chain of its caller (greenlet, PyThreadState_Swap): both chains are aligned at the leaf, and
 * surplus loops get no segment. The same holds for chains that don't reach their root; Python
 * frames beyond the last loop have no native ones.
 *
 * Java's frames are native ones (doc/decisions/0014-java.md). The VM's own code is hidden without
 * native_stack only if a Java method is leafward of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"

/* Kinds of native frames, as flags. */
enum merge_native {
	NATIVE_LOOP = 1, /* the interpreter's loop */
	NATIVE_OWN = 2,	 /* code of the interpreter's file, including loops */
	NATIVE_JIT = 4,	 /* JIT code */
	NATIVE_KERNEL = 8,
	NATIVE_JAVA = 16, /* a Java method */
	NATIVE_VM = 32,	  /* code of the Java VM, or made by it for itself */
};

/* Kinds of Python frames, as flags. */
enum merge_python {
	PYTHON_ENTRY = 1, /* the loop was entered for it */
	PYTHON_EMPTY = 2, /* not a frame: stands for a loop that has no frame yet */
};

struct merging {
	const uint8_t *natives, *pythons; /* leaf first; flags as above */
	size_t natives_count, pythons_count;
	enum truncation truncated; /* of the native chain */
	enum python_end end;
};

/* When a frame is shown. */
enum merged_shown {
	SHOWN_ALWAYS, /* always */
	SHOWN_NATIVE, /* only with native_stack, which shows the runtime's own stack */
	/*
	 * without native_stack only if it does more than call the frame leafward of it, which its
	 * name says (window/python_call.h)
	 */
	SHOWN_UNLESS_CALL,
};

struct merged {
	uint32_t frame : 24; /* number of a native frame; Python's follow all natives */
	uint32_t shown : 8;  /* enum merged_shown */
};

/*
 * Merges the chains, leaf first, without empty frames and without the trampolines of -X perf, which
 * only name a Python frame that is there. `merged` has room for all frames. Returns their number;
 * *truncated: why the merged stack doesn't reach its root.
 */
size_t merge_frames(const struct merging *merging, struct merged *merged,
		    enum truncation *truncated);

/*
 * Returns whether a stack is the Java VM's own, of a thread that collects garbage or compiles: it
 * has code of the VM, and neither a Java method nor a Python frame (which may have called the VM).
 * False for a truncated stack, of which that isn't known.
 */
bool merge_is_vms_own(const struct merging *merging);
