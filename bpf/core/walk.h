/* SPDX-License-Identifier: GPL-2.0-only */
/* A walk and its buffer: what the unwinder has come to, and the frames so far. */
#pragma once

#include "bpf/core/arch.h"
#include "bpf/shared/hash.h"
#include "bpf/shared/sample.h"
#include "bpf/shared/packed.h"

#define WINDOW_WORDS 128 /* of the user's stack, read at once; a power of two */
#define MEMO_SLOTS   64	 /* of each nesting level; a power of two */
#define MEMO_WORDS   128
#define MEMO_VOID    0xffffffffU
#define MEMO_AT_MAX  0xffffU

/* What is known of the frame that the walk has come to. */
#define WALK_EXACT  1U /* pc is an instruction's own: an interrupted frame, not a caller */
#define WALK_REGS   2U /* gpr are that frame's registers */
#define WALK_FP	    4U /* fp is */
#define WALK_BX	    8U
#define WALK_LOW_SP 16U /* sp may be higher (ARCH_FRAME_TELLS_SP) */

/* The frame above the one that the walk has come to. */
struct caller {
	uint64_t pc, sp, fp, bx;
	uint64_t context;
	uint32_t known;	   /* WALK_ flags */
	bool may_be_below; /* on another stack, maybe: a signal's */
	bool unsure;	   /* to be confirmed by the frame after it */
};

/* What the last walk of a thread read (bpf/unwind/memo.h). */
struct memo {
	uint64_t target_id, window; /* that the walk was for */
	uint64_t pc, sp, fp, bx;
	uint64_t words_hash; /* of the words that it read */
	uint64_t user_hash;  /* what its frames came to */
	uint32_t tid, spans;
	uint32_t count; /* words; MEMO_VOID: it says nothing */
	uint32_t truncated;
	uint32_t frames_max;	 /* struct walk's */
	uint32_t exact;		 /* WALK_EXACT, of its first frame */
	uint32_t used;		 /* WALK_FP, WALK_BX: registers that the walk looked at */
	uint16_t at[MEMO_WORDS]; /* each word's distance from sp, in words */

	/* Whatever else the memo says (bpf/python/python.h): */
	uint64_t python_target, python_state;
	uint32_t python_tid;
	uint32_t pad;
};

#define KERNEL_MEMOS	   64 /* a power of two */
#define KERNEL_MEMO_FRAMES 32 /* a power of two */
#define KERNEL_PLACES	   64 /* a power of two */

/* What a walk of a kernel stack came to (bpf/unwind/kernel_memo.h). */
struct kernel_memo {
	uint64_t window; /* that the walk was for, plus one; 0: it says nothing */
	uint64_t tried;	 /* the window in which a memo was made last, plus one */
	uint64_t hash;	 /* of the frames */
	uint64_t found;	 /* 1 << frame: it has a place */
	uint32_t frames, places_count;
	uint32_t words_read; /* up to the last place */
	uint32_t others;     /* walks that came to other frames */
	uint64_t words[KERNEL_MEMO_FRAMES];
	uint16_t places[KERNEL_PLACES]; /* where an address lies, in words from the beginning */
	uint8_t which[KERNEL_PLACES];	/* … and whose it is */
};

#define PYTHON_AT	   NATIVE_WORDS_MAX /* Python's words in walk->words, until it is sent */
#define PYTHON_STATE_WORDS 64		    /* of a thread's state, up to what is wanted */
#define PYTHON_CODE_WORDS  32		    /* of a code object; powers of two */
#define PYTHON_BLOCK_WORDS 128		    /* of frames that lie side by side */
#define PYTHON_SUMS	   64		    /* a power of two */

/* The sum of a code object, in its upper half; in its lower one the walk's number. */
struct python_sum {
	uint64_t code, sum;
};

