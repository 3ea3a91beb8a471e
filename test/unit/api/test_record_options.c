// SPDX-License-Identifier: GPL-2.0-or-later
/* The arguments of `stackprobe record`, where no recording shows them. */
#include "command/record/record_options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/cleanup.h"
#include "unit/lib/unit.h"

#define BOTH (1u << PROBE_ONCPU | 1u << PROBE_OFFCPU)

static int parse(struct record_options *options, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	optind = 0; /* getopt begins anew */
	return record_options_parse(options, argc, argv);
}

static void one_probe_is_written_to_the_path_as_it_is(void **state)
{
	struct record_options options = {.probes = 1u << PROBE_ONCPU, .path = "a.b/out.svg"};
	char path[32];

	(void)state;
	assert_int_equal(record_options_path(&options, PROBE_ONCPU, path, sizeof(path)), 0);
	assert_string_equal(path, "a.b/out.svg");
}

static void several_probes_have_their_names_before_the_extension(void **state)
{
	struct record_options options = {
		.probes = BOTH, .path = "a.b/out.svg", .output = output_find("svg")};
	char path[32];

	(void)state;
	assert_int_equal(record_options_path(&options, PROBE_ONCPU, path, sizeof(path)), 0);
	assert_string_equal(path, "a.b/out.oncpu.svg");
	assert_int_equal(record_options_path(&options, PROBE_OFFCPU, path, sizeof(path)), 0);
	assert_string_equal(path, "a.b/out.offcpu.svg");
	assert_int_equal(record_options_path(&options, PROBE_OFFCPU, path, 18), -ENAMETOOLONG);
	options.path = "a.b/out.pb.gz";
	options.output = output_find("pb.gz");
	assert_int_equal(record_options_path(&options, PROBE_OFFCPU, path, sizeof(path)), 0);
	assert_string_equal(path, "a.b/out.offcpu.pb.gz");
}

static void a_view_of_held_memory_has_a_file_of_its_own(void **state)
{
	struct record_options options = {.probes = BOTH | 1u << PROBE_MEM_GLIBC,
					 .view_name = "inuse",
					 .path = "out.svg",
					 .output = output_find("svg")};
	char path[32];

	(void)state;
	assert_int_equal(record_options_path(&options, PROBE_MEM_GLIBC, path, sizeof(path)), 0);
	assert_string_equal(path, "out.mem_glibc-inuse.svg");
	assert_int_equal(record_options_path(&options, PROBE_ONCPU, path, sizeof(path)), 0);
	assert_string_equal(path, "out.oncpu.svg");
}

static void options_say_what_is_to_be_seen_of_stacks(void **state)
{
	char *plain[] = {(char[]){"record"}, (char[]){"true"}, NULL};
	char *all[] = {(char[]){"record"}, (char[]){"--native-stack"}, (char[]){"--frame-detail"},
		       (char[]){"name"},   (char[]){"true"},	       NULL};
	char *wrong[] = {(char[]){"record"}, (char[]){"--frame-detail=file"}, (char[]){"true"},
			 NULL};
	struct record_options options;

	(void)state;
	assert_int_equal(parse(&options, plain), -1);
	assert_true(options.detail.thread_frame);
	assert_int_equal(options.detail.frames, FRAME_DETAIL_LINE);
	assert_false(options.detail.native_stack);
	record_options_done(&options);
	assert_int_equal(parse(&options, all), -1);
	assert_true(options.detail.thread_frame && options.detail.native_stack);
	assert_int_equal(options.detail.frames, FRAME_DETAIL_NAME);
	record_options_done(&options);
	assert_int_equal(parse(&options, wrong), 2);
	record_options_done(&options);
}

