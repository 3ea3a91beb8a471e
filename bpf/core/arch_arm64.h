/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arm64 half of arch.h, which includes this file.
 *
 * A call leaves its return address in the link register. A function that calls others saves that
 * address on the stack next to the caller's frame pointer, as a frame record:
 *
 *	fp -> | caller's fp | return address |
 *
 * The frame record may lie anywhere in the frame (gcc puts it at the bottom). So a frame record
 * tells the caller's fp and pc, but not the caller's sp: ARCH_FRAME_TELLS_SP.
 *
 * Source: Procedure Call Standard for the Arm 64-bit Architecture, 6.4.6; DWARF for the Arm 64-bit
 * Architecture, 4.1; Arm Architecture Reference Manual for A-profile, C6.2 (encodings).
 */

#define ARCH_BX	  19 /* the first callee-saved register; no compiler keeps a CFA in it */
#define ARCH_FP	  29
#define ARCH_SP	  31

#define ARCH_WORD 8 /* bytes */

/* A function that saved nothing has its return address in this register; any other function has it
 * above the caller's fp (bpf/shared/packed.h). */
#define ARCH_RETURN_REG		 30
#define ARCH_RETURN_WORDS(saved) (saved)
#define ARCH_FRAME_TELLS_SP	 0
#define ARCH_WALKS_NARROW	 0 /* 32-bit code isn't walked */
#define ARCH_WALKS_LUAJIT	 0

/* Distance from sp to the CFA at the first instruction of a function, in words. */
#define ARCH_ENTRY_WORDS 0

/*
 * A signal frame: struct rt_sigframe {siginfo (128), ucontext}. In the ucontext the registers
 * follow the address of the fault (arch/arm64/kernel/signal.c, uapi/asm/{ucontext,sigcontext}.h).
 * When the handler returns, sp points to the frame.
 */
#define ARCH_CONTEXT	312
#define ARCH_CONTEXT_SP (ARCH_CONTEXT + 31 * ARCH_WORD)
#define ARCH_CONTEXT_PC (ARCH_CONTEXT + 32 * ARCH_WORD)

static __always_inline uint32_t arch_context_slot(uint32_t reg)
{
	return reg & 31;
}

/*
 * Returns a return address as it was before it was signed (pointer authentication): the signature
 * is above the 48 bits of an address. Bit 55, which is 0 in user addresses, tells no more than
 * that.
 */
static __always_inline uint64_t arch_code_address(uint64_t address)
{
	return address & ((1ULL << 48) - 1);
}

/* Bytes of code that are read in front of a return address: the call is the last four. */
#define ARCH_CALL_BYTES 8

static __always_inline uint32_t arch_instruction(const uint8_t *code)
{
	return code[0] | code[1] << 8 | code[2] << 16 | (uint32_t)code[3] << 24;
}

/* Returns whether the last instruction is bl, blr, or one of blraa and its kin, which check a
 * signature. */
static __always_inline bool arch_ends_with_call(const uint8_t code[ARCH_CALL_BYTES])
{
	uint32_t call = arch_instruction(code + ARCH_CALL_BYTES - 4);

	return (call & 0xfc000000) == 0x94000000 || (call & 0xfffffc1f) == 0xd63f0000 ||
	       (call & 0xfefff800) == 0xd63f0800;
}

/* Returns the target of a direct call (26 bits, in words from the call itself); 0: the bytes end
 * with another instruction. */
static __always_inline uint64_t arch_call_target(const uint8_t code[ARCH_CALL_BYTES],
						 uint64_t return_address)
{
	uint32_t call = arch_instruction(code + ARCH_CALL_BYTES - 4);
	int32_t distance = (int32_t)(call << 6) >> 4;

	if ((call & 0xfc000000) != 0x94000000)
		return 0;
	return return_address - 4 + (uint64_t)(int64_t)distance;
}

/* How far a function that keeps frame pointers is at an instruction. On arm64 the instruction alone
 * doesn't tell whether the frame record is there already: a return address from the link register
 * has to be confirmed. */
enum arch_place { PLACE_BODY, PLACE_ENTRY, PLACE_PUSHED };

static __always_inline enum arch_place arch_place(const uint8_t code[ARCH_CALL_BYTES], bool narrow)
{
	(void)code;
	(void)narrow;
	return PLACE_BODY;
}

static __always_inline bool arch_leaves(const uint8_t code[ARCH_CALL_BYTES], uint32_t *words)
{
	(void)code;
	*words = 0;
	return false;
}

/* A probed return leads to a breakpoint, which pushes nothing. */
#define ARCH_PROBE_WORDS 0

static __always_inline uint32_t arch_words_until_return(const uint8_t code[ARCH_CALL_BYTES])
{
	(void)code;
	return ARCH_PROBE_WORDS + 1;
}

#ifdef __bpf__

#define THREAD_BYTES 16384 /* arch/arm64/include/asm/memory.h: THREAD_SIZE */

/* The first fields of the kernel's struct pt_regs: struct user_pt_regs, under other names. The
 * kernel's struct has more fields, and its size differs between kernels. */
struct pt_regs {
	uint64_t regs[31];
	uint64_t sp;
	uint64_t pc;
	uint64_t pstate;
};

#define SAVED_REGS_BYTES bpf_core_type_size(struct pt_regs)

/* arch/arm64/include/uapi/asm/ptrace.h: exception level 0, of 64-bit and 32-bit code. */
static __always_inline bool regs_are_user(const struct pt_regs *regs)
{
	return (regs->pstate & PSR_MODE_MASK) == PSR_MODE_EL0t;
}

static __always_inline void regs_take(struct user_regs *to, const struct pt_regs *from)
{
	to->pc = from->pc;
#pragma unroll
	for (int i = 0; i < 31; i++)
		to->gpr[i] = from->regs[i];
	to->gpr[ARCH_SP] = from->sp;
	to->wide = !(from->pstate & PSR_MODE32_BIT);
}

#endif
