// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "runtime/python_line.h"

#define LINE(text) text, sizeof(text)

static void check(const char *line, size_t bytes, const char *cwd, const char *expected)
{
	_cleanup_free_ char *script = python_line_script(line, bytes, cwd);
	_cleanup_free_ char *dir = script ? python_line_dir(script) : NULL;

	if (!expected && dir)
		fail_msg("\"%s\" instead of nothing", dir);
	else if (expected && (!dir || strcmp(dir, expected) != 0))
		fail_msg("\"%s\" instead of \"%s\"", dir ? dir : "nothing", expected);
}

static void the_scripts_folder(void **state)
{
	(void)state;
	check(LINE("python3\0/srv/app/run.py\0-x"), "/home/me", "/srv/app");
	check(LINE("python3\0run.py"), "/home/me", "/home/me");
	check(LINE("python3\0bin/run.py"), "/home/me", "/home/me/bin");
	check(LINE("python3\0./bin//../run.py"), "/home/me", "/home/me");
	check(LINE("python3\0../../../run.py"), "/home/me", "/");
	check(LINE("python3\0/run.py"), NULL, "/");
	check(LINE("python3\0run.py"), NULL, NULL);
	check(LINE("/usr/bin/python3\0/srv/h\xc3\xa9/run.py"), "/", "/srv/h\xc3\xa9");
}

static void options_before_the_script(void **state)
{
	(void)state;
	check(LINE("python3\0-u\0-OO\0-bB\0/srv/run.py"), "/w", "/srv");
	check(LINE("python3\0-X\0perf\0/srv/run.py"), "/w", "/srv");
	check(LINE("python3\0-Xperf\0/srv/run.py"), "/w", "/srv");
	check(LINE("python3\0-W\0ignore\0-Werror\0/srv/run.py"), "/w", "/srv");
	check(LINE("python3\0-uX\0dev\0/srv/run.py"), "/w", "/srv");
	check(LINE("python3\0--check-hash-based-pycs\0always\0/srv/run.py"), "/w", "/srv");
	check(LINE("python3\0-u\0--\0/srv/run.py"), "/w", "/srv");
	check(LINE("python3\0-E\0-s\0/srv/run.py\0-m\0-I"), "/w", "/srv");
}

static void the_working_folder(void **state)
{
	(void)state;
	check(LINE("python3"), "/w", "/w");
	check(LINE("python3\0-c\0print()"), "/w/", "/w");
	check(LINE("python3\0-cprint()"), "/w", "/w");
	check(LINE("python3\0-m\0http.server"), "/w", "/w");
	check(LINE("python3\0-um\0http.server\0/srv/x.py"), "/w", "/w");
	check(LINE("python3\0-\0/srv/x.py"), "/w", "/w");
	check(LINE("python3\0-i"), "/w", "/w");
	check(LINE("python3\0--"), "/w", "/w");
	check(LINE("python3\0-c\0x"), NULL, NULL);
}

static void no_folder_or_no_python(void **state)
{
	(void)state;
	check(LINE("python3\0-I\0/srv/run.py"), "/w", NULL);
	check(LINE("python3\0-uP\0/srv/run.py"), "/w", NULL);
	check(LINE("uwsgi\0--ini\0/srv/app.ini"), "/w", NULL);
	check(LINE("gunicorn: worker [app]\0-y"), "/w", NULL);
	check(LINE("python3\0-X"), "/w", NULL);
	check(LINE("python3\0\0/srv/run.py"), "/w", NULL);
	check("", 0, "/w", NULL);
	check("python3", 7, "/w", NULL);	   /* cut off */
	check("python3\0/srv/ru", 15, "/w", "/w"); /* the script was: none is seen */
}

static void the_scripts_path(void **state)
{
	static const struct {
		const char *line;
		size_t bytes;
		const char *path;
	} cases[] = {
		{LINE("python3\0run.py"), "/w/run.py"},
		{LINE("python3\0./bin/../run.py"), "/w/./bin/../run.py"},
		{LINE("python3\0/srv/run.py"), "/srv/run.py"},
		{LINE("python3\0-c\0x"), "/w/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *path = python_line_script(cases[i].line, cases[i].bytes, "/w");
		assert_string_equal(path, cases[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scripts_folder), cmocka_unit_test(options_before_the_script),
		cmocka_unit_test(the_working_folder), cmocka_unit_test(no_folder_or_no_python),
		cmocka_unit_test(the_scripts_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
