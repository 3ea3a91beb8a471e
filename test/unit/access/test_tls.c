// SPDX-License-Identifier: GPL-2.0-or-later
/* access/tls: keys and certificates made by the openssl program. Sessions:
 * test/e2e/access/test_http_tls.py.
 */
#include "unit/lib/folder.h"

#include "access/tls.h"

#define KEY "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -batch"

static struct folder folder;
static bool has_openssl;

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char command[2048];
	va_list args;
	int len = snprintf(command, sizeof(command), "cd %s && ", folder.path);

	va_start(args, format);
	vsnprintf(command + len, sizeof(command) - (size_t)len, format, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("%s", command);
}

static int make(void **state)
{
	(void)state;
	folder_make(&folder);
	has_openssl = system("openssl version >/dev/null 2>&1") == 0;
	if (!has_openssl) {
		print_message("no openssl program\n");
		return 0;
	}
	for (int i = 0; i < 2; i++)
		run("openssl req -x509 " KEY
		    " -days 2 -subj /CN=%s -keyout %s.key -out %s.pem 2>/dev/null",
		    i ? "b" : "a", i ? "b" : "a", i ? "b" : "a");
	run("openssl req -new " KEY " -subj /CN=late -keyout late.key -out late.csr 2>/dev/null && "
	    "openssl x509 -req -in late.csr -CA a.pem -CAkey a.key -days -1 -out late.pem "
	    "2>/dev/null");
	run("openssl ec -in a.key -aes128 -passout pass:secret -out locked.key 2>/dev/null");
	run("cat a.pem b.pem >chain.pem; : >empty; echo rubbish >rubbish; mkfifo pipe; "
	    "openssl x509 -in a.pem -outform DER -out a.der");
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	folder_done(&folder);
	return 0;
}

struct read {
	struct tls_keys *keys;
	struct why warning, why;
	int r;
};

static struct read read_keys(const char *key, const char *certificate, const char *authority)
{
	char paths[3][128] = {""};
	const char *const names[] = {key, certificate, authority};
	struct read read = {0};

	for (int i = 0; i < 3; i++) {
		if (names[i][0])
			snprintf(paths[i], sizeof(paths[i]), "%s%s%s",
				 names[i][0] == '/' ? "" : folder.path,
				 names[i][0] == '/' ? "" : "/", names[i]);
	}
	read.r = tls_keys_read(&read.keys, paths[0], paths[1], paths[2], &read.warning, &read.why);
	assert_int_equal(read.r == 0, read.keys != NULL);
	return read;
}

static void assert_fine(const char *key, const char *certificate, const char *authority,
			const char *warning)
{
	struct read read = read_keys(key, certificate, authority);

	if (read.r != 0)
		fail_msg("%s", read.why.text);
	assert_has(read.warning.text, warning);
	assert_int_equal(read.warning.text[0] != '\0', warning[0] != '\0');
	tls_keys_free(read.keys);
}

static void assert_refused(const char *key, const char *certificate, const char *authority,
			   const char *why)
{
	struct read read = read_keys(key, certificate, authority);

	assert_true(read.r < 0);
	assert_has(read.why.text, why);
}

static void keys_that_belong_together_are_taken(void **state)
{
	(void)state;
	if (!has_openssl)
		skip();
	assert_fine("a.key", "a.pem", "", "");
	assert_fine("a.key", "chain.pem", "b.pem", "");
	assert_fine("a.key", "a.pem", "chain.pem", "");
}

static void a_certificate_that_has_expired_is_taken_with_a_warning(void **state)
{
	(void)state;
	if (!has_openssl)
		skip();
	assert_fine("late.key", "late.pem", "", "late.pem has expired");
}

static void what_cannot_be_used_is_refused_with_its_file(void **state)
{
	(void)state;
	if (!has_openssl)
		skip();
	assert_refused("b.key", "a.pem", "", "a.pem and private_key can't be used");
	assert_refused("a.key", "rubbish", "", "rubbish and private_key can't be used");
	assert_refused("a.key", "empty", "", "empty and private_key can't be used");
	assert_refused("a.key", "a.der", "", "can't be used");
	assert_refused("rubbish", "a.pem", "", "can't be used");
	assert_refused("empty", "a.pem", "", "can't be used");
	assert_refused("a.pem", "a.pem", "", "can't be used");
	assert_refused("locked.key", "a.pem", "", "can't be used");
	assert_refused("a.key", "a.pem", "rubbish", "rubbish can't be used");
	assert_refused("a.key", "a.pem", "empty", "empty can't be used");
	assert_refused("a.key", "a.pem", "a.key", "a.key can't be used");
}

static void what_is_no_file_is_refused_at_once(void **state)
{
	(void)state;
	if (!has_openssl)
		skip();
	assert_refused("nowhere", "a.pem", "", "nowhere: No such file");
	assert_refused("a.key", "nowhere", "", "nowhere: No such file");
	assert_refused("a.key", "a.pem", "nowhere", "nowhere: No such file");
	assert_refused("pipe", "a.pem", "", "no regular file");
	assert_refused("a.key", "pipe", "", "no regular file");
	assert_refused("/dev/zero", "a.pem", "", "no regular file");
	assert_refused("a.key", "/proc/self", "", "no regular file");
}

static void a_huge_file_is_refused(void **state)
{
	(void)state;
	if (!has_openssl)
		skip();
	run("truncate -s 1G huge");
	assert_refused("huge", "a.pem", "", "huge");
	assert_refused("a.key", "huge", "", "huge");
}

static void keys_are_equal_when_all_their_files_are(void **state)
{
	(void)state;
	if (!has_openssl)
		skip();
	struct read a = read_keys("a.key", "a.pem", ""), again = read_keys("a.key", "a.pem", ""),
		    b = read_keys("b.key", "b.pem", ""),
		    with = read_keys("a.key", "a.pem", "b.pem");

	assert_true(tls_keys_equal(NULL, NULL));
	assert_false(tls_keys_equal(a.keys, NULL));
	assert_false(tls_keys_equal(NULL, a.keys));
	assert_true(tls_keys_equal(a.keys, again.keys));
	assert_false(tls_keys_equal(a.keys, b.keys));
	assert_false(tls_keys_equal(a.keys, with.keys));
	tls_keys_free(a.keys);
	tls_keys_free(again.keys);
	tls_keys_free(b.keys);
	tls_keys_free(with.keys);
	tls_keys_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_belong_together_are_taken),
		cmocka_unit_test(a_certificate_that_has_expired_is_taken_with_a_warning),
		cmocka_unit_test(what_cannot_be_used_is_refused_with_its_file),
		cmocka_unit_test(what_is_no_file_is_refused_at_once),
		cmocka_unit_test(a_huge_file_is_refused),
		cmocka_unit_test(keys_are_equal_when_all_their_files_are),
	};
	return cmocka_run_group_tests(tests, make, remove_all);
}
