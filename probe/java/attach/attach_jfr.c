// SPDX-License-Identifier: GPL-2.0-or-later
/* The tasks of JFR mode, in the child. The agent writes the result of a command to a file, as the
 * VM doesn't pass on what the agent returns. */
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "java/attach/attach_state.h"
#include "proc/foreign.h"

#define OPTIONS_BYTES 256
#define STATE_BYTES   512
#define FIELDS	      5 /* of the state: name, version, state, sequence, text */

struct agent_options {
	char text[OPTIONS_BYTES];
	size_t len;
};

static void add_text(struct agent_options *options, const char *text)
{
	size_t bytes = strlen(text);

	if (bytes >= sizeof(options->text) - options->len)
		return; /* never: the room is enough for all that is added */
	memcpy(options->text + options->len, text, bytes + 1);
	options->len += bytes;
}

static void add_number(struct agent_options *options, uint64_t number)
{
	char text[ATTACH_NAME_BYTES];

	attach_name(text, ",", number);
	add_text(options, text);
}

/* Makes the agent's options, whose format is in jvm_agent/jfr/Agent.java. */
static void make_options(const struct attach_dialogue *mine, const char *command,
			 struct agent_options *options)
{
	const struct attach_order *order = &mine->order;
	char folder[ATTACH_NAME_BYTES];

	attach_name(folder, ",/tmp/java-data-", (uint64_t)mine->process.inner_pid);
	add_text(options, command);
	add_text(options, folder);
	if (order->task == ATTACH_JFR_START) {
		add_text(options, ",");
		add_text(options, order->recorded);
		add_number(options, order->period_ms);
		add_number(options, order->idle_s);
	}
	if (order->task != ATTACH_JFR_STOP)
		add_number(options, order->sequence);
	if (order->task == ATTACH_JFR_DUMP && order->to_us) {
		add_number(options, order->since_us);
		add_number(options, order->to_us);
	}
}

/* ---- the agent's state file ---- */

static bool is_field(const char *at, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(at, text, len) == 0;
}

/* Splits the one line into its fields; the last field goes to the line's end. */
static bool split_state(const char *state, size_t len, const char *fields[FIELDS],
			size_t lens[FIELDS])
{
	const char *at = state, *end = memchr(state, '\n', len);

	for (int i = 0; end && i < FIELDS; i++) {
		const char *tab = memchr(at, '\t', (size_t)(end - at));

		if (!tab && i < FIELDS - 1)
			return false;
		fields[i] = at;
		lens[i] = (size_t)((i < FIELDS - 1 ? tab : end) - at);
		at += lens[i] + 1;
	}
	return end != NULL;
}

enum attach_result attach_judge_jfr(const char *state, size_t len, const char *wanted,
				    uint64_t sequence, char text[ATTACH_TEXT_BYTES])
{
	char number[ATTACH_NAME_BYTES];
	const char *fields[FIELDS];
	size_t lens[FIELDS], kept = 0;

	text[0] = '\0';
	attach_name(number, "", sequence);
	if (!split_state(state, len, fields, lens) ||
	    !is_field(fields[0], lens[0], "stackprobe-jfr") || !is_field(fields[1], lens[1], "1"))
		return ATTACH_REFUSED;
	for (; kept < lens[4] && kept < ATTACH_TEXT_BYTES - 1; kept++)
		text[kept] =
			(char)(fields[4][kept] < ' ' || fields[4][kept] > '~' ? '?'
									      : fields[4][kept]);
	text[kept] = '\0';
	return is_field(fields[2], lens[2], wanted) && is_field(fields[3], lens[3], number)
		       ? ATTACH_DONE
		       : ATTACH_REFUSED;
}

static void read_state(struct attach_dialogue *mine, const char *wanted)
{
	const struct foreign file = {
		.root_fd = mine->folder_fd,
		.path = JFR_STATE_NAME,
		.links = FOREIGN_NO_LINKS,
		.rules = {.owners = &mine->process.uid, .owners_count = 1},
	};
	char state[STATE_BYTES];
	_cleanup_close_ int fd = foreign_open(&file, NULL);
	ssize_t n = fd < 0 ? 0 : read(fd, state, sizeof(state));

	mine->answer.result = attach_judge_jfr(state, n < 0 ? 0 : (size_t)n, wanted,
					       mine->order.sequence, mine->answer.text);
}

/* ---- tasks ---- */

/* Runs a command of the agent. */
static bool run_command(struct attach_dialogue *mine, const char *name)
{
	struct agent_options options = {.len = 0};

	make_options(mine, name, &options);
	return attach_give_agent(mine, options.text);
}

/* Removes the folder, unless there is another reader. */
static void release_folder(struct attach_dialogue *mine)
{
	if (flock(mine->folder_fd, LOCK_EX | LOCK_NB) == 0)
		attach_remove_folder(mine);
}

static void start_recording(struct attach_dialogue *mine)
{
	/* Works only before JFR's first use; later the VM refuses, and the old depth stays. */
	static const char *const depth[] = {"jcmd", "JFR.configure stackdepth=1024", NULL, NULL};

	if (!attach_open_tmp(mine) || !attach_make_folder(mine))
		return;
	unlinkat(mine->folder_fd, JFR_STATE_NAME, 0);
	if ((attach_ask(mine, depth) || mine->answer.result == ATTACH_REFUSED) &&
	    run_command(mine, "start"))
		read_state(mine, "started");
	if (mine->answer.result != ATTACH_DONE)
		release_folder(mine);
}

void attach_do_jfr(struct attach_dialogue *mine)
{
	if (!attach_has_jfr()) {
		mine->answer.result = ATTACH_SYSTEM;
		mine->answer.error = ENOTSUP;
	} else if (mine->order.task == ATTACH_JFR_START) {
		start_recording(mine);
	} else if (mine->order.task == ATTACH_JFR_DUMP) {
		if (run_command(mine, "dump"))
			read_state(mine, "written");
	} else {
		/* Another reader uses the same recording. */
		if (flock(mine->folder_fd, LOCK_EX | LOCK_NB) == 0)
			run_command(mine, "stop");
		release_folder(mine);
	}
}
