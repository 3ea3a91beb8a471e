/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffer of a walk: the state of the unwinder, and the frames so far. */
#pragma once

#include "bpf/core/arch.h"
#include "bpf/shared/word_hash.h"
#include "bpf/shared/sample.h"
#include "bpf/shared/packed.h"

/* Words of the user's stack that are read at once; a power of two. A read costs 75 ns, and each KiB
 * of it some 8 ns (cold: 60) more. */
#define WINDOW_WORDS 256
#define MEMO_SLOTS   64 /* memos of each nesting level; a power of two */
#define MEMO_WORDS   128
#define MEMO_VOID    0xffffffffU
#define MEMO_AT_MAX  0xffffU

/* What is known of the current frame: bits of walk.known. */
#define WALK_EXACT  1U	/* pc is the instruction itself, of an interrupted frame */
#define WALK_REGS   2U	/* gpr are the registers of this frame */
#define WALK_FP	    4U	/* fp is known */
#define WALK_BX	    8U	/* bx is known */
#define WALK_LOW_SP 16U /* the true sp may be higher (ARCH_FRAME_TELLS_SP) */

/* The caller of the current frame. */
struct caller {
	uint64_t pc, sp, fp, bx;
	uint64_t context;
	uint32_t known;	   /* WALK_ flags */
	bool may_be_below; /* the caller may be on another stack: a signal's */
	bool unsure;	   /* the next frame has to confirm this one */
};

/* Memo of the last walk of a thread (bpf/unwind/memo.h). */
struct memo {
	uint64_t target_id, window; /* target and window of the walk */
	uint64_t pc, sp, fp, bx;
	uint64_t words_hash; /* hash of the words that the walk read */
	uint64_t user_hash;  /* hash of the frames */
	uint32_t tid, spans;
	uint32_t count; /* words that the walk read; MEMO_VOID: the memo is void */
	uint32_t truncated;
	uint32_t frames_max; /* struct walk.frames_max */
	uint32_t exact;	     /* WALK_EXACT of the first frame */
	uint32_t used;	     /* WALK_FP, WALK_BX: registers that the walk looked at */

	/* Valid also in a void memo (bpf/python/python_state.h): */
	uint32_t python_tid;
	uint64_t python_target, python_state;

	uint16_t at[MEMO_WORDS]; /* distance of each word from sp, in words */
};

#define KERNEL_MEMOS	   64 /* a power of two */
#define KERNEL_MEMO_FRAMES 32 /* a power of two */
#define KERNEL_PLACES	   64 /* a power of two */

/* Memo of a walk of a kernel stack (bpf/unwind/kernel_memo.h). */
struct kernel_memo {
	uint64_t window; /* window of the walk, plus one; 0: the memo is void */
	uint64_t tried;	 /* window in which a memo was made last, plus one */
	uint64_t hash;	 /* hash of the frames */
	uint64_t found;	 /* mask of 1 << frame: frames that have a place */
	uint32_t frames, places_count;
	uint32_t words_read; /* words up to the last place */
	uint32_t others;     /* walks that came to other frames */
	uint64_t words[KERNEL_MEMO_FRAMES];
	uint16_t places[KERNEL_PLACES]; /* offsets of the addresses in the stack, in words */
	uint8_t which[KERNEL_PLACES];	/* number of the frame that each place belongs to */
};

#define PYTHON_AT	   NATIVE_WORDS_MAX /* index in walk->words: Python's frames wait there */
#define PYTHON_STATE_WORDS 64		    /* words read of a thread's state at most */
#define PYTHON_CODE_WORDS  32		    /* words read of a code object at most; powers of two */
#define PYTHON_BLOCK_WORDS 256		    /* words read at once of frames that lie side by side */
#ifdef __TARGET_ARCH_arm64 /* where Python isn't walked, and more registers need the room */
#define PYTHON_SUMS 32
#else
#define PYTHON_SUMS 64 /* a power of two */
#endif

/* Sum of a code object: the upper half of `sum`; the lower half is the number of the walk. */
struct python_sum {
	uint64_t code, sum;
};

