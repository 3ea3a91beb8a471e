// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "output/pprof/gzip.h"
#include "output/pprof/protobuf.h"

static void assert_bytes(const struct buf *buf, const char *bytes, size_t len)
{
	assert_int_equal(buf->len, len);
	assert_memory_equal(buf->data, bytes, len);
}

/* The examples of protobuf.dev's "Encoding". */
static void fields_are_as_the_format_has_them(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1024);

	(void)state;
	protobuf_number(&out, 1, 150);
	assert_bytes(&out, "\x08\x96\x01", 3);
	out.len = 0;
	protobuf_bytes(&out, 2, "testing", 7);
	assert_bytes(&out, "\x12\x07testing", 9);
	out.len = 0;
	protobuf_number(&out, 3, 0);
	assert_int_equal(out.len, 0);
	protobuf_bytes(&out, 6, "", 0);
	assert_bytes(&out, "\x32\x00", 2);
	out.len = 0;
	protobuf_varint(&out, UINT64_MAX);
	assert_bytes(&out, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
	out.len = 0;
	protobuf_number(&out, 16, 1); /* its key has two bytes */
	assert_bytes(&out, "\x80\x01\x01", 3);
}

static void what_is_packed_is_unpacked_again(void **state)
{
	static const size_t sizes[] = {0, 1, 1000, 100000, 5000000};
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_buf_ struct buf packed = BUF_INIT(SIZE_MAX);
		_cleanup_free_ unsigned char *bytes = malloc(sizes[i] + 1);
		_cleanup_free_ unsigned char *again = malloc(sizes[i] + 1);
		struct gzip gzip;

		for (size_t at = 0; at < sizes[i]; at++)
			bytes[at] = (unsigned char)(random_next(&random) >> (at % 40));
		assert_int_equal(gzip_begin(&gzip, &packed), 0);
		for (size_t at = 0; at < sizes[i]; at += 777)
			gzip_add(&gzip, bytes + at, sizes[i] - at < 777 ? sizes[i] - at : 777);
		assert_int_equal(gzip_end(&gzip), 0);
		z_stream stream = {.next_in = (unsigned char *)packed.data,
				   .avail_in = (uInt)packed.len,
				   .next_out = again,
				   .avail_out = (uInt)sizes[i] + 1};
		assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
		assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
		assert_int_equal(stream.total_out, sizes[i]);
		assert_memory_equal(again, bytes, sizes[i]);
		inflateEnd(&stream);
	}
}

static void without_room_it_is_an_error(void **state)
{
	_cleanup_buf_ struct buf packed = BUF_INIT(100);
	struct gzip gzip;
	uint64_t random = 1;

	(void)state;
	assert_int_equal(gzip_begin(&gzip, &packed), 0);
	for (int i = 0; i < 10000; i++) {
		uint64_t bytes = random_next(&random);

		gzip_add(&gzip, &bytes, sizeof(bytes));
	}
	assert_int_equal(gzip_end(&gzip), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_as_the_format_has_them),
		cmocka_unit_test(what_is_packed_is_unpacked_again),
		cmocka_unit_test(without_room_it_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
