/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * late LIBRARY TIMES SECONDS: burns SECONDS in before, loads the library, burns SECONDS below
 * call_plugin in its late_spin, lets it go again; all that so many times.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "level.h"

LEVEL static uint64_t before(uint64_t ns)
{
	return burn_ns(ns);
}

LEVEL static int call_plugin(const char *path, uint64_t ns)
{
	void *library = dlopen(path, RTLD_NOW);
	uint64_t (*spin)(uint64_t) = NULL;

	use_frame_register();
	if (library)
		*(void **)&spin = dlsym(library, "late_spin");
	if (!spin) {
		fprintf(stderr, "late: %s\n", dlerror());
		return 1;
	}
	spin(ns);
	return dlclose(library);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	for (long i = 0; i < atol(argv[2]); i++) {
		before(seconds_ns(argv[3]));
		if (call_plugin(argv[1], seconds_ns(argv[3])))
			return 1;
	}
	return 0;
}