static void a_view_is_of_mem_glibc(void **state)
{
	static const char *const wrong[][5] = {
		{"-e", "oncpu", "--view", "inuse", "-p1"},
		{"-e", "mem_glibc", "--view", "leak", "-p1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct record_options options;
		char *argv[7] = {(char[]){"record"}};

		for (size_t k = 0; k < ARRAY_SIZE(wrong[i]); k++)
			argv[k + 1] = strdup(wrong[i][k]);
		assert_int_equal(parse(&options, argv), 2);
		record_options_done(&options);
		for (size_t k = 0; k < ARRAY_SIZE(wrong[i]); k++)
			free(argv[k + 1]);
	}
}

static void defaults_are_100_hz_of_oncpu_without_an_end(void **state)
{
	char *argv[] = {(char[]){"record"}, (char[]){"true"}, (char[]){"-d"}, NULL};
	struct record_options options;

	(void)state;
	assert_int_equal(parse(&options, argv), -1);
	assert_int_equal(options.period_ns, 10000000);
	assert_int_equal(options.probes, 1u << PROBE_ONCPU);
	assert_int_equal(options.duration_ns, 0);
	assert_string_equal(options.path, "stackprobe.svg");
	assert_string_equal(options.output->extension, "svg");
	assert_string_equal(options.command[0], "true");
	assert_string_equal(options.command[1], "-d");
	record_options_done(&options);
}

static void times_and_rates_are_taken_exactly(void **state)
{
	char *argv[] = {(char[]){"record"}, (char[]){"-d.25"}, (char[]){"-F1000"},
			(char[]){"-o-"},    (char[]){"true"},  NULL};
	struct record_options options;

	(void)state;
	assert_int_equal(parse(&options, argv), -1);
	assert_int_equal(options.duration_ns, 250000000);
	assert_int_equal(options.period_ns, 1000000);
	assert_string_equal(options.output->extension, "folded");
	record_options_done(&options);
}

static void a_pid_that_is_named_twice_is_taken_once(void **state)
{
	char *argv[] = {(char[]){"record"}, (char[]){"-p1,1"}, (char[]){"-p1"}, NULL};
	struct record_options options;

	(void)state;
	assert_int_equal(parse(&options, argv), -1);
	assert_int_equal(options.ids_count, 1);
	assert_int_equal(options.ids[0].pid, 1);
	record_options_done(&options);
}

static void more_pids_than_there_is_room_for_are_refused(void **state)
{
	static char list[RECORD_PIDS_MAX * 8];
	char *argv[] = {(char[]){"record"}, (char[]){"-p"}, list, NULL};
	struct record_options options;
	size_t len = 0;

	(void)state;
	for (int i = 1; i <= RECORD_PIDS_MAX + 1; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%d", len ? "," : "", i);
	assert_int_equal(parse(&options, argv), 2);
	record_options_done(&options);
}

static void a_trigger_is_read_and_goes_with_processes_that_run(void **state)
{
	char *all[] = {(char[]){"record"}, (char[]){"-a"}, (char[]){"--trigger"},
		       (char[]){"io full 1 500000 /a"}, NULL};
	char *command[] = {(char[]){"record"}, (char[]){"--trigger"}, (char[]){"io full 1 500000"},
			   (char[]){"true"}, NULL};
	char *wrong[] = {(char[]){"record"}, (char[]){"-a"}, (char[]){"--trigger=io full 1"}, NULL};
	struct record_options options;

	(void)state;
	assert_int_equal(parse(&options, all), -1);
	assert_true(options.waits);
	assert_int_equal(options.trigger.on, PRESSURE_ON_IO);
	assert_string_equal(options.trigger.cgroup, "/a");
	record_options_done(&options);
	assert_int_equal(parse(&options, command), 2);
	record_options_done(&options);
	assert_int_equal(parse(&options, wrong), 2);
	record_options_done(&options);
}

static void an_interval_is_of_whole_seconds_and_of_text_without_a_contradiction(void **state)
{
	static const char *const wrong[][5] = {
		{"--every=0", "-o-", "-a"},
		{"--every=1.5", "-o-", "-a"},
		{"--every=x", "-o-", "-a"},
		{"--every=86401", "-o-", "-a"},
		{"--every=1", "-a"},
		{"--every=1", "-ox.pb.gz", "-a"},
		{"--every=1", "-ox.frames", "-a"},
		{"--every=1", "-ox.folded", "--top=3", "-a"},
		{"--every=1", "-ox.folded", "--compare=y", "-a"},
		{"--every=1", "-ox.folded", "-emem_glibc", "--view=peak", "-a"},
	};
	static const char *const right[] = {"-o-", "-ox.folded", "-ox.json", "-ox.jsonl"};
	struct record_options options;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char *argv[7] = {(char[]){"record"}};

		for (size_t k = 0; k < ARRAY_SIZE(wrong[i]) && wrong[i][k]; k++)
			argv[k + 1] = (char *)wrong[i][k];
		assert_int_equal(parse(&options, argv), 2);
		record_options_done(&options);
	}
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		char *argv[] = {(char[]){"record"}, (char[]){"--every=86400"}, (char *)right[i],
				(char[]){"-a"}, NULL};

		assert_int_equal(parse(&options, argv), -1);
		assert_int_equal(options.every_ns, 86400 * NS_PER_S);
		record_options_done(&options);
	}
}

static void stacks_are_chosen_as_told_and_all_are_by_default(void **state)
{
	char *plain[] = {(char[]){"record"}, (char[]){"-a"}, NULL};
	char *told[] = {(char[]){"record"},
			(char[]){"--min=2"},
			(char[]){"--max=9"},
			(char[]){"--top-stacks=3"},
			(char[]){"--top=4"},
			(char[]){"-a"},
			NULL};
	struct record_options options;

	(void)state;
	assert_int_equal(parse(&options, plain), -1);
	assert_false(stack_choice_chooses(&options.stacks) || options.stacks.by_value);
	record_options_done(&options);
	assert_int_equal(parse(&options, told), -1);
	assert_true(options.stacks.min == 2 && options.stacks.max == 9);
	assert_true(options.stacks.top == 3 && options.stacks.by_value && options.top == 4);
	record_options_done(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_probe_is_written_to_the_path_as_it_is),
		cmocka_unit_test(several_probes_have_their_names_before_the_extension),
		cmocka_unit_test(a_view_of_held_memory_has_a_file_of_its_own),
		cmocka_unit_test(options_say_what_is_to_be_seen_of_stacks),
		cmocka_unit_test(a_view_is_of_mem_glibc),
		cmocka_unit_test(defaults_are_100_hz_of_oncpu_without_an_end),
		cmocka_unit_test(times_and_rates_are_taken_exactly),
		cmocka_unit_test(a_pid_that_is_named_twice_is_taken_once),
		cmocka_unit_test(more_pids_than_there_is_room_for_are_refused),
		cmocka_unit_test(a_trigger_is_read_and_goes_with_processes_that_run),
		cmocka_unit_test(
			an_interval_is_of_whole_seconds_and_of_text_without_a_contradiction),
		cmocka_unit_test(stacks_are_chosen_as_told_and_all_are_by_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
