// SPDX-License-Identifier: GPL-2.0-only
/* Which windows are a VM's. What the VM is asked, and its files, are made here. */
#include <time.h>

#include "unit.h"

#include "base/loop.h"
#include "profile/jfr_state.h"
#include "symbol/held.h"

static struct {
	struct loop *loop;
	struct worker *worker;
	struct target_table *table;
	struct target *target;
	struct jfr *jfr;
	struct question *asked; /* the last one */
	struct jfr_vm *read;	/* whose files are to be read */
	unsigned began, done, taken, told_last;
} test;

/* ---- in place of profile/asking.c and jfr_read.c, by the linker (UNITFLAGS_test_jfr) ---- */

int __wrap_asking_new(struct asking **ret, struct loop *loop, struct worker *foreign);
void __wrap_asking_free(struct asking *asking);
void __wrap_asking_limit(struct asking *asking, unsigned at_once);
void __wrap_asking_ask(struct asking *asking, struct question *question);
void __wrap_asking_tell(const struct question *question);
bool __wrap_asking_drop(struct question *question);
int __wrap_jfr_read(struct jfr_vm *vm);

int __wrap_asking_new(struct asking **ret, struct loop *loop, struct worker *foreign)
{
	(void)loop;
	(void)foreign;
	*ret = NULL;
	return 0;
}

void __wrap_asking_free(struct asking *asking)
{
	(void)asking;
}

void __wrap_asking_limit(struct asking *asking, unsigned at_once)
{
	(void)asking;
	(void)at_once;
}

void __wrap_asking_ask(struct asking *asking, struct question *question)
{
	(void)asking;
	assert_int_equal(question->step, QUESTION_NONE);
	question->step = QUESTION_ASKED;
	test.asked = question;
}

void __wrap_asking_tell(const struct question *question)
{
	assert_int_equal(question->order.task, ATTACH_JFR_STOP);
	assert_false(question->look);
	assert_true(question->order.folder_fd >= 0);
	test.told_last++;
}

bool __wrap_asking_drop(struct question *question)
{
	return question->step == QUESTION_NONE;
}

int __wrap_jfr_read(struct jfr_vm *vm)
{
	test.read = vm;
	return 0;
}

/* ---- the VM ---- */

static enum attach_task asked_for(void)
{
	return test.asked ? test.asked->order.task : ATTACH_CLEAN;
}

static void answer(enum attach_result result)
{
	struct question *question = TAKE_PTR(test.asked);
	bool started = result == ATTACH_DONE && question->order.task == ATTACH_JFR_START;
	struct attach_answer told = {
		.result = result,
		.folder_fd = started ? dup(0) : -1,
		.tmp_fd = started ? dup(0) : -1,
	};

	question->step = QUESTION_NONE;
	question->answered(question, &told);
}

/* Its file of the window that ended last, with this in its head. */
static void tell_head(const struct jfr_head *head, size_t bytes)
{
	struct jfr_vm *vm = TAKE_PTR(test.read);
	struct jfrfile *files[PROBE_COUNT] = {NULL};

	assert_non_null(vm);
	files[PROBE_ONCPU] = calloc(1, sizeof(**files));
	assert_non_null(files[PROBE_ONCPU]);
	files[PROBE_ONCPU]->head = *head;
	files[PROBE_ONCPU]->head.sequence = vm->sequence;
	files[PROBE_ONCPU]->head.from_us += vm->jfr->from_us;
	files[PROBE_ONCPU]->head.to_us = vm->jfr->to_us;
	files[PROBE_ONCPU]->bytes = bytes;
	jfr_was_read(vm, 0, files);
	for (int probe = 0; probe < PROBE_COUNT; probe++)
		jfrfile_free(files[probe]);
}

/* Beginning `late_us` late. */
static void tell(uint64_t late_us, bool cut)
{
	tell_head(&(struct jfr_head){.from_us = late_us, .lost_samples = 3, .cut = cut}, 0);
}

/* ---- the engine ---- */

static void began(void *arg)
{
	(void)arg;
	test.began++;
}