/* A walk of Python's frames (bpf/python/python.h). */
struct python_walk {
	struct python_sum sums[PYTHON_SUMS]; /* by address */
	uint64_t words[PYTHON_STATE_WORDS];  /* of what was read last */
	uint64_t block[PYTHON_BLOCK_WORDS];
	uint64_t block_at; /* the frames whose words are in block: those that begin in
			      [block_at, + block_bytes) */
	uint64_t block_bytes;
	uint64_t context;		    /* target and window of this buffer's last walks … */
	uint32_t since;			    /* … and the first of them */
	uint32_t number;		    /* of the walk, in this buffer */
	uint64_t sum;			    /* of the code object that was looked at last */
	uint64_t code;			    /* … its address; 0: none */
	uint64_t self;			    /* pthread_self() of the thread */
	uint64_t interpreter, state, frame; /* what is looked at next; 0: none */
	uint64_t above;			    /* the frame that `frame` called; 0: none */
	uint64_t behind;		    /* a frame that was passed */
	uint64_t hash;
	uint32_t words_count, last;		 /* … where the last frame is */
	uint32_t flags;				 /* bpf/python/python.h */
	uint32_t interpreters, threads, frames;	 /* looked at so far */
	uint32_t state_words, code_words;	 /* to be read of each */
	uint64_t file;				 /* the last file's name that was read … */
	uint64_t file_words[CPYTHON_FILE_WORDS]; /* … and its begin */
	uint32_t at_number; /* of what spans (walk.spans_number) is at; 0: none */
	uint32_t at_from;   /* … and python_at */
	struct cpython at;
};

/* What holds a pc of a Java VM's code cache, or an interpreted method (bpf/hotspot/hotspot_blob.h).
 */
enum hotspot_kind {
	HOTSPOT_NONE,
	HOTSPOT_NMETHOD,
	HOTSPOT_STUB,
	HOTSPOT_INTERPRETER,
	HOTSPOT_METHOD
};

struct hotspot_blob {
	uint64_t from, to;    /* the CodeBlob; HOTSPOT_METHOD: the Method's address, and one more */
	uint64_t code;	      /* where its code begins; HOTSPOT_METHOD: its bytecodes */
	uint64_t deopt[2];    /* HOTSPOT_NMETHOD: the deopt handlers; 0: it has none */
	uint32_t kind;	      /* enum hotspot_kind */
	uint32_t id;	      /* bpf/shared/hotspot.h; 0: a stub */
	uint32_t frame_words; /* HOTSPOT_METHOD: bytes of its bytecodes */
	int32_t complete;     /* offset in the code from which on the frame is there */
	uint32_t orig_pc;     /* where a deoptimized frame has its pc, in bytes from sp */
	uint32_t pad;
};

/* An instruction, among the bytes that are looked at (bpf/unwind/x86_code.h). */
struct x86_instruction {
	uint32_t at, next;
	uint32_t opcode, rex, modrm;
};

/* What the code ahead gives back of the stack (bpf/hotspot/hotspot_ahead.h). */
struct hotspot_look {
	struct x86_instruction is;
	uint32_t branch;       /* where the first one goes that wasn't taken, or 0 … */
	int32_t branch_given;  /* … and what `given` is there */
	int32_t given;	       /* bytes, since pc … */
	int32_t most;	       /* … and at most, on the way */
	int32_t fp_given;      /* `given` behind the pop of fp; 0: there was none */
	uint32_t sp_copy;      /* the register that sp was put into first; 0: none was … */
	int32_t sp_given;      /* … and when */
	uint32_t pushed;       /* the register that was pushed last */
	uint32_t end;	       /* enum hotspot_end */
	uint64_t pc_at, fp_at; /* where the caller's pc and fp lie; 0: fp is as it was */
};

#define HOTSPOT_KNOWN 8 /* a power of two */

/* What a walk through Java's frames knows (bpf/hotspot/hotspot_walk.h). */
struct hotspot_walk {
	struct hotspot at;
	struct hotspot_blob blob;		  /* of the frame that the walk has come to */
	struct hotspot_blob found;		  /* that was looked up last … */
	struct hotspot_blob known[HOTSPOT_KNOWN]; /* … and before, by what was asked for */
	uint64_t asked;				  /* a pc of which the block is looked for … */
	uint64_t segment;			  /* … and the segment that this has come to */
	uint64_t bcp, method, sender;		  /* of an interpreted frame */
	uint32_t details;			  /* words that wait at PYTHON_AT */
	uint32_t slot;				  /* of `known`, that is looked at */
	uint32_t left;				  /* bytes of a page */
	uint32_t reg;				  /* a number of a register */
	uint32_t begin;	 /* of an adapter, among the bytes that are looked at */
	uint32_t callee; /* enum hotspot_kind of the frame before; NONE: none of Java's */
	uint32_t pushed; /* head.words_count behind the last frame of Java's */
	uint64_t places; /* that are tried still (hotspot_code.h), 8 bits each */
	struct hotspot_look look;
};

