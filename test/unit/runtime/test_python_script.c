// SPDX-License-Identifier: GPL-2.0-or-later
/* Real Pythons tell their files' names; shortened, they are what lies in the script's folder. */
#include "unit/lib/unit.h"

#include <stdio.h>
#include <sys/stat.h>

#include "runtime/python_script.h"
#include "unit/python/python_process.h"

static char root[] = "/tmp/python-script-XXXXXX";

static const char text[] = "import sys, m\n"
			   "print(sys._getframe().f_code.co_filename)\n"
			   "print(m.file, flush=True)\n"
			   "sys.stdin.read()\n";

static void write_file(const char *name, const char *content)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(const char *to, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(symlink(to, path), 0);
}

static int make_files(void **state)
{
	char target[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(root));
	make_folder("app");
	make_folder("bin");
	write_file("app/run.py", text);
	write_file("app/__main__.py", text);
	write_file("app/m.py", "import sys\nfile = sys._getframe().f_code.co_filename\n");
	make_link("../app/run.py", "bin/tool");
	snprintf(target, sizeof(target), "%s/app/run.py", root);
	make_link(target, "bin/absolute");
	make_link("bin/tool", "twice");
	make_link("app", "linked");
	assert_int_equal(chdir(root), 0);
	return 0;
}

static int remove_files(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command); /* NOLINT(cert-env33-c): a test's own folder */
}

/* Before 3.9 a script that is called by a relative path has that as its name. */
static void check_line(FILE *output, const struct pypath_script *script, const char *expected)
{
	char line[PATH_MAX];

	assert_non_null(fgets(line, sizeof(line), output));
	line[strcspn(line, "\n")] = '\0';
	size_t len = strlen(line);
	if (line[0] != '/')
		return;
	const char *name = pypath_shorten(line, &len, script);
	if (strcmp(name, expected) != 0)
		fail_msg("%s is %s: %s, %s", line, name, script->dir, script->called);
}

static void check(const char *python, const char *called, const char *name)
{
	const char *const arguments[] = {python, "-BE", called, NULL};
	struct python_process process;
	struct pypath_script script;

	python_start(&process, python, arguments);
	int first = fgetc(process.output); /* it runs */
	assert_int_not_equal(first, EOF);
	ungetc(first, process.output);
	assert_int_equal(python_script(process.pid, &script), 0);
	assert_non_null(script.dir);
	check_line(process.output, &script, name);
	check_line(process.output, &script, "m.py");
	python_script_done(&script);
	assert_int_equal(python_end(&process), 0);
}

static void check_python(const char *python)
{
	char absolute[PATH_MAX];

	snprintf(absolute, sizeof(absolute), "%s/bin/tool", root);
	check(python, "app/run.py", "run.py");
	check(python, "./app/run.py", "run.py");
	check(python, "bin/../app/./run.py", "run.py");
	check(python, "bin/tool", "tool");
	check(python, absolute, "tool");
	check(python, "./bin/absolute", "absolute");
	check(python, "twice", "twice");
	check(python, "linked/run.py", "run.py");
	check(python, "app", "__main__.py");
	check(python, "./app/", "__main__.py");
	check(python, "bin/../linked", "__main__.py");
	print_message("%s\n", python);
}

static void scripts_of_all_pythons(void **state)
{
	int count = 0;

	(void)state;
	for (int minor = 8; minor <= 15; minor++)
		count += each_python(minor, check_python);
	if (!count)
		skip();
}

static void who_has_gone_has_none(void **state)
{
	struct pypath_script script;

	(void)state;
	assert_int_equal(python_script(0, &script), 0);
	assert_null(script.dir);
	assert_null(script.called);
	python_script_done(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts_of_all_pythons),
		cmocka_unit_test(who_has_gone_has_none),
	};

	return cmocka_run_group_tests_name("python_script", tests, make_files, remove_files);
}
