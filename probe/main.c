// SPDX-License-Identifier: GPL-2.0-or-later
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "command/command.h"
#include "command/record/inherited.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"record", record_command},
	{"render", render_command},
	{"doctor", doctor_command},
};

/* Every file with code that targets map is held open for a while; memory is given back. */
static void set_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

int main(int argc, char **argv)
{
	inherited_keep(); /* before it is changed */
	umask(077);	  /* what is to be read by others gets its mode by fchmod() */
	set_limits();
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	}
	return daemon_command(argc, argv);
}
