// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"

#include "access/token.h"

#define GOOD "0123456789abcdef"

struct read {
	struct token token;
	bool exposed;
	struct why why;
	int r;
};

static void read_path(struct read *ret, const char *path)
{
	memset(ret, 0, sizeof(*ret));
	ret->r = token_read(&ret->token, path, &ret->exposed, &ret->why);
}

static void read_bytes(struct read *ret, const void *data, size_t bytes)
{
	_cleanup_folder_ struct folder folder;
	char path[128];

	folder_make(&folder);
	folder_put(&folder, "token", data, bytes);
	snprintf(path, sizeof(path), "%s/token", folder.path);
	read_path(ret, path);
}

static void assert_token(const char *content, const char *wanted)
{
	struct read read;

	read_bytes(&read, content, strlen(content));
	assert_int_equal(read.r, 0);
	assert_int_equal(read.token.len, strlen(wanted));
	assert_string_equal(read.token.text, wanted);
}

static void assert_none(const void *data, size_t bytes)
{
	static const struct token empty;
	struct read read;

	read_bytes(&read, data, bytes);
	if (read.r != -EINVAL)
		fail_msg("%d: %.*s", read.r, (int)bytes, (const char *)data);
	assert_has(read.why.text, "a token is one line of 16 to 256 visible characters");
	assert_memory_equal(&read.token, &empty, sizeof(empty)); /* nothing of it is kept */
}