/* State of a walk of Python frames (bpf/python/python.h). */
struct python_walk {
	struct python_sum sums[PYTHON_SUMS]; /* known sums, by a hash of the address */
	uint32_t proofs[PYTHON_SUMS];	     /* bpf/python/python_code.h; 0: none */
	uint64_t words[PYTHON_STATE_WORDS];  /* words that were read last */
	/* The frames whose words are in walk.block: frames that begin in [block_at, block_at +
	 * block_bytes). */
	uint64_t block_at;
	uint64_t block_bytes;
	uint64_t context; /* hash of process and window of this buffer's last walks */
	uint32_t since;	  /* number of the first of these walks */
	uint32_t number;  /* number of the current walk in this buffer */
	uint64_t sum;	  /* sum of the last code object */
	uint64_t code;	  /* address of that code object; 0: none */
	uint64_t self;	  /* pthread_self() of the thread */
	uint64_t interpreter, state, frame; /* what the next step looks at; 0: none */
	uint64_t above;			    /* the frame that `frame` called; 0: none */
	uint64_t behind;		    /* an earlier frame: meeting it again means a circle */
	/* PYTHON_UNSURE: the newest loop's caller; hash and words before that loop's frames. */
	uint64_t caller, sure_hash;
	uint32_t sure_words;
	uint64_t hash;
	uint32_t words_count, last;		 /* index of the last frame's words */
	uint32_t flags;				 /* bpf/python/python_code.h */
	uint32_t interpreters, threads, frames;	 /* numbers looked at so far */
	uint32_t state_words, code_words;	 /* words to be read of each */
	uint64_t file;				 /* address of the last file name that was read */
	uint64_t file_words[CPYTHON_FILE_WORDS]; /* first words of that name */
	uint32_t at_number; /* walk.spans_number that `at` was read for; 0: none */
	uint32_t at_from;   /* walk.python_at that `at` was read for */
	struct cpython at;
};

/* Kind of what holds a pc in a Java VM's code cache, or HOTSPOT_METHOD: an interpreted method
 * (bpf/hotspot/hotspot_blob.h). */
enum hotspot_kind {
	HOTSPOT_NONE,
	HOTSPOT_NMETHOD,
	HOTSPOT_STUB,
	HOTSPOT_INTERPRETER,
	HOTSPOT_METHOD
};

struct hotspot_blob {
	uint64_t from, to;    /* the CodeBlob; HOTSPOT_METHOD: address of the Method, plus one */
	uint64_t code;	      /* begin of the code; HOTSPOT_METHOD: begin of the bytecodes */
	uint64_t deopt[2];    /* HOTSPOT_NMETHOD: addresses of the deopt handlers; 0: none */
	uint32_t kind;	      /* enum hotspot_kind */
	uint32_t id;	      /* id of bpf/shared/hotspot_tables.h; 0: a stub */
	uint32_t frame_words; /* size of a frame; HOTSPOT_METHOD: bytes of the bytecodes */
	int32_t complete;     /* offset in the code from which on the frame is complete */
	uint32_t orig_pc;     /* distance from sp to a deoptimized frame's original pc, in bytes */
	uint32_t pad;
};

/* A decoded instruction; `at` and `next` are offsets in the bytes read (bpf/unwind/x86_code.h). */
struct x86_instruction {
	uint32_t at, next;
	uint32_t opcode, rex, modrm;
};

/* State of following the code ahead of pc (bpf/hotspot/hotspot_ahead.h). */
struct hotspot_look {
	struct x86_instruction is;
	uint32_t branch;       /* target of the nearest branch that was not followed, or 0 */
	int32_t branch_given;  /* `given` at that branch */
	int32_t given;	       /* bytes of the stack given back since pc; negative: bytes taken */
	int32_t most;	       /* largest `given` on the way */
	int32_t fp_given;      /* `given` behind the pop of fp; 0: fp was not popped */
	uint32_t sp_copy;      /* the first register that sp was copied to; 0: none */
	int32_t sp_given;      /* `given` at that copy */
	uint32_t pushed;       /* the register that was pushed last */
	uint32_t end;	       /* enum hotspot_end */
	uint64_t pc_at, fp_at; /* where the caller's pc and fp lie; fp_at 0: fp keeps its value */
};

#define HOTSPOT_KNOWN 8 /* a power of two */

/* State of a walk through Java frames (bpf/hotspot/hotspot_walk.h). */
struct hotspot_walk {
	struct hotspot at;
	struct hotspot_blob blob;		  /* blob of the current frame */
	struct hotspot_blob found;		  /* blob that was looked up last */
	struct hotspot_blob known[HOTSPOT_KNOWN]; /* earlier blobs, by a hash of the address */
	uint64_t asked;				  /* pc whose block is being searched */
	uint64_t segment;			  /* segment that this search has reached */
	uint64_t bcp, method, sender;		  /* words of an interpreted frame */
	uint32_t details;			  /* details that wait at PYTHON_AT */
	uint32_t slot;				  /* index in `known` (masked) */
	uint32_t left;				  /* bytes up to the end of a page */
	uint32_t reg;				  /* number of a register */
	uint32_t callee; /* enum hotspot_kind of the frame before; NONE: no Java frame */
	uint32_t pushed; /* head.words_count after the last Java frame */
	uint64_t places; /* places still to be tried, 8 bits each (hotspot_code.h) */
	struct hotspot_look look;
};

#define PLACES_KNOWN 64 /* a power of two */

/* Cached result of looking up an address (bpf/unwind/lookup.h). A run of spans with one number
 * never changes. */
struct place {
	uint64_t address;
	uint32_t number;      /* struct walk.spans_number; 0: the entry is void */
	uint32_t index, what; /* fields of its span */
	uint32_t row;
};

