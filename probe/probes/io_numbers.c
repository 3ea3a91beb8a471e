// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/io_numbers.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

struct io_number {
	uint16_t number;
	uint8_t call; /* enum io_call */
};

static const struct io_number numbers[] = {
	{SYS_read, IO_IN},
	{SYS_pread64, IO_IN},
	{SYS_readv, IO_IN},
	{SYS_preadv, IO_IN},
	{SYS_preadv2, IO_IN},
	{SYS_write, IO_OUT},
	{SYS_pwrite64, IO_OUT},
	{SYS_writev, IO_OUT},
	{SYS_pwritev, IO_OUT},
	{SYS_pwritev2, IO_OUT},
	{SYS_recvfrom, IO_RECEIVE},
	{SYS_recvmsg, IO_RECEIVE3},
	{SYS_sendto, IO_OUT},
	{SYS_sendmsg, IO_OUT},
	{SYS_recvmmsg, IO_MESSAGES_IN},
	{SYS_sendmmsg, IO_MESSAGES_OUT},
	{SYS_sendfile, IO_COPY_10},
	{SYS_splice, IO_COPY_02},
	{SYS_copy_file_range, IO_COPY_02},
};

/* Numbers of 32-bit code. Source: arch/x86/entry/syscalls/syscall_32.tbl,
 * arch/arm/tools/syscall.tbl
 */
static const struct io_number narrow_numbers[] = {
	{3, IO_IN},
	{4, IO_OUT},
	{145, IO_IN},  /* readv */
	{146, IO_OUT}, /* writev */
	{180, IO_IN},  /* pread64 */
	{181, IO_OUT}, /* pwrite64 */
	{187, IO_COPY_10},
	{239, IO_COPY_10},
#ifdef __x86_64__
	{102, IO_SOCKETCALL},
	{313, IO_COPY_02}, /* splice */
	{333, IO_IN},	   /* preadv */
	{334, IO_OUT},	   /* pwritev */
	{337, IO_MESSAGES_IN},
	{345, IO_MESSAGES_OUT},
	{369, IO_OUT}, /* sendto */
	{370, IO_OUT}, /* sendmsg */
	{371, IO_RECEIVE},
	{372, IO_RECEIVE3},
	{377, IO_COPY_02}, /* copy_file_range */
	{378, IO_IN},	   /* preadv2 */
	{379, IO_OUT},	   /* pwritev2 */
#else
	{289, IO_OUT},	   /* send */
	{290, IO_OUT},	   /* sendto */
	{291, IO_RECEIVE}, /* recv */
	{292, IO_RECEIVE},
	{296, IO_OUT}, /* sendmsg */
	{297, IO_RECEIVE3},
	{340, IO_COPY_02}, /* splice */
	{361, IO_IN},	   /* preadv */
	{362, IO_OUT},	   /* pwritev */
	{365, IO_MESSAGES_IN},
	{374, IO_MESSAGES_OUT},
	{391, IO_COPY_02}, /* copy_file_range */
	{392, IO_IN},	   /* preadv2 */
	{393, IO_OUT},	   /* pwritev2 */
#endif
	{417, IO_MESSAGES_IN}, /* recvmmsg_time64 */
};

static void fill_table(volatile const uint8_t to[IO_CALLS_MAX], const struct io_number *rows,
		       size_t count)
{
	uint8_t *table = (uint8_t *)(uintptr_t)to; /* constant from the load on */

	for (size_t i = 0; i < count; i++)
		table[rows[i].number] = rows[i].call;
}

void io_numbers_fill(const volatile uint8_t calls[IO_CALLS_MAX],
		     const volatile uint8_t narrow_calls[IO_CALLS_MAX])
{
	fill_table(calls, numbers, ARRAY_SIZE(numbers));
	fill_table(narrow_calls, narrow_numbers, ARRAY_SIZE(narrow_numbers));
}
