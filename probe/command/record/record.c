// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "command/command.h"
#include "command/privileges.h"
#include "command/record/recording.h"
#include "kind/kind.h"

static const char *explain_error(int error)
{
	if (error == -ELOOP)
		return "it is a link to something that is no file, in a folder where others may "
		       "have put it";
	if (error == -EEXIST)
		return "there is something that is no file, which -o doesn't name";
	return strerror(-error);
}

static int open_files(struct recording *recording)
{
	const struct record_options *options = recording->options;
	char path[sizeof(recording->files[0].path)];

	for (int i = 0; i < PROBE_COUNT; i++)
		recording->files[i] = (struct record_file){.dir_fd = -1, .fd = -1};
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct record_file *file = &recording->files[i];

		if (!(options->probes & 1u << i) || !options->writes_file)
			continue;
		int r = record_options_path(options, i, path, sizeof(path));
		if (r == 0)
			r = record_file_open(file, path,
					     options->path_given &&
						     strcmp(path, options->path) == 0);
		if (r < 0) {
			fprintf(stderr, "stackprobe: %s can't be written: %s\n", options->path,
				explain_error(r));
			return EXIT_FAILED;
		}
		if (options->every_ns)
			record_file_dont_wait(file);
	}
	return 0;
}

static void close_files(struct recording *recording)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		record_file_close(&recording->files[i]);
}

/* Ends as the command did: returns its exit status, or raises the signal that ended it, so that our
 * parent sees what it would have seen of the command. We dump no core beside the command's. */
static int end_like(const struct recording *recording)
{
	const struct workload *workload = &recording->workload;
	const struct rlimit none = {0};
	sigset_t set;

	if (!workload->pid || recording->failure)
		return recording->failure;
	if (WIFEXITED(workload->status))
		return WEXITSTATUS(workload->status);
	int number = WTERMSIG(workload->status);
	if (recording->terminated && number == SIGTERM)
		return 0;
	setrlimit(RLIMIT_CORE, &none);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + number; /* not reached: every signal that can end a process has */
}

/* Drops privileges, but keeps those for writing the files. The command was forked before, and keeps
 * all its privileges. */
static int give_up_privileges(const struct recording *recording)
{
	struct privileges_wish wish = {0};

	for (int i = 0; i < PROBE_COUNT; i++) {
		int dir_fd = recording->files[i].dir_fd;

		if (dir_fd >= 0 && !privileges_own_folder(dir_fd))
			wish.others_folder = true;
	}
	int r = privileges_drop(&wish, NULL);
	if (r == 0)
		return 0;
	fprintf(stderr, "stackprobe: privileges can't be given up: %s\n", strerror(-r));
	return EXIT_FAILED;
}

static int record_processes(const struct record_options *options)
{
	struct recording recording = {.options = options};
	int r = open_files(&recording);

	bool takes_stdout = options->top || strcmp(options->path, "-") == 0;
	if (r == 0 && options->command &&
	    (r = workload_start(&recording.workload, options->command, takes_stdout)) < 0) {
		fprintf(stderr, "stackprobe: no process can be started: %s\n", strerror(-r));
		r = EXIT_FAILED;
	}
	if (r == 0)
		r = give_up_privileges(&recording);
	if (r == 0) {
		recording_run(&recording);
		workload_done(&recording.workload);
		r = end_like(&recording);
	} else {
		workload_done(&recording.workload);
	}
	close_files(&recording);
	return r;
}

int record_command(int argc, char **argv)
{
	struct record_options options;
	int r = record_options_parse(&options, argc, argv);

	if (r < 0)
		r = record_processes(&options);
	record_options_done(&options);
	return r;
}
