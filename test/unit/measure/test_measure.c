// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of rows as /metrics, GET and the document show it. */
#include "unit/lib/buf_text.h"
#include "unit/lib/unit.h"

#include "measure/measure.h"

struct fruit {
	uint64_t apples, huge;
	uint32_t pears;
	uint64_t eaten[3], ripe[2];
	double age_s;
	const char *sorts[3];
	uint32_t of_sort[3];
};

static const char *eater(unsigned value)
{
	static const char *const names[] = {"nobody", "bird", "worm"};

	return names[value];
}

static uint64_t both(const void *stats)
{
	const struct fruit *fruit = stats;

	return fruit->apples + fruit->pears;
}

static double age_of(const void *stats)
{
	const struct fruit *fruit = stats;

	return fruit->age_s;
}

static void write_named(struct buf *out, const struct measure *row, const void *stats)
{
	const struct fruit *fruit = stats;

	buf_printf(out, "stackprobe_%s{tree=\"a\"} %u\n", row->name, fruit->pears);
}

static const struct measure_label by = {"by", eater, 1, 3};
static const struct measure_label state = {.name = "state"}, sort = {.name = "sort"};

static const struct measure rows[] = {
	{"apples_total", "apples", COUNTER, "Apples.", MEASURE_AT(fruit, apples)},
	{"huge_bytes", NULL, GAUGE, "Much.", MEASURE_AT(fruit, huge)},
	{NULL, "pears", GAUGE, "Pears, in GET alone.", MEASURE_AT(fruit, pears)},
	{"eaten_total", "eaten", COUNTER, "Eaten, by whom.", MEASURE_EACH(fruit, eaten, &by)},
	{"ripe", "ripe", GAUGE, "Ripe or not.", MEASURE_AT(fruit, ripe[0]), .label = &state,
	 .label_is = "yes"},
	{"ripe", NULL, GAUGE, NULL, MEASURE_AT(fruit, ripe[1]), .label = &state, .label_is = "no"},
	{"both", "both", GAUGE, "Both.", .count = both},
	{"age_seconds", NULL, GAUGE, "Age.", .seconds = age_of},
	{"named", NULL, GAUGE, "By tree.", .lines = write_named, .labels = "tree"},
	{"sorts", "sorts", GAUGE, "By sort.", MEASURE_EACH_NAMED(fruit, of_sort, &sort, sorts)},
};

static const struct measures fruits = {"Fruit", "status.garden.fruit", MEASURE_ROWS(rows)};

static const struct fruit some = {
	1, 12345678901234567890ULL, 2, {100, 3, 4}, {5, 6}, 1.25, {"boskoop", "cox"}, {7, 8, 9},
};

static void metrics_have_a_head_for_each_name_and_a_line_for_each_number(void **state_)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);

	(void)state_;
	measures_lines(&out, &fruits, &some);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(text, "# HELP stackprobe_apples_total Apples.\n"
				  "# TYPE stackprobe_apples_total counter\n"
				  "stackprobe_apples_total 1\n"
				  "# HELP stackprobe_huge_bytes Much.\n"
				  "# TYPE stackprobe_huge_bytes gauge\n"
				  "stackprobe_huge_bytes 12345678901234567890\n"
				  "# HELP stackprobe_eaten_total Eaten, by whom.\n"
				  "# TYPE stackprobe_eaten_total counter\n"
				  "stackprobe_eaten_total{by=\"bird\"} 3\n"
				  "stackprobe_eaten_total{by=\"worm\"} 4\n"
				  "# HELP stackprobe_ripe Ripe or not.\n"
				  "# TYPE stackprobe_ripe gauge\n"
				  "stackprobe_ripe{state=\"yes\"} 5\n"
				  "stackprobe_ripe{state=\"no\"} 6\n"
				  "# HELP stackprobe_both Both.\n"
				  "# TYPE stackprobe_both gauge\n"
				  "stackprobe_both 3\n"
				  "# HELP stackprobe_age_seconds Age.\n"
				  "# TYPE stackprobe_age_seconds gauge\n"
				  "stackprobe_age_seconds 1.25\n"
				  "# HELP stackprobe_named By tree.\n"
				  "# TYPE stackprobe_named gauge\n"
				  "stackprobe_named{tree=\"a\"} 2\n"
				  "# HELP stackprobe_sorts By sort.\n"
				  "# TYPE stackprobe_sorts gauge\n"
				  "stackprobe_sorts{sort=\"boskoop\"} 7\n"
				  "stackprobe_sorts{sort=\"cox\"} 8\n");
}

