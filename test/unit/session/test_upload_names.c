// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of uploaded windows: hosts and processes may be called as they like. */
#include "unit/lib/buf_text.h"

#include "loop/loop.h"
#include "session/upload_names.h"

#define SECOND ((int64_t)NS_PER_S)

static const struct upload_names names = {"service", "host", "machine-1"};

static const struct upload_piece of_all = {
	.whose = {"", "", "", "", ""}, .data = "a;b 1\n", .bytes = 6};

static char *target_of(const struct upload_names *of, enum probe probe,
		       const struct upload_piece *piece, uint64_t period_ns)
{
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);

	ingest_target(&out, of, probe, piece, 100 * SECOND, 130 * SECOND, period_ns);
	char *text = take_text(&out, NULL);
	assert_non_null(text);
	return text;
}

static void a_target_names_probe_host_time_and_rate(void **state)
{
	_cleanup_free_ char *text = target_of(&names, PROBE_ONCPU, &of_all, 10 * NS_PER_MS);

	(void)state;
	assert_string_equal(text, "/ingest?name=gala-gopher-oncpu-machine-1"
				  "%7Bhost%3Dhost%2Cprobe%3Doncpu%7D"
				  "&from=100&until=130&units=samples&sampleRate=100"
				  "&spyName=stackprobe");
}

static void each_probe_has_its_type_and_units(void **state)
{
	static const struct {
		enum probe probe;
		const char *name, *end;
	} kinds[] = {
		{PROBE_OFFCPU, "gala-gopher-offcpu-machine-1.wall%7B",
		 "units=samples&sampleRate=1000000&"},
		{PROBE_MEM, "gala-gopher-mem-machine-1.alloc_space%7B",
		 "units=bytes&sampleRate=100&"},
		{PROBE_MEM_GLIBC, "gala-gopher-mem_glibc-machine-1.alloc_space%7B",
		 "units=bytes&sampleRate=100&"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		_cleanup_free_ char *text = target_of(&names, kinds[i].probe, &of_all, 0);

		assert_has(text, kinds[i].name);
		assert_has(text, kinds[i].end);
	}
}

static void a_rate_is_rounded(void **state)
{
	_cleanup_free_ char *text = target_of(&names, PROBE_ONCPU, &of_all, NS_PER_S / 99);
	_cleanup_free_ char *unknown = target_of(&names, PROBE_ONCPU, &of_all, 0);

	(void)state;
	assert_has(text, "sampleRate=99&");
	assert_has(unknown, "sampleRate=100&");
}

static void a_begun_second_belongs_to_the_window(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);

	(void)state;
	ingest_target(&out, &names, PROBE_ONCPU, &of_all, 100 * SECOND + 999, 130 * SECOND + 1, 0);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_has(text, "&from=100&until=131&");
}

static void without_names_there_are_no_labels(void **state)
{
	const struct upload_names none = {"service", "", ""};
	_cleanup_free_ char *text = target_of(&none, PROBE_ONCPU, &of_all, 10 * NS_PER_MS);

	(void)state;
	assert_has(text, "/ingest?name=gala-gopher-oncpu%7Bprobe%3Doncpu%7D&");
}

static void a_process_has_labels_of_its_own(void **state)
{
	const struct upload_piece piece = {
		.whose = {"[42]nginx", "web", "pod-1", "shop", "7"}, .data = "x 1\n", .bytes = 4};
	_cleanup_free_ char *text = target_of(&names, PROBE_ONCPU, &piece, 10 * NS_PER_MS);

	(void)state;
	assert_has(text, "%7Bhost%3Dhost%2Cpid%3D42%2Ccomm%3Dnginx%2Ccontainer%3Dweb"
			 "%2Cpod%3Dpod-1%2Cnamespace%3Dshop%2Ccontainer_pid%3D7"
			 "%2Cprobe%3Doncpu%7D");
}

static void what_would_end_a_label_is_replaced(void **state)
{
	const struct upload_piece piece = {
		.whose = {"[42]a,b}c{d\ne f&g\xff", "", "", "", ""}, .data = "x 1\n", .bytes = 4};
	_cleanup_free_ char *text = target_of(&names, PROBE_ONCPU, &piece, 10 * NS_PER_MS);

	(void)state;
	assert_has(text, "%2Ccomm%3Da_b_c_d_e%20f%26g%EF%BF%BD%2Cprobe%3D");
}

static void a_push_has_series_and_labels_and_the_pprof(void **state)
{
	static const char expected[] = "\n\x6b"
				       "\n\x17\n\x08__name__\x12\x0bprocess_cpu"
				       "\n\x17\n\x0cservice_name\x12\x07service"
				       "\n\x0c\n\x04host\x12\x04host"
				       "\n\x0e\n\x05probe\x12\x05oncpu"
				       "\x12\x08\n\x06"
				       "a;b 1\n";
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);

	(void)state;
	push_request(&out, &names, PROBE_ONCPU, VIEW_ALL, &of_all);
	assert_int_equal(buf_error(&out), 0);
	assert_int_equal((unsigned char)out.data[1], out.len - 2);
	assert_int_equal(out.len, sizeof(expected) - 1);
	assert_memory_equal(out.data + 2, expected + 2, out.len - 2);
}

static void a_push_is_valid_utf8_whatever_the_host_is_called(void **state)
{
	const struct upload_names odd = {"service", "h\xff\xc3\xa9", ""};
	_cleanup_buf_ struct buf out = BUF_INIT(SIZE_MAX);

	(void)state;
	push_request(&out, &odd, PROBE_OFFCPU, VIEW_ALL, &of_all);
	assert_int_equal(buf_error(&out), 0);
	assert_non_null(memmem(out.data, out.len, "h\xef\xbf\xbd\xc3\xa9", 6));
	assert_non_null(memmem(out.data, out.len, "off_cpu", 7));
}

static void a_push_that_finds_no_room_says_so(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(16);

	(void)state;
	push_request(&out, &names, PROBE_ONCPU, VIEW_ALL, &of_all);
	assert_true(buf_error(&out) < 0);
}

static void a_machines_id_is_of_letters_digits_and_hyphens(void **state)
{
	char id[64], cut[5];

	(void)state;
	machine_id(id, sizeof(id));
	for (const char *c = id; *c; c++)
		assert_true((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
			    (*c >= 'A' && *c <= 'Z') || *c == '-');
	machine_id(cut, sizeof(cut));
	assert_true(strlen(cut) < sizeof(cut));
	assert_memory_equal(cut, id, strlen(cut));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_names_probe_host_time_and_rate),
		cmocka_unit_test(each_probe_has_its_type_and_units),
		cmocka_unit_test(a_rate_is_rounded),
		cmocka_unit_test(a_begun_second_belongs_to_the_window),
		cmocka_unit_test(without_names_there_are_no_labels),
		cmocka_unit_test(a_process_has_labels_of_its_own),
		cmocka_unit_test(what_would_end_a_label_is_replaced),
		cmocka_unit_test(a_push_has_series_and_labels_and_the_pprof),
		cmocka_unit_test(a_push_is_valid_utf8_whatever_the_host_is_called),
		cmocka_unit_test(a_push_that_finds_no_room_says_so),
		cmocka_unit_test(a_machines_id_is_of_letters_digits_and_hyphens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
