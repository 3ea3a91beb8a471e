// SPDX-License-Identifier: GPL-2.0-or-later
/* What a kernel's types let a probe show: doctor and GET say it in the same words. */
#include "unit/lib/unit.h"

#include <string.h>

#include "capability/ktypes.h"
#include "kind/kind.h"

static struct finding allowed[CAPABILITY_COUNT];

/* A kernel with all that a probe asks for. */
static const struct ktypes whole = {
	.has_fault_tracepoints = true,
	.has_rss_counters = true,
	.cpu_values_at = 8,
	.has_vm_events = true,
	.has_added = true,
	.has_uses = true,
	.has_asked = true,
	.has_dirty_folio = true,
	.throttle_arguments = 8,
	.ring_arguments = 3,
	.has_socket_lengths = true,
	.has_socket_states = true,
	.has_socket_ends = true,
	.has_send_begin = true,
	.retransmit_args = 3,
	.has_blocks = true,
	.has_folio_heads = true,
};

/* As Linux 5.10 is. */
static const struct ktypes old = {
	.has_fault_tracepoints = true,
	.has_task_rss = true,
	.has_vm_events = true,
	.has_added = true,
	.has_dirty_page = true,
	.throttle_arguments = 12,
	.has_socket_states = true,
	.has_socket_ends = true,
	.retransmit_args = 2,
	.has_blocks = true,
	.has_folio_heads = true,
};

static const struct ktypes nothing;

static struct finding judged_by(enum probe probe, const struct ktypes *types)
{
	struct finding finding;

	for (int i = 0; i < CAPABILITY_COUNT; i++)
		allowed[i] = (struct finding){.state = FINDING_YES};
	kind_judge(kind_get(probe), allowed, types, &finding);
	return finding;
}

static const char *unseen_by(enum probe probe, const struct ktypes *types)
{
	static char text[KIND_UNSEEN_BYTES];

	kind_unseen(kind_get(probe), types, text);
	return text;
}

static void a_kernel_that_has_all_limits_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const char *never = kind_get(i)->never;

		assert_int_equal(judged_by(i, &whole).state, FINDING_YES);
		assert_string_equal(unseen_by(i, &whole), never ? never : "");
	}
}

static void a_limit_is_told_in_the_words_of_get(void **state)
{
	static const struct {
		enum probe probe;
		const char *limit;
	} limits[] = {
		{PROBE_READAHEAD, "pages ahead aren't told apart, nor which ones are used: the "
				  "kernel has no tracepoints page_cache_sync_ra and "
				  "mm_filemap_get_pages"},
		{PROBE_NET, "bytes are those of system calls, for this kernel's sockets tell no "
			    "lengths; what io_uring moves is not seen; segments of an accepted "
			    "connection that are sent again in its first send are not seen"},
		{PROBE_WRITEBACK, ""},
		{PROBE_BLKIO, ""},
		{PROBE_MEM, ""},
		{PROBE_LLC, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct finding finding = judged_by(limits[i].probe, &old);

		assert_string_equal(finding.reason, limits[i].limit);
		assert_int_equal(finding.state, limits[i].limit[0] ? FINDING_LIMITED : FINDING_YES);
		assert_non_null(strstr(unseen_by(limits[i].probe, &old), limits[i].limit));
	}
}

static void a_pause_of_other_arguments_limits_writeback(void **state)
{
	struct ktypes types = whole;

	(void)state;
	types.throttle_arguments = 9;
	assert_int_equal(judged_by(PROBE_WRITEBACK, &types).state, FINDING_LIMITED);
	assert_string_equal(judged_by(PROBE_WRITEBACK, &types).reason,
			    unseen_by(PROBE_WRITEBACK, &types));
}

static void a_limit_stands_behind_those_of_needs(void **state)
{
	struct finding finding;

	(void)state;
	judged_by(PROBE_READAHEAD, NULL); /* all is allowed */
	allowed[CAN_OPEN_MAPPED].state = FINDING_NO;
	kind_judge(kind_get(PROBE_READAHEAD), allowed, &old, &finding);
	assert_int_equal(finding.state, FINDING_LIMITED);
	assert_ptr_equal(
		strstr(finding.reason, "code of other users' processes has no names; pages ahead"),
		finding.reason);
}

static void what_a_kernel_lacks_forbids_the_probe(void **state)
{
	static const struct {
		enum probe probe;
		const char *lack;
	} lacks[] = {
		{PROBE_BLKIO, "this kernel has no tracepoints block_bio_queue and "
			      "block_rq_complete (CONFIG_BLOCK)"},
		{PROBE_READAHEAD, "this kernel has no tracepoint mm_filemap_add_to_page_cache"},
		{PROBE_WRITEBACK, "this kernel has no tracepoint writeback_dirty_folio"},
		{PROBE_MEM, "what a page fault adds can't be told: this kernel counts resident "
			    "pages in a way that isn't known"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++) {
		struct finding finding = judged_by(lacks[i].probe, &nothing);

		assert_int_equal(finding.state, FINDING_NO);
		assert_string_equal(finding.reason, lacks[i].lack);
		assert_string_equal(finding.remedy, "none but another kernel");
	}
}

static void what_a_need_forbids_comes_first(void **state)
{
	struct finding finding;

	(void)state;
	judged_by(PROBE_BLKIO, NULL);
	allowed[CAN_RING_BUFFER].state = FINDING_NO;
	kind_judge(kind_get(PROBE_BLKIO), allowed, &nothing, &finding);
	assert_string_equal(finding.reason, "it needs ring_buffer");
}

static void without_types_nothing_is_said_of_them(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		assert_int_equal(judged_by(i, NULL).state, FINDING_YES);
		assert_string_equal(unseen_by(i, NULL), "");
	}
}

/* GET's text and a finding's reason have room for the longest. */
static void each_text_is_whole(void **state)
{
	static const struct ktypes *const all[] = {&whole, &old, &nothing};

	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct kind *kind = kind_get(i);

		for (size_t j = 0; kind->limit && j < ARRAY_SIZE(all); j++) {
			const char *limit = kind->limit(all[j]), *text = unseen_by(i, all[j]);

			assert_true(strlen(limit) < sizeof(((struct finding *)0)->reason));
			assert_string_equal(text + strlen(text) - strlen(limit), limit);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_that_has_all_limits_nothing),
		cmocka_unit_test(a_limit_is_told_in_the_words_of_get),
		cmocka_unit_test(a_pause_of_other_arguments_limits_writeback),
		cmocka_unit_test(a_limit_stands_behind_those_of_needs),
		cmocka_unit_test(what_a_kernel_lacks_forbids_the_probe),
		cmocka_unit_test(what_a_need_forbids_comes_first),
		cmocka_unit_test(without_types_nothing_is_said_of_them),
		cmocka_unit_test(each_text_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