static void a_line_of_any_end_is_a_token(void **state)
{
	(void)state;
	assert_token(GOOD, GOOD);
	assert_token(GOOD "\n", GOOD);
	assert_token(GOOD "\r\n", GOOD);
	assert_token("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\n", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
}

static void what_is_no_line_of_visible_characters_is_none(void **state)
{
	static const char nul[] = GOOD "\0" GOOD;
	static const char *const bad[] = {
		"",
		"\n",
		"0123456789abcde",
		"0123456789abcde\n",
		GOOD "\n" GOOD "\n",
		GOOD " " GOOD,
		" " GOOD,
		GOOD " ",
		GOOD "\t",
		"0123456789\x01"
		"abcdef",
		"0123456789\x1b"
		"abcdef",
		"0123456789\x7f"
		"abcdef",
		"0123456789\xc3\xa4"
		"abcdef",
		"\xef\xbb\xbf" GOOD,
		"\n" GOOD,
		GOOD "\r" GOOD,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_none(bad[i], strlen(bad[i]));
	assert_none(nul, sizeof(nul) - 1);
	assert_none(nul, strlen(GOOD) + 1);
}

static void its_length_is_bounded(void **state)
{
	char text[TOKEN_MAX * 3];
	struct read read;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t len = 1; len < sizeof(text); len++) {
		read_bytes(&read, text, len);
		assert_int_equal(read.r, len < TOKEN_MIN || len > TOKEN_MAX ? -EINVAL : 0);
	}
	text[TOKEN_MAX] = '\n';
	read_bytes(&read, text, TOKEN_MAX + 1);
	assert_int_equal(read.token.len, TOKEN_MAX);
	text[TOKEN_MAX] = '\r';
	text[TOKEN_MAX + 1] = '\n';
	read_bytes(&read, text, TOKEN_MAX + 2);
	assert_int_equal(read.token.len, TOKEN_MAX);
	read_bytes(&read, text, TOKEN_MAX + 3); /* a byte behind the line */
	assert_int_equal(read.r, -EINVAL);
}

static void what_is_no_file_is_none_at_once(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[128];
	struct read read;

	(void)state;
	folder_make(&folder);
	snprintf(path, sizeof(path), "%s/pipe", folder.path);
	assert_int_equal(mkfifo(path, 0600), 0);
	read_path(&read, path); /* doesn't wait for a writer */
	assert_int_equal(read.r, -EINVAL);
	assert_has(read.why.text, "it is no regular file");
	read_path(&read, folder.path);
	assert_true(read.r < 0);
	read_path(&read, "/dev/zero");
	assert_int_equal(read.r, -EINVAL);
	read_path(&read, "/nowhere/at/all");
	assert_int_equal(read.r, -ENOENT);
	assert_has(read.why.text, "/nowhere/at/all: No such file");
}

static void a_file_that_everybody_may_read_is_told(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[128];
	struct read read;

	(void)state;
	folder_make(&folder);
	folder_put(&folder, "token", GOOD, strlen(GOOD));
	snprintf(path, sizeof(path), "%s/token", folder.path);
	assert_int_equal(chmod(path, 0600), 0);
	read_path(&read, path);
	assert_false(read.exposed);
	assert_int_equal(chmod(path, 0640), 0);
	read_path(&read, path);
	assert_false(read.exposed);
	assert_int_equal(chmod(path, 0604), 0);
	read_path(&read, path);
	assert_true(read.exposed);
}

static void set(struct token *token, const char *text)
{
	*token = (struct token){.len = strlen(text)};
	memcpy(token->text, text, token->len);
}

static void a_token_has_its_role_and_nothing_like_it_has_one(void **state)
{
	struct token tokens[ROLES] = {0};
	char longer[TOKEN_MAX * 4];

	(void)state;
	set(&tokens[ROLE_READ], "reader-0123456789");
	set(&tokens[ROLE_ADMIN], "admin-0123456789");
	assert_int_equal(token_role(tokens, "reader-0123456789"), ROLE_READ);
	assert_int_equal(token_role(tokens, "admin-0123456789"), ROLE_ADMIN);
	assert_int_equal(token_role(tokens, ""), -ENOENT);
	assert_int_equal(token_role(tokens, "admin-012345678"), -ENOENT);
	assert_int_equal(token_role(tokens, "admin-01234567890"), -ENOENT);
	assert_int_equal(token_role(tokens, "Admin-0123456789"), -ENOENT);
	assert_int_equal(token_role(tokens, " admin-0123456789"), -ENOENT);
	assert_int_equal(token_role(tokens, "admin-0123456788"), -ENOENT);
	for (size_t len = 1; len < sizeof(longer) - 1; len++) {
		memset(longer, 0, sizeof(longer));
		memcpy(longer, "admin-0123456789", 16);
		memset(longer + 16, 'x', len > 16 ? len - 16 : 1);
		assert_int_equal(token_role(tokens, longer), -ENOENT);
	}
}

static void of_two_that_are_equal_the_larger_role_counts(void **state)
{
	struct token tokens[ROLES] = {0};

	(void)state;
	set(&tokens[ROLE_READ], GOOD);
	set(&tokens[ROLE_PROFILE], GOOD);
	assert_int_equal(token_role(tokens, GOOD), ROLE_PROFILE);
}

static void without_tokens_nothing_is_one(void **state)
{
	const struct token tokens[ROLES] = {0};

	(void)state;
	assert_int_equal(token_role(tokens, ""), -ENOENT);
	assert_int_equal(token_role(tokens, GOOD), -ENOENT);
}

static void a_token_of_the_largest_size_is_one(void **state)
{
	struct token tokens[ROLES] = {0};
	char text[TOKEN_MAX + 2] = "";

	(void)state;
	memset(text, 'x', TOKEN_MAX);
	set(&tokens[ROLE_METRICS], text);
	assert_int_equal(token_role(tokens, text), ROLE_METRICS);
	text[TOKEN_MAX] = 'x';
	assert_int_equal(token_role(tokens, text), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_any_end_is_a_token),
		cmocka_unit_test(what_is_no_line_of_visible_characters_is_none),
		cmocka_unit_test(its_length_is_bounded),
		cmocka_unit_test(what_is_no_file_is_none_at_once),
		cmocka_unit_test(a_file_that_everybody_may_read_is_told),
		cmocka_unit_test(a_token_has_its_role_and_nothing_like_it_has_one),
		cmocka_unit_test(of_two_that_are_equal_the_larger_role_counts),
		cmocka_unit_test(without_tokens_nothing_is_one),
		cmocka_unit_test(a_token_of_the_largest_size_is_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
