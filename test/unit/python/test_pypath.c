// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "base/buf.h"
#include "python/pypath.h"
#include "symbol/symbol.h"

static void assert_short_of(const char *path, const char *dir, const char *called,
			    const char *expected)
{
	struct pypath_script script = {(char *)(uintptr_t)dir, (char *)(uintptr_t)called};
	size_t len = strlen(path);
	const char *found = pypath_shorten(path, &len, &script);

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(found, expected, len);
	assert_ptr_equal(found + len, path + strlen(path));
}

static void assert_short(const char *path, const char *dir, const char *expected)
{
	size_t len = strlen(path);

	assert_short_of(path, dir, NULL, expected);
	if (!dir)
		assert_ptr_equal(pypath_shorten(path, &len, NULL) + len, path + strlen(path));
}

static void packages_begin_behind_their_last_root(void **state)
{
	(void)state;
	assert_short("/usr/lib/python3/dist-packages/requests/api.py", NULL, "requests/api.py");
	assert_short("/srv/venv/lib/python3.11/site-packages/flask/app.py", "/srv", "flask/app.py");
	assert_short("/a/site-packages/b/dist-packages/c.py", NULL, "c.py");
	assert_short("/a/dist-packages/b/site-packages/c/lib/python3.9/d.py", NULL,
		     "c/lib/python3.9/d.py");
	assert_short("venv/lib/python3.8/site-packages/x.py", NULL, "x.py");
	assert_short("/a/my-site-packages/x.py", NULL, "/a/my-site-packages/x.py");
	assert_short("/a/site-packages", NULL, "/a/site-packages");
	assert_short("/a/site-packages/", NULL, "/a/site-packages/");
}

static void the_standard_library_begins_behind_its_root(void **state)
{
	(void)state;
	assert_short("/usr/lib/python3.11/json/decoder.py", NULL, "json/decoder.py");
	assert_short("/usr/lib64/python3.9/threading.py", NULL, "threading.py");
	assert_short("/opt/x/lib/python3.13t/asyncio/base_events.py", NULL,
		     "asyncio/base_events.py");
	assert_short("/opt/app/lib/python311.zip/json/__init__.py", NULL, "json/__init__.py");
	assert_short("/home/u/python3.11/x.py", NULL, "/home/u/python3.11/x.py");
	assert_short("/usr/lib/python3.x/x.py", NULL, "/usr/lib/python3.x/x.py");
	assert_short("/usr/lib/python3./x.py", NULL, "/usr/lib/python3./x.py");
	assert_short("/usr/lib/python3/x.py", NULL, "/usr/lib/python3/x.py");
}

static void the_scripts_own_files_begin_behind_its_folder(void **state)
{
	(void)state;
	assert_short("/srv/shop/cart/sum.py", "/srv/shop", "cart/sum.py");
	assert_short("/srv/shop/cart/sum.py", "/srv/shop/", "cart/sum.py");
	assert_short("/srv/shopping/sum.py", "/srv/shop", "/srv/shopping/sum.py");
	assert_short("/srv/shop", "/srv/shop", "/srv/shop");
	assert_short("/srv/shop/", "/srv/shop", "/srv/shop/");
	assert_short("/x.py", "/", "x.py");
	assert_short("/srv/x.py", "", "/srv/x.py");
	assert_short("/srv/x.py", NULL, "/srv/x.py");
	assert_short("run.py", "/srv", "run.py");
}

static void a_script_is_called_otherwise_than_its_modules(void **state)
{
	(void)state;
	assert_short_of("/srv/app/m.py", "/srv/app", "/usr/bin", "m.py");
	assert_short_of("/usr/bin/tool", "/srv/app", "/usr/bin", "tool");
	assert_short_of("/srv/app/m.py", "/srv/app", "/srv", "m.py");
	assert_short_of("/srv/tool", "/srv/app", "/srv", "tool");
	assert_short_of("/srv/./run.py", "/srv", "/srv/.", "run.py");
	assert_short_of("/srv/bin/../run.py", "/srv", "/srv/bin/..", "run.py");
	assert_short_of("/srv/bin/m.py", "/srv", "/srv/bin/..", "bin/m.py");
	assert_short_of("/run.py", "/srv", "", "/run.py");
	assert_short_of("/srv/run.py", NULL, "/srv", "run.py");
}

static void what_is_no_path_stays(void **state)
{
	static const char *const names[] = {"<string>",
					    "<frozen importlib._bootstrap>",
					    "",
					    "/",
					    "//",
					    "<a/site-packages/b>",
					    "/site-packages//",
					    "///site-packages"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_short(names[i], "/srv",
			     strcmp(names[i], "/site-packages//") == 0 ? "/" : names[i]);
}

static void code_that_could_not_be_read_is_unnamed(void **state)
{
	_cleanup_buf_ struct buf name = BUF_INIT(1000);
	struct code code = {.place = CODE_PYTHON, .instruction = 3};
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_new(&symbolizer), 0);
	buf_str(&name, "before");
	struct named named = symbolizer_name(symbolizer, &code, &name);
	assert_int_equal(named.type, FRAME_TYPE_PYTHON);
	assert_true(named.unnamed);
	assert_int_equal(named.line, 0);
	assert_int_equal(named.name_len, strlen("[python]"));
	assert_int_equal(named.file_len, 0);
	assert_int_equal(name.len, strlen("before[python]"));
	assert_memory_equal(name.data, "before[python]", name.len);
	symbolizer_free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_begin_behind_their_last_root),
		cmocka_unit_test(the_standard_library_begins_behind_its_root),
		cmocka_unit_test(the_scripts_own_files_begin_behind_its_folder),
		cmocka_unit_test(a_script_is_called_otherwise_than_its_modules),
		cmocka_unit_test(what_is_no_path_stays),
		cmocka_unit_test(code_that_could_not_be_read_is_unnamed),
	};

	return cmocka_run_group_tests_name("pypath", tests, NULL, NULL);
}
