/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads SECONDS: three threads named red, green and blue burn that much CPU time each, every one
 * in a function of its own. Prints what each took.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "burn.h"

static uint64_t red_work(uint64_t ns)
{
	return burn_ns(ns);
}

static uint64_t green_work(uint64_t ns)
{
	return burn_ns(ns);
}

static uint64_t blue_work(uint64_t ns)
{
	return burn_ns(ns);
}

static struct colour {
	const char *name;
	uint64_t (*work)(uint64_t ns);
	uint64_t ns;
	pthread_t thread;
} colours[] = {
	{.name = "red", .work = red_work},
	{.name = "green", .work = green_work},
	{.name = "blue", .work = blue_work},
};

static void *run(void *arg)
{
	struct colour *colour = arg;

	pthread_setname_np(pthread_self(), colour->name);
	colour->ns = colour->work(colour->ns);
	return NULL;
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; i < 3; i++) {
		colours[i].ns = seconds_ns(argc > 1 ? argv[1] : "1");
		if (pthread_create(&colours[i].thread, NULL, run, &colours[i]))
			return 1;
	}
	printf("{");
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(colours[i].thread, NULL);
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", colours[i].name, colours[i].ns);
	}
	printf("}\n");
	return 0;
}
