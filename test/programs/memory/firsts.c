// SPDX-License-Identifier: GPL-2.0-or-later
/* Its first thing is one large allocation, of which it touches half. It holds it until it is told
 * to end (a line on standard input, or its end). Prints {"bytes", "touched"}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (64u << 20)

__attribute__((noinline)) static char *first_thing(void)
{
	char *memory = malloc(BYTES);

	if (memory)
		memset(memory, 1, BYTES / 2);
	return memory;
}

int main(void)
{
	char *memory = first_thing();

	printf("{\"bytes\": %u, \"touched\": %u}\n", BYTES, BYTES / 2);
	fflush(stdout);
	(void)getchar();
	free(memory);
	return memory ? 0 : 1;
}
