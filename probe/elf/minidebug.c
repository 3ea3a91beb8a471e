// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PACKED_MAX   (32u * 1024 * 1024)
#define UNPACKED_MAX (64u * 1024 * 1024)
#define MEMORY_MAX   (20u * 1024 * 1024) /* of the decoder: 9 MB after xz -6 */
#define PIECE	     16384

struct unpacker {
	lzma_stream stream;
	int fd, to;
	struct elf_extent left;
	uint8_t packed[PIECE], unpacked[PIECE];
};

static int refill_input(struct unpacker *unpacker)
{
	size_t n = unpacker->left.bytes < PIECE ? (size_t)unpacker->left.bytes : PIECE;
	int r = elf_pread(unpacker->fd, unpacker->packed, n, unpacker->left.offset);

	unpacker->left.offset += n;
	unpacker->left.bytes -= n;
	unpacker->stream.next_in = unpacker->packed;
	unpacker->stream.avail_in = n;
	return r;
}

static int write_out(struct unpacker *unpacker)
{
	const uint8_t *from = unpacker->unpacked;
	size_t bytes = PIECE - unpacker->stream.avail_out;

	if (unpacker->stream.total_out > UNPACKED_MAX)
		return -EFBIG;
	while (bytes) {
		ssize_t n = write(unpacker->to, from, bytes);

		if (n < 0 && errno != EINTR)
			return -errno;
		from += n < 0 ? 0 : n;
		bytes -= n < 0 ? 0 : (size_t)n;
	}
	return 0;
}

static int error_of(lzma_ret r)
{
	switch (r) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG;
	}
}

static int unpack_debugdata(struct unpacker *unpacker)
{
	lzma_ret ret = LZMA_OK;
	int r = 0;

	while (r == 0 && ret == LZMA_OK) {
		if (!unpacker->stream.avail_in && unpacker->left.bytes)
			r = refill_input(unpacker);
		if (r < 0)
			return r;
		unpacker->stream.next_out = unpacker->unpacked;
		unpacker->stream.avail_out = PIECE;
		ret = lzma_code(&unpacker->stream, unpacker->left.bytes ? LZMA_RUN : LZMA_FINISH);
		r = error_of(ret);
		if (r == 0)
			r = write_out(unpacker);
	}
	return r;
}

int minidebug_open(int fd, const struct elf_image *image)
{
	const struct elf_extent *extent = &image->gnu_debugdata;

	if (!extent->bytes)
		return -ENOENT;
	if (extent->bytes > PACKED_MAX)
		return -EFBIG;
	_cleanup_free_ struct unpacker *unpacker = malloc(sizeof(*unpacker));
	_cleanup_close_ int to = memfd_create("debugdata", MFD_CLOEXEC);
	if (!unpacker)
		return -ENOMEM;
	if (to < 0)
		return -errno;
	unpacker->stream = (lzma_stream)LZMA_STREAM_INIT;
	unpacker->fd = fd;
	unpacker->to = to;
	unpacker->left = *extent;
	int r = error_of(lzma_stream_decoder(&unpacker->stream, MEMORY_MAX, 0));
	if (r == 0)
		r = unpack_debugdata(unpacker);
	lzma_end(&unpacker->stream);
	return r < 0 ? r : TAKE_FD(to);
}
