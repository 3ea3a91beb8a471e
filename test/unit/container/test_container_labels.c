// SPDX-License-Identifier: GPL-2.0-or-later
/* Containers and pods as labels: of pprofs, of windows for /ingest, of answers. */
#include "unit/output/profile_maker.h"

#include <zlib.h>

#include "api/metrics/metrics_lines.h"
#include "api/status/container_texts.h"
#include "session/upload_names.h"
#include "session/upload_pieces.h"

#define RAW_MAX	    (1u << 20)
#define STRINGS_MAX 256

enum { SAMPLE = 2, LOCATION = 4, STRING = 6, SAMPLE_LOCATION = 1, SAMPLE_LABEL = 3 };

/* ---- a pprof's labels ---- */

struct pprof {
	unsigned char raw[RAW_MAX];
	size_t bytes;
	char *strings[STRINGS_MAX];
	size_t strings_count;
};

static uint64_t varint(const unsigned char **at)
{
	uint64_t value = 0;

	for (int shift = 0;; shift += 7) {
		unsigned char byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

/* The next field; its bytes, or its number in *len. */
static unsigned field(const unsigned char **at, const unsigned char **data, uint64_t *len)
{
	uint64_t key = varint(at);

	*len = varint(at);
	*data = *at;
	if ((key & 7) == 2)
		*at += *len;
	return (unsigned)(key >> 3);
}

static struct pprof *read_pprof(const struct buf *from)
{
	struct pprof *pprof = calloc(1, sizeof(*pprof));
	z_stream stream = {.next_in = (unsigned char *)from->data,
			   .avail_in = (uInt)from->len,
			   .next_out = pprof->raw,
			   .avail_out = RAW_MAX};
	const unsigned char *at = pprof->raw, *data;
	uint64_t len;

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	pprof->bytes = stream.total_out;
	while (at < pprof->raw + pprof->bytes) {
		if (field(&at, &data, &len) != STRING)
			continue;
		assert_true(pprof->strings_count < STRINGS_MAX);
		pprof->strings[pprof->strings_count++] = strndup((const char *)data, len);
	}
	return pprof;
}

static void free_pprof(struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->strings_count; i++)
		free(pprof->strings[i]);
	free(pprof);
}

/* "pid=8 comm=java …" of its sample number `number`, and how many frames it has. */
static void labels_of(const struct pprof *pprof, int number, struct buf *text, size_t *frames)
{
	const unsigned char *at = pprof->raw, *data;
	uint64_t len, label_len;

	*frames = 0;
	while (at < pprof->raw + pprof->bytes) {
		if (field(&at, &data, &len) != SAMPLE || number--)
			continue;
		for (const unsigned char *in = data, *part, *end = data + len; in < end;) {
			unsigned which = field(&in, &part, &label_len);

			for (const unsigned char *one = part;
			     which == SAMPLE_LOCATION && one < part + label_len; ++*frames)
				varint(&one);
			if (which != SAMPLE_LABEL)
				continue;
			uint64_t key, value;
			field(&part, &part, &key);
			field(&part, &part, &value);
			buf_printf(text, "%s%s=%s", text->len ? " " : "", pprof->strings[key],
				   pprof->strings[value]);
		}
	}
	buf_char(text, '\0');
}

/* Each of these is a stack of one function. */
static struct profile *hostile_profile(void)
{
	_cleanup_container_ struct container *app =
		new_container(ID_TWO, ID_ONE, "[1]init;\xff", "[Con]shop");
	struct profile *profile = new_profile();
	struct record_who in_pod = who_in(8, "a]b", 1, app, 1), bare = who_in(9, "sh", 1, NULL, 9);
	struct record_who of_unshare = who_in(10, "sh", 1, NULL, 2);

	free(app->pod_namespace);
	app->pod_namespace = strdup("team a");
	add_stack(profile, &in_pod, "main", 4);
	add_stack(profile, &bare, "main", 5);
	add_stack(profile, &of_unshare, "main", 6);
	return profile;
}

static void assert_labels(const struct profile *profile, enum pprof_labels how,
			  const char *const expected[3], const size_t depths[3])
{
	_cleanup_buf_ struct buf out = BUF_INIT(RAW_MAX);
	struct profile_meta meta;

	profile_describe(profile, TREE_ROOT, "host", &meta);
	meta.pprof_labels = how;
	assert_int_equal(pprof_write(profile->tree, TREE_ROOT, &meta, &out), 0);
	struct pprof *pprof = read_pprof(&out);
	for (int i = 0; i < 3; i++) {
		_cleanup_buf_ struct buf text = BUF_INIT(RAW_MAX);
		size_t frames;

		labels_of(pprof, i, &text, &frames);
		assert_string_equal(text.data, expected[i]);
		assert_int_equal(frames, depths[i]);
	}
	free_pprof(pprof);
}

static void a_pprofs_samples_have_container_pod_and_its_own_pid(void **state)
{
	static const char *const expected[] = {
		"pid=8 comm=a]b container_pid=1 container=[1]init;\xef\xbf\xbd pod=[Con]shop "
		"namespace=team a",
		"pid=9 comm=sh", "pid=10 comm=sh container_pid=2"};
	static const char *const none[] = {"", "", ""};
	_cleanup_profile_ struct profile *profile = hostile_profile(), *sorted = NULL;

	(void)state;
	sorted = sort_profile(profile);
	assert_labels(sorted, PPROF_LABELS_ALL, expected, (size_t[]){1, 1, 1});
	assert_labels(sorted, PPROF_LABELS_PROCESS, expected, (size_t[]){1, 1, 1});
	assert_labels(sorted, PPROF_LABELS_NONE, none, (size_t[]){4, 2, 2});
}

/* ---- /ingest ---- */

static void ingest_has_pieces_of_processes_with_their_containers(void **state)
{
	static const struct upload_names names = {"stackprobe", "host", "machine"};
	_cleanup_profile_ struct profile *profile = hostile_profile(), *sorted = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT(RAW_MAX), target = BUF_INIT(RAW_MAX);
	struct upload_piece piece;
	struct profile_meta meta;
	size_t at = 0;

	(void)state;
	sorted = sort_profile(profile);
	profile_describe(sorted, TREE_ROOT, "host", &meta);
	meta.pprof_labels = PPROF_LABELS_PROCESS;
	assert_int_equal(upload_ingest.write(sorted->tree, TREE_ROOT, &meta, &out), 0);
	assert_true(upload_piece_next(&out, &at, &piece));
	assert_string_equal(piece.whose.process, "[8]a]b");
	assert_string_equal(piece.whose.container, "[1]init;\xff");
	assert_string_equal(piece.whose.pod, "[Con]shop");
	assert_string_equal(piece.whose.pod_namespace, "team a");
	assert_string_equal(piece.whose.container_pid, "1");
	static const char line[] = "[Pod][Con]shop;[Con][1]init:\xef\xbf\xbd;[8]a]b;main 4\n";
	assert_int_equal(piece.bytes, strlen(line));
	assert_memory_equal(piece.data, line, strlen(line));
	ingest_target(&target, &names, PROBE_OFFCPU, &piece, 1000000000, 2000000000, 0);
	buf_char(&target, '\0');
	assert_has(target.data, "%2Cpid%3D8%2Ccomm%3Da%5Db%2Ccontainer%3D%5B1%5Dinit%3B%EF%BF%BD"
				"%2Cpod%3D%5BCon%5Dshop%2Cnamespace%3Dteam%20a"
				"%2Ccontainer_pid%3D1%2Cprobe%3D");
	assert_true(upload_piece_next(&out, &at, &piece));
	assert_string_equal(piece.whose.process, "[9]sh");
	assert_string_equal(piece.whose.container, "");
	assert_string_equal(piece.whose.container_pid, "");
	assert_true(upload_piece_next(&out, &at, &piece));
	assert_string_equal(piece.whose.container_pid, "2");
	assert_false(upload_piece_next(&out, &at, &piece));
}

/* A line that is too long keeps all that says whose it is. */
static void a_cut_line_keeps_pod_container_and_process(void **state)
{
	static const char head[] = "[Pod]shop;[Con]app;[8]java;[truncated];";
	_cleanup_container_ struct container *app = new_container(ID_TWO, ID_ONE, "app", "shop");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT(RAW_MAX);
	struct record_who who = who_in(8, "java", 1, app, 1);
	struct upload_piece piece;
	struct profile_meta meta;
	char name[64];
	size_t at = 0;

	(void)state;
	int64_t node = profile_thread(profile, &who, false);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "a_function_with_a_long_name_of_fifty_bytes_or_so_%d",
			 i);
		node = tree_child(profile->tree, (uint32_t)node, FRAME_TYPE_NATIVE, name,
				  strlen(name));
	}
	tree_add(profile->tree, (uint32_t)node, 1);
	sorted = sort_profile(profile);
	profile_describe(sorted, TREE_ROOT, "host", &meta);
	assert_int_equal(upload_ingest.write(sorted->tree, TREE_ROOT, &meta, &out), 0);
	assert_true(upload_piece_next(&out, &at, &piece));
	assert_true(piece.bytes > 60000 && piece.bytes <= 65536);
	assert_memory_equal(piece.data, head, strlen(head));
}

