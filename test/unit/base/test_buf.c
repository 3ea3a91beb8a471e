// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "unit/lib/buf_text.h"
#include "base/hash.h"
#include "base/utf8.h"

static void what_is_added_stands_in_order(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT(1000);
	size_t len;

	(void)state;
	buf_str(&buf, "a=");
	buf_u64(&buf, UINT64_MAX);
	buf_char(&buf, ' ');
	buf_hex(&buf, 0xdeadbeefcafe0123);
	buf_u64(&buf, 0);
	buf_printf(&buf, " %d-%s", -5, "x");
	buf_add(&buf, "\0\xff", 2);
	_cleanup_free_ char *text = take_text(&buf, &len);
	assert_non_null(text);
	static const char expected[] = "a=18446744073709551615 deadbeefcafe01230 -5-x\0\xff";
	assert_int_equal(len, sizeof(expected) - 1);
	assert_memory_equal(text, expected, sizeof(expected));
	assert_null(buf.data);
	assert_int_equal(buf.len, 0);
}

static void an_empty_buffer_is_an_empty_string(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT(1);
	size_t len = 7;

	(void)state;
	buf_add(&buf, NULL, 0);
	buf_str(&buf, "");
	_cleanup_free_ char *text = take_text(&buf, &len);
	assert_string_equal(text, "");
	assert_int_equal(len, 0);
}

static void the_maximum_can_be_filled_but_not_passed(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT(1000);

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_char(&buf, 'x');
	assert_int_equal(buf_error(&buf), 0);
	assert_int_equal(buf.len, 1000);
	buf_add(&buf, "", 0);
	assert_int_equal(buf_error(&buf), 0);
	buf_char(&buf, 'y');
	assert_int_equal(buf_error(&buf), -ENOSPC);
	assert_int_equal(buf.len, 1000);
}

static void an_error_sticks_and_the_content_stays(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT(4);

	(void)state;
	buf_str(&buf, "abc");
	buf_str(&buf, "de");
	assert_int_equal(buf_error(&buf), -ENOSPC);
	buf_char(&buf, 'f');
	assert_int_equal(buf.len, 3);
	assert_memory_equal(buf.data, "abc", 3);
	assert_null(buf_reserve(&buf, 1));
	assert_null(take_text(&buf, NULL));
}

static void huge_requests_do_not_overflow(void **state)
{
	_cleanup_buf_ struct buf buf = BUF_INIT(100);

	(void)state;
	buf_char(&buf, 'x');
	assert_null(buf_reserve(&buf, SIZE_MAX));
	assert_int_equal(buf_error(&buf), -ENOSPC);
}

static void long_formats_come_whole(void **state)
{
	for (size_t n = 250; n < 270; n++) {
		_cleanup_buf_ struct buf buf = BUF_INIT(4096);

		buf_printf(&buf, "%*s|", (int)n, "end");
		buf_printf(&buf, "%*s", (int)(2 * n), "z");
		assert_int_equal(buf_error(&buf), 0);
		assert_int_equal(buf.len, 3 * n + 1);
		assert_memory_equal(buf.data + n - 3, "end| ", 5);
		assert_int_equal(buf.data[3 * n], 'z');
	}
	(void)state;
}

static void a_format_that_fills_the_maximum_fits_whatever_its_length(void **state)
{
	static const int lengths[] = {10, 255, 256, 1000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		_cleanup_buf_ struct buf buf = BUF_INIT((size_t)lengths[i]);

		buf_printf(&buf, "%*s", lengths[i], "x");
		assert_int_equal(buf_error(&buf), 0);
		assert_int_equal(buf.len, lengths[i]);
	}
}

/* The definition, written another way: decode, then look at the value. */
static size_t utf8_reference(const unsigned char *p, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = p[0] < 0x80		   ? 1
		   : (p[0] & 0xe0) == 0xc0 ? 2
		   : (p[0] & 0xf0) == 0xe0 ? 3
		   : (p[0] & 0xf8) == 0xf0 ? 4
					   : 0;
	uint32_t value;

	if (n <= 1 || n > len)
		return n == 1 ? 1 : 0;
	value = p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (p[i] & 0x3f);
	}
	if (value < least[n] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	return n;
}

