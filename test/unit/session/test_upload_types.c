// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What uploads call each probe's profiles, against what a Pyroscope takes: as measured of a real
 * one, it drops what isn't so without a word.
 */
#include "unit/lib/buf_text.h"

#include <ctype.h>

#include "kind/kind.h"
#include "session/upload_names.h"

#define SERIES_MAX (PROBE_COUNT * VIEWS)

/* Types that a server has itself, by the group's name. Its page has units for these alone. */
static const struct {
	const char *series, *type, *unit, *period;
} known_types[] = {
	{"process_cpu", "samples", "count", "cpu/nanoseconds"},
	{"process_cpu", "cpu", "nanoseconds", "cpu/nanoseconds"},
	{"memory", "alloc_objects", "count", "space/bytes"},
	{"memory", "alloc_space", "bytes", "space/bytes"},
	{"memory", "inuse_objects", "count", "space/bytes"},
	{"memory", "inuse_space", "bytes", "space/bytes"},
	{"block", "contentions", "count", "contentions/count"},
	{"block", "delay", "nanoseconds", "contentions/count"},
	{"mutex", "contentions", "count", "contentions/count"},
	{"mutex", "delay", "nanoseconds", "contentions/count"},
	{"goroutine", "goroutines", "count", "goroutines/count"},
	{"goroutines", "goroutine", "count", "goroutine/count"},
	{"wall", "wall", "nanoseconds", "cpu/nanoseconds"},
};

/* Ends of a name of /ingest, and what a server takes the numbers for. "": CPU time, by the rate. */
static const struct {
	const char *suffix, *unit;
} suffixes[] = {
	{"", "samples"},	   {".wall", "us"},
	{".bytes", "bytes"},	   {".inuse_objects", "count"},
	{".inuse_space", "bytes"}, {".alloc_objects", "count"},
	{".alloc_space", "bytes"},
};

/* A series of push.v1. */
struct pushed {
	char name[80];
	enum probe probe;
	const struct view_row *view;
};

static struct pushed all[SERIES_MAX];
static size_t count;

/* Takes the value of the label __name__ out of a request. */
static void read_name(const struct buf *request, char name[80])
{
	static const char key[] = "__name__\x12";
	const char *at = memmem(request->data, request->len, key, sizeof(key) - 1);

	assert_non_null(at);
	at += sizeof(key) - 1;
	snprintf(name, 80, "%.*s", (int)(unsigned char)*at, at + 1);
}

static int list_series(void **state)
{
	static const struct upload_names names = {"service", "host", "machine"};
	static const struct upload_piece piece = {.data = "x", .bytes = 1};

	(void)state;
	for (int i = PROBE_SLOT_FIRST; i < PROBE_COUNT; i++) {
		char word[EVENT_WORD_BYTES];

		snprintf(word, sizeof(word), "a-word-%d", i);
		kind_define(i, word);
	}
	for (int i = 0; i < PROBE_COUNT; i++) {
		for (int j = 0; j < VIEWS; j++) {
			_cleanup_buf_ struct buf request = BUF_INIT(SIZE_MAX);

			if (!view_get(i, j) || view_is_held(j)) /* what is held isn't sent */
				continue;
			push_request(&request, &names, i, j, &piece);
			all[count].probe = i;
			all[count].view = view_get(i, j);
			read_name(&request, all[count++].name);
		}
	}
	return 0;
}

static bool is_metric_name(const char *text)
{
	if (!isalpha((unsigned char)text[0]) && text[0] != '_')
		return false;
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	return !*text;
}

/* A dash or a blank in a name is stored, and no query can ever name it. */
static void queries_can_name_each_series_and_type(void **state)
{
	(void)state;
	assert_true(count > PROBE_COUNT);
	for (size_t i = 0; i < count; i++) {
		assert_true(is_metric_name(all[i].name));
		for (int j = 0; j < PPROF_VALUES && all[i].view->pprof->values[j].of; j++)
			assert_true(is_metric_name(all[i].view->pprof->values[j].type));
	}
}