/* ---- answers ---- */

static void answers_have_what_is_known_escaped_as_they_need_it(void **state)
{
	_cleanup_container_ struct container *app =
		new_container(ID_TWO, ID_ONE, "a\"\\\n\xff", "shop");
	_cleanup_buf_ struct buf out = BUF_INIT(4096), metrics = BUF_INIT(4096);
	_cleanup_buf_ struct buf nothing = BUF_INIT(4096);
	struct json json = {.out = &out}, none = {.out = &nothing};

	(void)state;
	container_json(&json, app, 8, 1);
	buf_char(&out, '\0');
	assert_string_equal(out.data,
			    "\"container\":\"a\\\"\\\\\\u000a\xef\xbf\xbd\",\"pod\":\"shop\","
			    "\"container_pid\":1");
	metrics_container(&metrics, app);
	buf_char(&metrics, '\0');
	assert_string_equal(metrics.data, ",container=\"a\\\"\\\\\\n\xef\xbf\xbd\",pod=\"shop\"");
	container_json(&none, NULL, 8, 0);
	container_json(&none, NULL, 8, 8);
	metrics_container(&nothing, NULL);
	assert_int_equal(nothing.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pprofs_samples_have_container_pod_and_its_own_pid),
		cmocka_unit_test(ingest_has_pieces_of_processes_with_their_containers),
		cmocka_unit_test(a_cut_line_keeps_pod_container_and_process),
		cmocka_unit_test(answers_have_what_is_known_escaped_as_they_need_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
