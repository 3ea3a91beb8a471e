/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dlopener LIBRARY SECONDS: burns a second of CPU time in before_load, loads the library and burns
 * SECONDS in its plugin_spin.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "burn.h"

static void before_load(uint64_t ns)
{
	burn_ns(ns);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: dlopener LIBRARY SECONDS\n");
		return 2;
	}
	before_load(1000000000u);
	void *library = dlopen(argv[1], RTLD_NOW);
	uint64_t (*spin)(uint64_t) = NULL;
	if (library)
		*(void **)&spin = dlsym(library, "plugin_spin");
	if (!spin) {
		fprintf(stderr, "dlopener: %s\n", dlerror());
		return 1;
	}
	spin(seconds_ns(argv[2]));
	return 0;
}
