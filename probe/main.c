// SPDX-License-Identifier: GPL-2.0-or-later
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "command/command.h"
#include "command/record/inherited.h"
#include "output/text/near_word.h"

static const struct {
	const char *name;
	const char *full; /* name in messages */
	int (*run)(int argc, char **argv);
} commands[] = {
	{"daemon", "stackprobe daemon", daemon_command},
	{"record", "stackprobe record", record_command},
	{"render", "stackprobe render", render_command},
	{"report", "stackprobe report", report_command},
	{"sched", "stackprobe sched", sched_command},
	{"top", "stackprobe top", top_command},
	{"doctor", "stackprobe doctor", doctor_command},
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

static int unknown_command(const char *word)
{
	const char *names[ARRAY_SIZE(commands)];
	char what[80];

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	const char *meant = near_word(word, names, ARRAY_SIZE(names));
	snprintf(what, sizeof(what), "unknown command%s%s%s", meant ? " (is it " : "",
		 meant ? meant : "", meant ? "?)" : "");
	return usage_error(what, word);
}

int main(int argc, char **argv)
{
	inherited_keep(); /* before it is changed */
	umask(077);	  /* what is to be read by others gets its mode by fchmod() */
	set_limits();
	if (argc < 2 || argv[1][0] == '-')
		return daemon_command(argc, argv);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		usage_begin(commands[i].full);
		argv[1] = (char *)commands[i].full; /* getopt's messages begin with it */
		return commands[i].run(argc - 1, argv + 1);
	}
	return unknown_command(argv[1]);
}