static void every_pair_and_many_longer_sequences_are_judged_as_unicode_does(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (uint32_t i = 0; i < 0x10000; i++) {
		unsigned char p[2] = {(unsigned char)(i >> 8), (unsigned char)i};

		assert_int_equal(utf8_sequence((char *)p, 2), utf8_reference(p, 2));
		assert_int_equal(utf8_sequence((char *)p, 1), utf8_reference(p, 1));
	}
	for (int i = 0; i < 2000000; i++) {
		uint64_t bits = random_next(&random);
		unsigned char p[4] = {(unsigned char)(0xe0 | (bits & 0x1f)),
				      (unsigned char)(0x80 ^ (bits >> 8 & 0x7f)),
				      (unsigned char)(0x80 | (bits >> 16 & 0x3f)),
				      (unsigned char)(0x80 | (bits >> 24 & 0x3f))};
		size_t len = 1 + (bits >> 60 & 3);

		assert_int_equal(utf8_sequence((char *)p, len), utf8_reference(p, len));
	}
}

static void what_a_line_must_not_have_is_not_printable(void **state)
{
	static const struct {
		uint32_t from, to;
	} bad[] = {{0, 0x1f}, {0x7f, 0x9f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
	char text[UTF8_MAX];

	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		bool is_bad = c >= 0xd800 && c <= 0xdfff;

		for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
			is_bad |= c >= bad[i].from && c <= bad[i].to;
		size_t len = utf8_put(text, c);
		assert_int_equal(utf8_printable(text, len), is_bad ? 0 : len);
		if (len > 1)
			assert_int_equal(utf8_printable(text, len - 1), 0);
	}
}

static void a_hash_depends_on_every_byte_the_length_and_the_seed(void **state)
{
	unsigned char data[40] = {0};

	(void)state;
	for (size_t len = 1; len <= sizeof(data); len++) {
		uint64_t before = hash_bytes(1, data, len);

		assert_int_equal(before, hash_bytes(1, data, len));
		assert_int_not_equal(before, hash_bytes(2, data, len));
		assert_int_not_equal(before, hash_bytes(1, data, len - 1));
		for (size_t at = 0; at < len; at++) {
			data[at] ^= 0x40;
			assert_int_not_equal(before, hash_bytes(1, data, len));
			data[at] ^= 0x40;
		}
	}
	assert_int_not_equal(hash_seed(), hash_seed());
}

static void low_bits_of_hashes_of_counters_are_spread(void **state)
{
	enum { BINS = 1024, KEYS = 64 * BINS };
	unsigned bins[BINS] = {0};

	(void)state;
	for (uint64_t key = 0; key < KEYS; key++)
		bins[hash_bytes(42, &key, sizeof(key)) % BINS]++;
	for (int i = 0; i < BINS; i++) /* 64 on average, 8 standard deviations */
		assert_in_range(bins[i], 1, 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_stands_in_order),
		cmocka_unit_test(an_empty_buffer_is_an_empty_string),
		cmocka_unit_test(the_maximum_can_be_filled_but_not_passed),
		cmocka_unit_test(an_error_sticks_and_the_content_stays),
		cmocka_unit_test(huge_requests_do_not_overflow),
		cmocka_unit_test(long_formats_come_whole),
		cmocka_unit_test(a_format_that_fills_the_maximum_fits_whatever_its_length),
		cmocka_unit_test(every_pair_and_many_longer_sequences_are_judged_as_unicode_does),
		cmocka_unit_test(what_a_line_must_not_have_is_not_printable),
		cmocka_unit_test(a_hash_depends_on_every_byte_the_length_and_the_seed),
		cmocka_unit_test(low_bits_of_hashes_of_counters_are_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
