// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaches to a Java VM without the daemon: `attach PID LIMIT_MS BYTES_MAX [PID …]`, all at once.
 * Each answer is a line of JSON, in the order in which they come. Then it reads commands: `stop`
 * (all of them), `clean` (of those that have gone), `again` (starts them once more); it ends with
 * its input. `jfr-start`, `jfr-dump`, `jfr-stop`: the agent of JFR mode. BYTES_MAX 0: nothing is
 * started at first.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "java/attach/attach.h"
#include "proc/proc.h"

#define PROCESSES_MAX 64

struct one {
	struct attach_process process;
	enum attach_result looked;
	struct attach attach;
	int folder_fd, tmp_fd;
	uint64_t began_ns, sequence;
};

static struct one all[PROCESSES_MAX];
static int count;

static void tell(struct one *one, const struct attach_answer *answer)
{
	printf("{\"pid\": %d, \"inner\": %d, \"result\": \"%s\", \"error\": %d, \"text\": \"",
	       one->process.pid, one->process.inner_pid, attach_result_name(answer->result),
	       answer->error);
	for (const char *c = answer->text; *c; c++)
		printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	printf("\", \"ms\": %llu}\n",
	       (unsigned long long)((loop_now_ns() - one->began_ns) / NS_PER_MS));
	fflush(stdout);
}

static void begin(struct one *one, enum attach_task task, uint32_t limit_ms, uint32_t bytes_max)
{
	struct attach_order order = {.task = task,
				     .bytes_max = bytes_max,
				     .limit_ms = limit_ms,
				     .folder_fd = one->folder_fd,
				     .tmp_fd = one->tmp_fd,
				     .sequence = ++one->sequence,
				     .recorded = "oncpu+offcpu+mem",
				     .period_ms = 10,
				     .idle_s = 60};
	struct attach_answer answer = {.result = one->looked};
	struct proc_stat stat = {0};
	pid_t pid = one->process.pid;

	one->began_ns = loop_now_ns();
	if (task != ATTACH_CLEAN) {
		attach_process_done(&one->process);
		int r = proc_stat(pid, &stat);
		one->looked =
			r < 0 ? ATTACH_GONE : attach_look(&one->process, pid, stat.start_ticks);
		one->process.pid = pid;
		answer.result = one->looked;
	}
	if (answer.result == ATTACH_DONE) {
		int r = attach_begin(&one->attach, &one->process, &order);
		if (r == 0)
			return;
		answer.result = ATTACH_SYSTEM;
		answer.error = -r;
	}
	one->attach = (struct attach){.fd = -1};
	tell(one, &answer);
}

static void end(struct one *one)
{
	struct attach_answer answer;

	attach_finish(&one->attach, &answer);
	tell(one, &answer);
	if (answer.folder_fd >= 0) {
		cleanup_close(&one->folder_fd);
		cleanup_close(&one->tmp_fd);
		one->folder_fd = answer.folder_fd;
		one->tmp_fd = answer.tmp_fd;
	}
	while (!attach_bury(&one->attach))
		poll(NULL, 0, 1);
}

static void wait_all(void)
{
	for (;;) {
		struct pollfd fds[PROCESSES_MAX];
		int waiting = 0;

		for (int i = 0; i < count; i++) {
			fds[i] = (struct pollfd){.fd = all[i].attach.fd, .events = POLLIN};
			waiting += all[i].attach.fd >= 0;
		}
		if (!waiting || poll(fds, (nfds_t)count, -1) < 0)
			return;
		for (int i = 0; i < count; i++) {
			if (fds[i].fd >= 0 && fds[i].revents)
				end(&all[i]);
		}
	}
}

static enum attach_task task_of(const char *line)
{
	static const struct {
		const char *name;
		enum attach_task task;
	} tasks[] = {{"stop", ATTACH_STOP},
		     {"clean", ATTACH_CLEAN},
		     {"jfr-start", ATTACH_JFR_START},
		     {"jfr-dump", ATTACH_JFR_DUMP},
		     {"jfr-stop", ATTACH_JFR_STOP}};

	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++) {
		if (strncmp(line, tasks[i].name, strlen(tasks[i].name)) == 0)
			return tasks[i].task;
	}
	return ATTACH_START;
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc < 4)
		return 2;
	uint32_t limit_ms = (uint32_t)strtoul(argv[2], NULL, 10);
	uint32_t bytes_max = (uint32_t)strtoul(argv[3], NULL, 10);
	for (int i = 1; i < argc && count < PROCESSES_MAX; i += i == 1 ? 3 : 1) {
		all[count] =
			(struct one){.process = ATTACH_PROCESS_NONE, .folder_fd = -1, .tmp_fd = -1};
		all[count].process.pid = (pid_t)strtol(argv[i], NULL, 10);
		all[count].attach.fd = -1;
		if (bytes_max)
			begin(&all[count], ATTACH_START, limit_ms, bytes_max);
		count++;
	}
	wait_all();
	while (fgets(line, sizeof(line), stdin)) {
		enum attach_task task = task_of(line);

		for (int i = 0; i < count; i++) {
			if (task == ATTACH_START || task == ATTACH_JFR_START ||
			    all[i].folder_fd >= 0)
				begin(&all[i], task, limit_ms, bytes_max);
		}
		wait_all();
		printf("{}\n");
		fflush(stdout);
	}
	return 0;
}