#define PLACES_KNOWN 32 /* a power of two */

/* What was found for an address (bpf/unwind/lookup.h). Spans of one number never change. */
struct place {
	uint64_t address;
	uint32_t number;      /* struct walk.spans_number; 0: it says nothing */
	uint32_t index, what; /* of its span */
	uint32_t row;
};

/* What every walk needs lies side by side, before the frames: a sample finds cold caches. */
struct walk {
	struct place places[PLACES_KNOWN]; /* by address */
	uint64_t kernel[KERNEL_FRAMES_MAX + 1];
	union {
		uint64_t saved[48]; /* registers as the kernel saved them, until the walk begins */
		uint64_t window[WINDOW_WORDS];
	};
	struct python_walk python;
	struct hotspot_walk hotspot;

	/* pc was found in a way that the frame after it has to confirm: where the walk goes back to
	 * if it doesn't. */
	uint64_t unsure_hash;		 /* (unsure: words_count before, plus one; 0: no) */
	uint32_t unsure_details;	 /* hotspot.details before */
	uint64_t task;			 /* that isn't the current one (bpf/waiting.bpf.c) */
	uint64_t probed_stack;		 /* what probed_return() found */
	uint64_t kernel_from, kernel_to; /* of the kernel's stack that is looked at */
	uint64_t raw_count;		 /* words of it that are in words, behind RAW_AT */
	struct table_rule rule;		 /* of that frame, where its row names one */
	uint8_t code[ARCH_CALL_BYTES];	 /* before a return address, or at an instruction */

	struct user_regs user; /* the interrupted registers; too many for the stack */
	uint64_t gpr[ARCH_REGS];
	uint64_t context;    /* where a signal frame has the registers of an exact frame, or 0 */
	uint64_t words_hash; /* of its words, as they are now */
	uint64_t window_at;  /* user memory [window_at, + window_bytes) is in window */
	uint64_t window_bytes;
	struct caller caller;
	struct span span; /* that holds pc */
	uint64_t pc, sp, fp, bx;
	uint32_t known;		     /* WALK_ flags */
	uint32_t unsure;	     /* see unsure_hash */
	uint32_t spans, spans_count; /* of the process (struct target_value) */
	uint32_t python_at;	     /* its struct cpython, in the arena; 0: none */
	uint32_t hotspot_at;	     /* its struct hotspot, the same */
	uint32_t low, high;	     /* of the search that goes on (lookup.h) */
	uint32_t frames_max;	     /* of the user's */
	uint32_t memo;		     /* number of the thread's */
	uint32_t used;		     /* WALK_ flags of registers that were looked at */
	uint32_t tid;
	uint32_t level;	       /* its own number, which global functions take */
	uint32_t busy;	       /* who have it, or try to */
	uint32_t spans_number; /* struct target_value */
	uint32_t row;	       /* of pc, where row_known */
	uint32_t row_known;
	uint32_t hurry; /* bpf/stack/wake.h */
	struct stack head;
	uint64_t words[WORDS_MAX]; /* right behind head: sent as one record */
};

/* The kernel: PCPU_MIN_UNIT_SIZE. */
_Static_assert(sizeof(struct walk) <= 32768, "it is a value of a map of each CPU's");

static __always_inline uint64_t frame_word(enum frame_kind kind, uint64_t address)
{
	return (uint64_t)kind << FRAME_KIND_SHIFT | (address & FRAME_ADDRESS);
}

/* The last frame's pc is no return address after all: the byte before it is another function's. */
static __always_inline void walk_name_exactly(struct walk *walk)
{
	uint32_t last = walk->head.words_count - 1;

	if (last < NATIVE_WORDS_MAX)
		walk->words[last] = frame_word(FRAME_NATIVE, walk->pc);
}

/* False when there is no room for more native ones. */
static __always_inline bool walk_push(struct walk *walk, enum frame_kind kind, uint64_t address)
{
	uint32_t n = walk->head.words_count;
	uint64_t word = frame_word(kind, address);

	if (n >= NATIVE_WORDS_MAX)
		return false;
	walk->words[n] = word;
	walk->head.words_count = n + 1;
	walk->head.key.hash = hash_word(walk->head.key.hash, word);
	return true;
}