static void window_done(void *arg)
{
	(void)arg;
	test.done++;
	loop_stop(test.loop);
}

static void take(void *arg, const struct target *target, uint32_t probe, struct jfrfile *file)
{
	(void)arg;
	assert_ptr_equal(target, test.target);
	assert_int_equal(probe, PROBE_ONCPU);
	test.taken++;
	jfrfile_free(file);
}

/* Borders are microseconds: two windows never end in the same one. */
static bool end_window(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000}, NULL);
	return jfr_end_window(test.jfr, loop_now_ns(), window_done, NULL);
}

/* Runs until all have told, and gives what was recorded: 0 or 1 window. */
static unsigned joined(void)
{
	unsigned done = test.done, taken = test.taken;
	bool recorded;

	assert_int_equal(loop_run(test.loop), 0);
	assert_int_equal(test.done, done + 1);
	recorded = jfr_recorded(test.jfr, test.target);
	jfr_take(test.jfr, take, NULL);
	assert_int_equal(test.taken - taken, recorded);
	assert_int_equal(jfr_recorded(test.jfr, test.target), 0);
	return recorded;
}

static uint64_t fallen(enum jfr_cause cause)
{
	struct jfr_counts counts;

	jfr_counts(test.jfr, &counts);
	return counts.fell_back[cause];
}

static enum jfr_step state(void)
{
	char why[64];

	return jfr_state(test.jfr, test.target, why, sizeof(why));
}

static struct jfr *make(void)
{
	struct jfr_wish wish = {1U << PROBE_ONCPU, 10, NS_PER_S * 600};
	struct jfr *jfr;

	assert_int_equal(jfr_new(&jfr, test.loop, test.worker, test.table, began, NULL), 0);
	jfr_set(jfr, &wish);
	return jfr;
}

static int set_up(void **unused)
{
	struct target like = {.pid = 7, .id = 1, .start_ticks = 5, .comm = "java", .alive = true};

	(void)unused;
	memset(&test, 0, sizeof(test));
	assert_int_equal(loop_new(&test.loop), 0);
	assert_int_equal(worker_new(&test.worker, test.loop, "test", NS_PER_S), 0);
	assert_int_equal(target_table_new(&test.table, 4), 0);
	test.target = target_table_add(test.table, &like);
	assert_non_null(test.target);
	test.jfr = make();
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	jfr_free(test.jfr);
	assert_true(held_take_many((unsigned)held_max())); /* all places were given back */
	held_give_many((unsigned)held_max());
	worker_stop(test.worker);
	worker_free(test.worker);
	target_table_free(test.table);
	loop_free(test.loop);
	return 0;
}

static bool nobody(void *arg, const struct target *target)
{
	(void)arg;
	(void)target;
	return false;
}

/* Its next window is its own. */
static void record(void)
{
	jfr_meet(test.jfr, test.target);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	answer(ATTACH_DONE);
	assert_true(end_window());
	assert_int_equal(asked_for(), ATTACH_JFR_DUMP);
	answer(ATTACH_DONE);
	assert_int_equal(joined(), 0);
}

/* ---- tests ---- */

static void the_second_window_is_its_own(void **unused)
{
	struct jfr_counts counts;

	(void)unused;
	assert_false(end_window());
	record();
	assert_int_equal(test.began, 1);
	assert_int_equal(state(), JFR_RECORDING);
	for (int i = 0; i < 2; i++) {
		assert_true(end_window());
		answer(ATTACH_DONE);
		tell(0, false);
		assert_int_equal(joined(), 1);
	}
	jfr_counts(test.jfr, &counts);
	assert_int_equal(counts.windows, 2);
	assert_int_equal(counts.lost_samples, 6);
	assert_int_equal(counts.recording, 1);
	for (int i = 0; i < JFR_CAUSES; i++)
		assert_int_equal(counts.fell_back[i], 0);
}

