// SPDX-License-Identifier: GPL-2.0-or-later
/* What `doctor --json` prints. */
#include "unit/lib/unit.h"

#include <cjson/cJSON.h>

#include "command/diagnosis.h"

static char *print(const struct diagnosis *diagnosis)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(diagnosis_print_json(diagnosis, out), 0);
	fclose(out);
	return text;
}

static const struct diagnosis some = {
	.host = {.release = "6.1", .machine = "x86_64"},
	.probes = {[0] = {FINDING_LIMITED, "a \"b\"\n", "c"}},
	.hooks = {[0] = {FINDING_YES, "", ""}},
	.ok = true,
};

static void it_is_indented_by_tabs(void **state)
{
	char uid[32];

	(void)state;
	_cleanup_free_ char *text = print(&some);
	snprintf(uid, sizeof(uid), "\n\t\"uid\":\t%u,\n", (unsigned)geteuid());
	assert_int_equal(
		strncmp(text, "{\n\t\"version\":\t\"" VERSION "\",\n\t\"kernel\":\t\"6.1\"", 30),
		0);
	assert_has(text, uid);
	assert_has(text, "\n\t\"ok\":\ttrue,\n\t\"probes\":\t[{\n\t\t\t\"name\":\t\"oncpu\",\n"
			 "\t\t\t\"state\":\t\"limited\",\n\t\t\t\"reason\":\t\"a \\\"b\\\"\\n\",\n"
			 "\t\t\t\"remedy\":\t\"c\",\n\t\t\t\"built\":\ttrue,\n"
			 "\t\t\t\"kernel\":\t{\n\t\t\t\t\"state\":\t\"yes\",\n"
			 "\t\t\t\t\"reason\":\t\"\",\n\t\t\t\t\"remedy\":\t\"\"\n\t\t\t},\n"
			 "\t\t\t\"needs\":\t[\"btf\", \"");
	assert_has(text, "]\n\t\t}, {\n\t\t\t\"name\":\t\"offcpu\",\n");
	assert_has(text, "]\n\t\t}],\n\t\"sched\":\t[{\n");
	assert_has(text, "\"\n\t\t}]\n}\n");
}

/* cJSON indents in the same way. */
static void another_printer_prints_the_same(void **state)
{
	(void)state;
	_cleanup_free_ char *text = print(&some);
	cJSON *json = cJSON_Parse(text);
	assert_non_null(json);
	char *again = cJSON_Print(json);
	text[strlen(text) - 1] = '\0'; /* its line end */
	assert_string_equal(text, again);
	cJSON_free(again);
	cJSON_Delete(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_indented_by_tabs),
		cmocka_unit_test(another_printer_prints_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
