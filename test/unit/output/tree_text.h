/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees and the text that outputs make of them. */
#pragma once

#include "base/utf8.h"
#include "unit/lib/buf_text.h"
#include "output/format/output.h"
#include "unit/lib/unit.h"

static const struct profile_meta plain_meta = {.title = "On-CPU Time Flame Graph",
					       .count_name = "samples"};

static inline struct tree *new_tree(void)
{
	struct tree *tree;

	assert_int_equal(tree_new(&tree, 100000, 8 << 20), 0);
	return tree;
}

static inline uint32_t add_child(struct tree *tree, uint32_t parent, enum frame_type type,
				 const char *name)
{
	int64_t node = tree_child(tree, parent, type, name, strlen(name));

	assert_true(node > 0);
	return (uint32_t)node;
}

/* A Python frame. */
static inline uint32_t add_python(struct tree *tree, uint32_t parent, const char *name,
				  const char *file, uint32_t line)
{
	struct frame frame = {.type = FRAME_TYPE_PYTHON,
			      .name = name,
			      .name_len = strlen(name),
			      .source = {file, strlen(file), line}};
	int64_t node = tree_child_with(tree, parent, &frame);

	assert_true(node > 0);
	return (uint32_t)node;
}

/* `[7]app;main;work` with 60, `…;main;read_[k]` with 30, `…;main;java_[j]` with 10. */
static inline struct tree *new_small_tree(uint32_t *main_node)
{
	struct tree *tree = new_tree();
	uint32_t process = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]app");

	*main_node = add_child(tree, process, FRAME_TYPE_NATIVE, "main");
	tree_add(tree, add_child(tree, *main_node, FRAME_TYPE_NATIVE, "work"), 60);
	tree_add(tree, add_child(tree, *main_node, FRAME_TYPE_KERNEL, "read"), 30);
	tree_add(tree, add_child(tree, *main_node, FRAME_TYPE_JIT, "java"), 10);
	return tree;
}

static inline char *write_with(const char *extension, const struct tree *tree, uint32_t start,
			       const struct profile_meta *meta)
{
	_cleanup_buf_ struct buf out = BUF_INIT(64 << 20);
	const struct output *output = output_find(extension);
	size_t len;

	assert_non_null(output);
	assert_int_equal(output->write(tree, start, meta, &out), 0);
	char *text = take_text(&out, &len);
	assert_non_null(text);
	assert_int_equal(strlen(text), len); /* no NUL in it */
	return text;
}

static inline size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static inline void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("not expected: %s", part);
}

/*
 * Well-formed enough: characters of XML 1.0 in UTF-8, tags that close in order, quoted attributes
 * without `<`, no reference but the five of XML, and elements only of the kinds the writer makes.
 */
struct xml {
	const char *at;
	char open[16][16];
	int depth;
};

static inline void check_characters(const char *text)
{
	for (size_t len = strlen(text), at = 0; at < len;) {
		size_t bytes = utf8_sequence(text + at, len - at);
		unsigned char c = (unsigned char)text[at];

		assert_true(bytes > 0);
		assert_true(c >= 0x20 || c == '\n' || c == '\t');
		assert_true(memcmp(text + at, "\xef\xbf\xbe", bytes < 3 ? bytes : 3) != 0 &&
			    memcmp(text + at, "\xef\xbf\xbf", bytes < 3 ? bytes : 3) != 0);
		at += bytes;
	}
}

static inline void check_reference(const char *at)
{
	static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strncmp(at, known[i], strlen(known[i])) == 0)
			return;
	}
	fail_msg("unknown reference: %.12s", at);
}

static inline void check_attributes(struct xml *xml)
{
	while (*xml->at == ' ') {
		size_t name = strspn(++xml->at, "abcdefghijklmnopqrstuvwxyzBV-0123456789");

		assert_true(name > 0 && strncmp(xml->at, "on", 2) != 0);
		xml->at += name;
		assert_int_equal(strncmp(xml->at, "=\"", 2), 0);
		for (xml->at += 2; *xml->at != '"'; xml->at++) {
			assert_true(*xml->at && *xml->at != '<' && *xml->at != '\n');
			if (*xml->at == '&')
				check_reference(xml->at);
		}
		xml->at++;
	}
}

static inline void check_tag(struct xml *xml)
{
	static const char *const known[] = {"svg",  "style", "g",    "title",
					    "rect", "path",  "text", "script"};
	bool closes = xml->at[1] == '/', is_known = false;
	size_t len;

	xml->at += closes ? 2 : 1;
	len = strspn(xml->at, "abcdefghijklmnopqrstuvwxyz");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		is_known |= strlen(known[i]) == len && memcmp(xml->at, known[i], len) == 0;
	assert_true(is_known);
	if (closes) {
		assert_true(xml->depth > 0);
		assert_int_equal(strlen(xml->open[--xml->depth]), len);
		assert_memory_equal(xml->open[xml->depth], xml->at, len);
		xml->at += len;
	} else {
		assert_true(xml->depth < (int)ARRAY_SIZE(xml->open));
		snprintf(xml->open[xml->depth++], sizeof(xml->open[0]), "%.*s", (int)len, xml->at);
		xml->at += len;
		check_attributes(xml);
		if (*xml->at == '/') {
			xml->at++;
			xml->depth--;
		}
	}
	assert_int_equal(*xml->at++, '>');
}

static inline void check_markup(const char *text)
{
	struct xml xml = {.at = text};
	static const char declaration[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

	check_characters(text);
	assert_int_equal(strncmp(text, declaration, sizeof(declaration) - 1), 0);
	xml.at += sizeof(declaration) - 1;
	while (*xml.at) {
		if (strncmp(xml.at, "<![CDATA[", 9) == 0) {
			xml.at = strstr(xml.at, "]]>");
			assert_non_null(xml.at);
			xml.at += 3;
		} else if (*xml.at == '<') {
			check_tag(&xml);
		} else {
			if (*xml.at == '&')
				check_reference(xml.at);
			assert_true(*xml.at != '>' || xml.depth == 0 ||
				    strcmp(xml.open[xml.depth - 1], "style") == 0);
			assert_int_not_equal(strncmp(xml.at, "]]>", 3), 0);
			xml.at++;
		}
	}
	assert_int_equal(xml.depth, 0);
	assert_int_equal(count_of(text, "<script>"), 1);
	assert_int_equal(count_of(text, "\"><title>"), count_of(text, "<title>"));
}

/* A picture that isn't a difference by time. */
static inline void check_xml(const char *text)
{
	check_markup(text);
	assert_int_equal(count_of(text, "%)</title></path>"), count_of(text, "<title>"));
}