static void each_unit_is_one_that_servers_know(void **state)
{
	(void)state;
	for (size_t i = 0; i < count; i++) {
		for (int j = 0; j < PPROF_VALUES && all[i].view->pprof->values[j].of; j++) {
			const char *unit = all[i].view->pprof->values[j].unit;

			assert_true(strcmp(unit, "count") == 0 || strcmp(unit, "bytes") == 0 ||
				    strcmp(unit, "nanoseconds") == 0);
		}
	}
}

/* Servers add up what has one name: only what is memory in both may have that of another probe. */
static void two_probes_have_two_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++)
			assert_true(strcmp(all[i].name, all[j].name) != 0 ||
				    strcmp(all[i].name, "memory") == 0);
	}
}

static bool is_known(const char *series, const struct pprof_value *value, const char *period)
{
	bool is_series = false;

	for (size_t i = 0; i < ARRAY_SIZE(known_types); i++) {
		bool same = strcmp(known_types[i].series, series) == 0;

		is_series = is_series || same;
		if (same && strcmp(known_types[i].type, value->type) == 0 &&
		    strcmp(known_types[i].unit, value->unit) == 0 &&
		    strcmp(known_types[i].period, period) == 0)
			return true;
	}
	return !is_series && strcmp(period, "/") == 0; /* a group of its own, of no period */
}

static void a_name_that_servers_know_has_their_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < count; i++) {
		const struct pprof_shape *shape = all[i].view->pprof;
		char period[64];

		snprintf(period, sizeof(period), "%s/%s", shape->period_type, shape->period_unit);
		for (int j = 0; j < PPROF_VALUES && shape->values[j].of; j++)
			assert_true(is_known(all[i].name, &shape->values[j], period));
	}
}

static const char *unit_of_suffix(const char *suffix)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (strcmp(suffixes[i].suffix, suffix) == 0)
			return suffixes[i].unit;
	}
	return NULL;
}

/* Returns what a weight of the probe's files is for a server of /ingest. */
static const char *unit_of_files(enum probe probe)
{
	const char *name = kind_get(probe)->count_name;

	if (strcmp(name, "us") == 0 || strcmp(name, "bytes") == 0 || strcmp(name, "samples") == 0)
		return name;
	return "count";
}

/* Another end than these is refused: "unknown profile type". */
static void ingest_has_an_end_for_each_probe_that_means_its_unit(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const char *unit = unit_of_suffix(kind_get(i)->upload.suffix);

		assert_non_null(unit);
		assert_string_equal(unit, unit_of_files(i));
	}
}

/* Wall time is multiplied by the rate's period, 1 us; what isn't a time stays as it is. */
static void a_rate_makes_a_time_of_files_nanoseconds(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct upload_kind *upload = &kind_get(i)->upload;
		bool is_time = strcmp(upload->suffix, ".wall") == 0;

		assert_int_equal(upload->rate, !upload->suffix[0] ? 0 : is_time ? 1000000 : 100);
	}
}

/* The end is behind the last dot; a server takes letters, digits and -_./ in what is before. */
static void ingest_takes_each_app(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const char *app = kind_get(i)->upload.app;

		assert_true(app[0]);
		assert_int_equal(app[strspn(app, "abcdefghijklmnopqrstuvwxyz0123456789_-")], '\0');
		for (int j = 0; j < i; j++)
			assert_string_not_equal(app, kind_get(j)->upload.app);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_can_name_each_series_and_type),
		cmocka_unit_test(each_unit_is_one_that_servers_know),
		cmocka_unit_test(two_probes_have_two_names),
		cmocka_unit_test(a_name_that_servers_know_has_their_types),
		cmocka_unit_test(ingest_has_an_end_for_each_probe_that_means_its_unit),
		cmocka_unit_test(a_rate_makes_a_time_of_files_nanoseconds),
		cmocka_unit_test(ingest_takes_each_app),
	};

	return cmocka_run_group_tests(tests, list_series, NULL);
}
