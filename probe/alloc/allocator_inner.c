// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds functions that hand on their calls, by the jumps and calls in their code: direct ones, or
 * by a stub of the PLT, which jumps to where a slot of the GOT says.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "alloc/allocator_state.h"
#include "proc/got_slots.h"
#include "proc/uprobe_site.h"

#define CODE_MAX  4096
#define STUB_MAX  16
#define SLOTS_MAX 512
#define STUBS_MAX 64 /* looked at for one function */

struct inner_search {
	int fd;
	const struct elf_image *image;
	struct allocator *allocator;
	bool hands_on[ALLOCATOR_FUNCTIONS_MAX];
	struct slot slots[SLOTS_MAX];
	struct {
		size_t function; /* whose code uses the slot */
		bool by_call;
	} users[SLOTS_MAX];
	size_t slots_count;

	/* of the function that is looked at */
	size_t function;
	unsigned stubs;
	bool by_call;  /* whether the jump that is looked at is a call */
	uint64_t slot; /* used by the stub that is looked at; 0: none */
	int error;
};

/* Notes that calls of `to` return into `from`. Returns false if it has another caller already. */
static bool set_caller(struct allocator_function *to, const struct allocator_function *from)
{
	if (to->caller_bytes)
		return to->caller_address == from->address;
	to->caller_address = from->address;
	to->caller_bytes = from->bytes;
	return from->bytes;
}

/*
 * Notes that the code leads to that address. Returns false if that is none of the functions.
 * realloc() is examined as well: it does more than malloc, but the same for a null address.
 */
static bool look_at_target(struct inner_search *looking, uint64_t address, bool by_call)
{
	struct allocator *allocator = looking->allocator;
	struct allocator_function *from = &allocator->functions[looking->function];

	for (size_t i = 0; i < allocator->count; i++) {
		struct allocator_function *to = &allocator->functions[i];

		if (to == from || to->address != address || !(1u << to->call & CALLS_HEAP))
			continue;
		bool is_told = by_call && set_caller(to, from);
		if (from->call == CALL_REALLOC)
			from->null_is_malloc |= to->call == CALL_SIZE;
		else if (is_told && allocator->kind == ALLOCATOR_MUSL)
			from->calls_inner = true;
		else
			looking->hands_on[looking->function] = true;
		return true;
	}
	return false;
}

static void add_slot(struct inner_search *looking, uint64_t address)
{
	if (looking->slots_count == SLOTS_MAX)
		return;
	looking->users[looking->slots_count].function = looking->function;
	looking->users[looking->slots_count].by_call = looking->by_call;
	looking->slots[looking->slots_count++].address = address;
}

static void take_slot(void *arg, const struct uprobe_site_jump *leap)
{
	struct inner_search *looking = arg;

	if (leap->by_slot && !looking->slot)
		looking->slot = leap->address;
}

/*
 * Reads code at a linked address. Returns the number of bytes, at most `max`, or a negative errno.
 */
static int read_code(const struct inner_search *looking, uint64_t address, uint8_t *code,
		     size_t max)
{
	for (size_t i = 0; i < looking->image->segments_count; i++) {
		const struct elf_segment *segment = &looking->image->segments[i];
		uint64_t into = address - segment->address;

		if (into >= segment->file_bytes)
			continue;
		size_t n = segment->file_bytes - into < max ? (size_t)(segment->file_bytes - into)
							    : max;
		int r = elf_pread(looking->fd, code, n, segment->file_offset + into);
		return r < 0 ? r : (int)n;
	}
	return 0;
}

static void look_at_stub(struct inner_search *looking, uint64_t address)
{
	uint8_t stub[STUB_MAX];
	int n = read_code(looking, address, stub, sizeof(stub));

	if (n < 0)
		looking->error = n;
	looking->slot = 0;
	if (n > 0)
		uprobe_site_jumps(stub, (size_t)n, address, take_slot, looking);
	if (looking->slot)
		add_slot(looking, looking->slot);
}

static void look_at_leap(void *arg, const struct uprobe_site_jump *leap)
{
	struct inner_search *looking = arg;
	const struct allocator_function *function =
		&looking->allocator->functions[looking->function];

	if (looking->error || leap->address - function->address < function->bytes)
		return;
	looking->by_call = leap->is_call;
	if (leap->by_slot)
		add_slot(looking, leap->address);
	else if (!look_at_target(looking, leap->address, leap->is_call) &&
		 looking->stubs++ < STUBS_MAX)
		look_at_stub(looking, leap->address);
}

static int look_at_function(struct inner_search *looking, size_t i)
{
	const struct allocator_function *function = &looking->allocator->functions[i];
	uint8_t code[CODE_MAX];
	size_t max = function->bytes < sizeof(code) ? (size_t)function->bytes : sizeof(code);
	int n = read_code(looking, function->address, code, max);

	if (n < 0)
		return n;
	looking->function = i;
	looking->stubs = 0;
	uprobe_site_jumps(code, (size_t)n, function->address, look_at_leap, looking);
	return looking->error;
}

static int look_at_allocator(struct inner_search *looking,
			     const bool wraps[ALLOCATOR_FUNCTIONS_MAX])
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < looking->allocator->count; i++) {
		if (wraps[i] || looking->allocator->functions[i].call == CALL_REALLOC)
			r = look_at_function(looking, i);
	}
	if (r == 0)
		r = got_slots_read(looking->fd, looking->image, looking->slots,
				   looking->slots_count);
	for (size_t i = 0; r == 0 && i < looking->slots_count; i++) {
		looking->function = looking->users[i].function;
		if (looking->slots[i].leads)
			look_at_target(looking, looking->slots[i].leads, looking->users[i].by_call);
	}
	return r;
}

/* Forgets this function as a caller: it isn't probed itself, so its inner calls count. */
static void forget_caller(struct allocator *allocator, uint64_t address)
{
	for (size_t i = 0; i < allocator->count; i++) {
		if (allocator->functions[i].caller_address == address)
			allocator->functions[i].caller_address =
				allocator->functions[i].caller_bytes = 0;
	}
}

int allocator_leave_out_wrappers(int fd, const struct elf_image *image, struct allocator *allocator,
				 bool wraps[ALLOCATOR_FUNCTIONS_MAX])
{
	_cleanup_free_ struct inner_search *looking = calloc(1, sizeof(*looking));
	size_t kept = 0;

	if (!looking)
		return -ENOMEM;
	looking->fd = fd;
	looking->image = image;
	looking->allocator = allocator;
	int r = look_at_allocator(looking, wraps);
	if (r < 0)
		return r;
	for (size_t i = 0; i < allocator->count; i++) {
		if (looking->hands_on[i])
			forget_caller(allocator, allocator->functions[i].address);
	}
	for (size_t i = 0; i < allocator->count; i++) {
		if (!looking->hands_on[i])
			allocator->functions[kept++] = allocator->functions[i];
	}
	allocator->count = kept;
	return 0;
}