static void what_it_is_told_of_borders(void **unused)
{
	(void)unused;
	record();
	uint64_t first_us = test.jfr->to_us;
	assert_true(end_window());
	/* Waits count from where its own windows began. */
	assert_int_equal(test.asked->order.since_us, first_us);
	assert_int_equal(test.asked->order.to_us, test.jfr->to_us);
	answer(ATTACH_DONE);
	tell(0, true);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_CUT), 1);
	uint64_t second_us = test.jfr->to_us;
	assert_true(end_window());
	assert_int_equal(test.asked->order.since_us, second_us);
	answer(ATTACH_DONE);
	tell(0, false);
	assert_int_equal(joined(), 1);
}

static void one_that_begins_elsewhere_is_not_taken(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(1, false);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_BORDER), 1);
}

static void after_one_without_an_answer_is_one_that_does_not_join(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_STOPPED);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_STOPPED), 1);
	assert_int_equal(state(), JFR_RECORDING);
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_null(test.read);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_BORDER), 1);
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(0, false);
	assert_int_equal(joined(), 1);
}

static void one_that_is_silent_is_given_up(void **unused)
{
	(void)unused;
	record();
	for (int i = 0; i < 3; i++) {
		assert_true(end_window());
		answer(ATTACH_SILENT);
		assert_int_equal(joined(), 0);
	}
	assert_int_equal(fallen(JFR_SILENT), 3);
	assert_int_equal(state(), JFR_FAILED);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	assert_true(jfr_has(test.jfr, test.target));
	answer(ATTACH_SILENT);
	assert_int_equal(state(), JFR_FAILED);
	assert_false(jfr_has(test.jfr, test.target)); /* another agent may come */
	jfr_meet(test.jfr, test.target);
	assert_null(test.asked); /* not before its interval */
	assert_false(end_window());
}

static void one_that_could_not_be_asked_once_goes_on(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_SYSTEM);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_SILENT), 1);
	assert_int_equal(state(), JFR_RECORDING);
}

static void one_that_failed_may_be_let_go_while_it_is_told_to_stop(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_REFUSED);
	assert_int_equal(joined(), 0);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	jfr_sweep(test.jfr, nobody, NULL);
	answer(ATTACH_DONE);
	assert_null(test.asked);
	assert_null(test.jfr->all);
}

static void time_is_bounded(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	assert_int_equal(joined(), 0); /* five seconds later */
	assert_int_equal(fallen(JFR_SILENT), 1);
	answer(ATTACH_DONE); /* too late, but its next window begins there */
	assert_null(test.read);
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(0, false);
	assert_int_equal(joined(), 1);
}

static void one_whose_files_hang_is_not_asked_again(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_non_null(test.read);
	assert_int_equal(joined(), 0); /* five seconds later */
	assert_true(end_window());
	jfr_hangs(TAKE_PTR(test.read));
	assert_int_equal(state(), JFR_FAILED);
	assert_true(test.target->hangs);
	assert_true(test.jfr->all->folder_fd >= 0); /* it is still asked */
	answer(ATTACH_REFUSED);
	assert_false(jfr_has(test.jfr, test.target));
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_SILENT), 2);
	assert_int_equal(fallen(JFR_REFUSED), 0);
	assert_false(end_window());
	test.jfr->wish.interval_ns = 0;
	test.target->hangs = false; /* under another name */
	jfr_meet(test.jfr, test.target);
	assert_int_not_equal(asked_for(), ATTACH_JFR_START);
}

static void a_look_that_hangs_is_the_last_one(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_HUNG);
	assert_int_equal(joined(), 0);
	assert_int_equal(state(), JFR_FAILED);
	assert_true(test.target->hangs);
}

static void windows_that_are_not_told_are_misses(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_int_equal(joined(), 0); /* it is read for too long */
	assert_int_equal(test.jfr->all->misses, 1);
	TAKE_PTR(test.read);
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_int_equal(test.jfr->all->misses, 1);
	tell(0, false);
	assert_int_equal(joined(), 1);
	assert_int_equal(test.jfr->all->misses, 0);
}

