/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_bound SECONDS: nearly all of that time in system calls of different kinds, through libc:
 * files, pipes, memory, stdio; and in page faults.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"

#define PART static __attribute__((noinline))

static char block[1 << 16];

PART long copy_block(int from, int to)
{
	long got = read(from, block, sizeof(block));

	return write(to, block, (size_t)got) + 1;
}

PART long look(const char *path)
{
	struct stat status;

	return stat(path, &status) + access(path, R_OK) + 1;
}

PART long touch_pages(size_t bytes)
{
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < bytes; i += 4096)
		pages[i] = 1;
	memset(pages, 2, bytes);
	return munmap(pages, bytes) + 1;
}

PART long print_lines(void)
{
	FILE *out = fopen("/dev/null", "we");
	long printed = 0;

	if (!out)
		return 1;
	setvbuf(out, NULL, _IOLBF, 0);
	for (int i = 0; i < 50; i++)
		printed += fprintf(out, "line %d of %d: %s\n", i, 50, "text");
	fclose(out);
	return printed;
}

PART long through_pipe(const int *ends)
{
	return write(ends[1], block, 4096) + read(ends[0], block, 4096) + 1;
}

int main(int argc, char **argv)
{
	uint64_t ns = seconds_ns(argc > 1 ? argv[1] : "1");
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	long sum = 0;
	int ends[2];

	if (zero < 0 || null < 0 || pipe(ends) < 0)
		return 1;
	while (thread_cpu_ns() < ns) {
		for (int i = 0; i < 20; i++)
			sum += copy_block(zero, null) + look("/etc/passwd") + through_pipe(ends);
		sum += touch_pages(1 << 18) + print_lines();
	}
	return sum == 1;
}