/* The buffer of a walk. The fields that every walk needs lie side by side, before the frames: a
 * sample meets cold caches. */
struct walk {
	struct place places[PLACES_KNOWN]; /* by a hash of the address */
	union { /* what each part of the walk reads, one part after the other */
		uint64_t kernel[KERNEL_FRAMES_MAX + 1]; /* until these frames are pushed */
		uint64_t saved[48];			/* until the registers are taken over */
		uint64_t block[PYTHON_BLOCK_WORDS];	/* until Python's frames are walked */
		uint64_t window[WINDOW_WORDS];
	};
	struct python_walk python;
	struct hotspot_walk hotspot;

	/* The walk is unsure of pc if the next frame has to confirm it. If the next frame doesn't,
	 * the walk returns to the state of these fields. */
	uint64_t unsure_hash;	 /* hash of the stack before that frame */
	uint32_t unsure_details; /* hotspot.details before that frame */
	uint64_t task; /* the walked task, if it isn't the current one (bpf/waiting.bpf.c) */
	uint64_t probed_stack;		 /* where probed_return() found the return address */
	uint64_t kernel_from, kernel_to; /* range of the kernel stack that is looked at */
	uint64_t raw_count;	       /* number of its words that lie in `words`, from RAW_AT on */
	struct table_rule rule;	       /* rule of the current frame, if its row names one */
	uint8_t code[ARCH_CALL_BYTES]; /* bytes before a return address, or at an instruction */

	struct user_regs user; /* the interrupted registers; too many for the stack */
	uint64_t gpr[ARCH_REGS];
	uint64_t context;    /* address of the registers that a signal frame saved, or 0 */
	uint64_t words_hash; /* hash of the memo's words, as they are now */
	uint64_t window_at;  /* user memory [window_at, window_at + window_bytes) is in `window` */
	uint64_t window_bytes;
	struct caller caller;
	struct span span; /* the span that holds pc */
	struct span
		kept; /* the span that was found last, of the spans with the number kept_number */
	uint64_t pc, sp, fp, bx;
	uint64_t narrow_word;	     /* a word of 32-bit code's stack that was read */
	uint64_t luajit_before;	     /* the frame before the last of LuaJIT's, of one state; or 0 */
	uint32_t luajit_left;	     /* how much more may be looked at for LuaJIT's frames */
	uint32_t word;		     /* bytes of a word of the stack */
	uint32_t known;		     /* WALK_ flags */
	uint32_t unsure;	     /* words_count before that frame, plus one; 0: pc is sure */
	uint32_t spans, spans_count; /* spans of the process (struct target_value) */
	uint32_t python_at;	     /* struct cpython in the arena; 0: none, or not walked */
	uint32_t hotspot_at;	     /* struct hotspot in the arena; 0: none, or not walked */
	uint32_t pending; /* WALKS_ bits: runtimes of the process that this program doesn't walk */
	uint32_t low, high;  /* bounds of the search that is going on (lookup.h) */
	uint32_t frames_max; /* user frames walked at most */
	uint32_t memo;	     /* number of the thread's memo */
	uint32_t used;	     /* WALK_ flags of registers that the walk looked at */
	uint32_t tid;
	uint32_t level;	       /* number of this buffer, which global functions take */
	uint32_t busy;	       /* number of programs that have the buffer or try to take it */
	uint32_t spans_number; /* struct target_value */
	uint32_t kept_number;  /* 0: none */
	uint32_t place_turn;   /* number of addresses that met another one in `places` */
	uint32_t row;	       /* row of pc, if row_known */
	uint32_t row_known;
	uint32_t hurry; /* HURRY_ flags (bpf/stack/wakeup.h) */
	uint32_t told;	/* mappings that are to be told (bpf/unwind/vma.h) */
	struct stack head;
	uint64_t words[WORDS_MAX]; /* right behind `head`: both are sent as one record */
};

/* Limit of the kernel: PCPU_MIN_UNIT_SIZE. */
_Static_assert(sizeof(struct walk) <= 32768, "it is a value of a map of each CPU's");

/* Returns whether the code is 32-bit. */
static __always_inline bool walk_is_narrow(const struct walk *walk)
{
	return walk->word < ARCH_WORD;
}

static __always_inline uint64_t frame_word(enum frame_kind kind, uint64_t address)
{
	return (uint64_t)kind << FRAME_KIND_SHIFT | (address & FRAME_ADDRESS);
}

/* Marks the last frame's pc as no return address: the byte before it belongs to another
 * function. */
static __always_inline void walk_name_exactly(struct walk *walk)
{
	uint32_t last = walk->head.words_count - 1;

	if (last < NATIVE_WORDS_MAX)
		walk->words[last] = frame_word(FRAME_NATIVE, walk->pc);
}

/* Pushes a native frame. Returns false if there is no room for more native frames. */
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