static void get_has_the_keys_in_the_order_of_the_rows(void **state_)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);
	struct json json = {.out = &out};

	(void)state_;
	json_object(&json, NULL);
	measures_json_object(&json, &fruits, &some);
	measures_json(&json, &fruits, &some);
	json_object_end(&json);
	_cleanup_free_ char *text = take_text(&out, NULL);
#define KEYS                                                                                       \
	"\"apples\":1,\"pears\":2,\"eaten\":{\"bird\":3,\"worm\":4},\"ripe\":5,\"both\":3,"        \
	"\"sorts\":{\"boskoop\":7,\"cox\":8}"
	assert_string_equal(text, "{\"fruit\":{" KEYS "}," KEYS "}");
}

static void the_document_has_a_line_for_each_name_and_each_key(void **state_)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);

	(void)state_;
	measures_list(&out, &fruits, NULL);
	measures_list(&out, &fruits, &fruits);
	_cleanup_free_ char *text = take_text(&out, NULL);
#define LINES                                                                                      \
	"| `stackprobe_apples_total` | counter |  | `status.garden.fruit.apples` | Apples. |\n"    \
	"| `stackprobe_huge_bytes` | gauge |  |  | Much. |\n"                                      \
	"| | |  | `status.garden.fruit.pears` | Pears, in GET alone. |\n"                          \
	"| `stackprobe_eaten_total` | counter | `by`: bird, worm | "                               \
	"`status.garden.fruit.eaten.*` | Eaten, by whom. |\n"                                      \
	"| `stackprobe_ripe` | gauge | `state`: yes, no | `status.garden.fruit.ripe` (yes) | "     \
	"Ripe or "                                                                                 \
	"not. |\n"                                                                                 \
	"| `stackprobe_both` | gauge |  | `status.garden.fruit.both` | Both. |\n"                  \
	"| `stackprobe_age_seconds` | gauge |  |  | Age. |\n"                                      \
	"| `stackprobe_named` | gauge | `tree` |  | By tree. |\n"                                  \
	"| `stackprobe_sorts` | gauge | `sort` | `status.garden.fruit.sorts.*` | By sort. |\n"
	assert_string_equal(text, "\n## Fruit\n\n| metric | type | labels | in GET | is |\n"
				  "|---|---|---|---|---|\n" LINES LINES);
}

/* ---- an array of statistics ---- */

static const struct measure each_rows[] = {
	{"pears", "pears", GAUGE, "Pears.", MEASURE_AT(fruit, pears)},
	{NULL, "eaten", COUNTER, "Eaten.", MEASURE_EACH(fruit, eaten, &by)},
};

static const struct measure_label garden = {"garden", eater, 0, 2};
static const struct measures gardens = {
	"Gardens",	  "status.*",	   MEASURE_ROWS(each_rows),
	.scope = OF_EACH, .each = &garden, .stride = sizeof(struct fruit)};

static void statistics_of_each_have_a_series_each(void **state_)
{
	const struct fruit two[] = {{.pears = 1}, {.pears = 2, .eaten = {0, 3, 4}}};
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);
	struct json json = {.out = &out};

	(void)state_;
	measures_lines(&out, &gardens, two);
	measures_json(&json, &gardens, &two[1]);
	measures_list(&out, &gardens, &gardens);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(
		text, "# HELP stackprobe_pears Pears.\n# TYPE stackprobe_pears gauge\n"
		      "stackprobe_pears{garden=\"nobody\"} 1\n"
		      "stackprobe_pears{garden=\"bird\"} 2\n"
		      "\"pears\":2,\"eaten\":{\"bird\":3,\"worm\":4}"
		      "| `stackprobe_pears` | gauge | `garden`: nobody, bird | `status.*.pears` | "
		      "Pears. |\n"
		      "| | | `by`: bird, worm | `status.*.eaten.*` | Eaten. |\n");
}

static void write_all(struct buf *out, const void *stats)
{
	const struct fruit *fruit = stats;

	buf_printf(out, "all %u\n", fruit->pears);
}

static void a_table_may_write_itself(void **state_)
{
	struct measures own = fruits;
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);

	(void)state_;
	own.write = write_all;
	measures_lines(&out, &own, &some);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(text, "all 2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_have_a_head_for_each_name_and_a_line_for_each_number),
		cmocka_unit_test(get_has_the_keys_in_the_order_of_the_rows),
		cmocka_unit_test(the_document_has_a_line_for_each_name_and_each_key),
		cmocka_unit_test(statistics_of_each_have_a_series_each),
		cmocka_unit_test(a_table_may_write_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