static void what_all_tell_of_a_window_is_bounded(void **unused)
{
	const struct jfr_head head = {0};

	(void)unused;
	record();
	for (int i = 0; i < 2; i++) { /* each window's sum is its own */
		assert_true(end_window());
		answer(ATTACH_DONE);
		tell_head(&head, 200 << 20);
		assert_int_equal(joined(), 1);
		assert_int_equal(test.jfr->bytes, 0);
	}
	assert_true(end_window());
	answer(ATTACH_DONE);
	test.jfr->bytes = 100 << 20; /* others' */
	tell_head(&head, 200 << 20);
	assert_int_equal(test.jfr->bytes, 100 << 20);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_CUT), 1);
}

static void so_many_are_asked_at_most(void **unused)
{
	unsigned room = held_max() / 2 < ASKING_VMS_MAX ? held_max() / 2 : ASKING_VMS_MAX;
	struct jfr_counts counts;
	struct target other = *test.target;
	char why[64];

	(void)unused;
	for (unsigned i = 0; i < ASKING_VMS_MAX + 1; i++) {
		other.pid = (pid_t)(1000 + i);
		jfr_meet(test.jfr, &other);
	}
	jfr_counts(test.jfr, &counts);
	assert_int_equal(counts.unasked, 1);
	/* The others have no descriptors. */
	assert_int_equal(counts.starting, room);
	assert_int_equal(counts.failed, ASKING_VMS_MAX - room);
	other.pid = 1000 + ASKING_VMS_MAX - 1;
	if (counts.failed) {
		assert_int_equal(jfr_state(test.jfr, &other, why, sizeof(why)), JFR_FAILED);
		assert_string_equal(why, "system: no descriptors left");
	}
	answer(ATTACH_REFUSED); /* the last one that was asked */
	jfr_sweep(test.jfr, nobody, NULL);
	assert_int_equal(test.jfr->count, room - 1);
	jfr_meet(test.jfr, &other);
	assert_int_equal(jfr_state(test.jfr, &other, why, sizeof(why)), JFR_STARTING);
}

/* The process goes on as another target. */
static void change(bool by_exec)
{
	struct target like = *test.target;

	like.id++;
	like.space = NULL;
	like.spans = NULL;
	test.target->ended_by_exec = by_exec;
	test.target = target_table_add(test.table, &like);
	assert_non_null(test.target);
}

static bool everybody(void *arg, const struct target *target)
{
	(void)arg;
	(void)target;
	return true;
}

static void another_program_is_asked_anew(void **unused)
{
	(void)unused;
	record();
	change(true);
	assert_false(end_window());
	assert_int_equal(fallen(JFR_ENDED), 1);
	assert_int_equal(state(), JFR_NONE);
	jfr_meet(test.jfr, test.target);
	assert_null(test.asked);
	jfr_sweep(test.jfr, everybody, NULL);
	assert_int_equal(asked_for(), ATTACH_CLEAN); /* its socket isn't the same VM's */
	assert_non_null(test.asked);
	answer(ATTACH_DONE);
	assert_null(test.jfr->all);
	jfr_meet(test.jfr, test.target);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
}

static void one_that_begins_as_another_program_comes_is_let_go(void **unused)
{
	(void)unused;
	jfr_meet(test.jfr, test.target);
	change(true);
	jfr_meet(test.jfr, test.target);
	jfr_sweep(test.jfr, everybody, NULL);
	target_table_sweep(test.table, UINT64_MAX); /* who it was isn't known any more */
	jfr_meet(test.jfr, test.target);
	answer(ATTACH_DONE);
	assert_int_equal(asked_for(), ATTACH_CLEAN);
	assert_non_null(test.asked);
	answer(ATTACH_DONE);
	assert_null(test.jfr->all);
}

static void another_name_is_the_same_program(void **unused)
{
	(void)unused;
	record();
	change(false);
	assert_true(end_window());
	answer(ATTACH_DONE);
	jfr_meet(test.jfr, test.target);
	tell(0, false);
	assert_int_equal(joined(), 1);
	jfr_sweep(test.jfr, everybody, NULL);
	assert_int_equal(state(), JFR_RECORDING);
}

static void counts_that_make_no_sense_are_not_taken(void **unused)
{
	const uint64_t most = 1ULL << 40;
	const struct jfr_head heads[] = {
		{.lost_samples = most + 1}, {.lost_bytes = INT64_MAX}, {.refused = INT64_MAX}};
	const struct jfr_head sane = {
		.lost_samples = most, .lost_bytes = most, .refused = most, .refused_weight = most};

	(void)unused;
	record();
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		assert_true(end_window());
		answer(ATTACH_DONE);
		tell_head(&heads[i], 0);
		assert_int_equal(joined(), 0);
	}
	assert_int_equal(fallen(JFR_FILE), ARRAY_SIZE(heads));
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell_head(&sane, 0);
	assert_int_equal(joined(), 1);
}

static void one_that_is_asked_as_the_daemon_ends_is_told_to_stop(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	assert_int_equal(asked_for(), ATTACH_JFR_DUMP);
	jfr_free(test.jfr);
	assert_int_equal(test.told_last, 1);
	test.jfr = make();
	record();
	jfr_stop(test.jfr); /* what it is asked is that already */
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	jfr_free(test.jfr);
	assert_int_equal(test.told_last, 1);
	test.jfr = NULL;
}

static void one_that_lost_its_recording_is_asked_again_later(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_REFUSED);
	assert_int_equal(joined(), 0);
	assert_int_equal(state(), JFR_FAILED);
	test.jfr->wish.interval_ns = 0;
	jfr_meet(test.jfr, test.target);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP); /* what is left of it, first */
	answer(ATTACH_DONE);
	jfr_meet(test.jfr, test.target);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	answer(ATTACH_DONE);
	assert_int_equal(state(), JFR_STARTING);
}

static void another_wish_begins_anew(void **unused)
{
	struct jfr_wish wish = {1U << PROBE_ONCPU | 1U << PROBE_MEM, 10, NS_PER_S};

	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(0, false);
	jfr_set(test.jfr, &wish);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	assert_int_equal(test.asked->order.recorded, wish.probes);
	assert_int_equal(joined(), 0);
	wish.probes = 0;
	jfr_set(test.jfr, &wish);
	assert_int_equal(asked_for(), ATTACH_JFR_START); /* it is still asked that */
	answer(ATTACH_DONE);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	answer(ATTACH_DONE);
	assert_null(test.jfr->all);
}

static void one_that_is_not_wanted_stops_and_may_come_back(void **unused)
{
	(void)unused;
	record();
	jfr_sweep(test.jfr, nobody, NULL);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	assert_int_equal(state(), JFR_NONE);
	assert_true(jfr_has(test.jfr, test.target));
	jfr_meet(test.jfr, test.target);
	answer(ATTACH_DONE);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	answer(ATTACH_DONE);
	jfr_stop(test.jfr);
	answer(ATTACH_SILENT);
	assert_false(jfr_has(test.jfr, test.target));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_second_window_is_its_own),
		TEST(what_it_is_told_of_borders),
		TEST(one_that_begins_elsewhere_is_not_taken),
		TEST(after_one_without_an_answer_is_one_that_does_not_join),
		TEST(one_that_is_silent_is_given_up),
		TEST(one_that_could_not_be_asked_once_goes_on),
		TEST(one_that_failed_may_be_let_go_while_it_is_told_to_stop),
		TEST(time_is_bounded),
		TEST(one_whose_files_hang_is_not_asked_again),
		TEST(a_look_that_hangs_is_the_last_one),
		TEST(windows_that_are_not_told_are_misses),
		TEST(what_all_tell_of_a_window_is_bounded),
		TEST(so_many_are_asked_at_most),
		TEST(another_program_is_asked_anew),
		TEST(one_that_begins_as_another_program_comes_is_let_go),
		TEST(another_name_is_the_same_program),
		TEST(counts_that_make_no_sense_are_not_taken),
		TEST(one_that_is_asked_as_the_daemon_ends_is_told_to_stop),
		TEST(one_that_lost_its_recording_is_asked_again_later),
		TEST(another_wish_begins_anew),
		TEST(one_that_is_not_wanted_stops_and_may_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
