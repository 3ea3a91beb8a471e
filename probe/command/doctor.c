// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command `doctor`: tries every capability and every probe, each in a child of its own. A trial
 * that hangs is given up, one that crashes or leaks harms no other, and the kernel removes all that
 * a trial attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capability/ktypes.h"
#include "loop/loop.h"
#include "command/command.h"
#include "command/diagnosis.h"
#include "command/privileges.h"
#include "command/self_profile.h"
#include "kind/kind.h"

#define TRIAL_LIMIT_NS	 (8 * NS_PER_S)
#define PROFILE_LIMIT_NS (60 * NS_PER_S) /* on a busy machine */
#define END_LIMIT_NS	 (200 * NS_PER_MS)

#define AT_ONCE		 8

#define WIDTH_MIN	 60
#define WIDTH_MAX	 100

static const char usage[] =
	"Usage: stackprobe doctor [--json]\n"
	"Tries what this kernel and these privileges allow, and says for each 'no' why, and what\n"
	"helps. Changes nothing. Exit status 0: the probes of this version run here; 1: they "
	"don't.\n";

/* Tries one capability, with all our privileges; or for CAN_NOTHING the profile of this process,
 * with the privileges that the daemon would keep. */
static void try_one(enum capability which, struct finding *finding)
{
	static const struct privileges_wish nothing_else;
	int r = which == CAN_NOTHING ? privileges_drop(&nothing_else, NULL) : 0;

	*finding = (struct finding){.state = FINDING_NO};
	if (r < 0)
		snprintf(finding->reason, sizeof(finding->reason),
			 "privileges can't be given up: %s", strerror(-r));
	else if (which == CAN_NOTHING)
		self_profile(finding);
	else
		capability_try(which, finding);
}

/* A trial that runs. */
struct child {
	pid_t pid; /* negative: the errno of starting it */
	int answer_fd;
	uint64_t until_ns;
	uint64_t limit_ns;
};

static struct child start_child(enum capability which, uint64_t limit_ns)
{
	struct child child = {
		.answer_fd = -1, .limit_ns = limit_ns, .until_ns = loop_now_ns() + limit_ns};
	struct finding finding;
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
		child.pid = -errno;
		return child;
	}
	child.pid = fork();
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipe_fds[0]);
		try_one(which, &finding);
		_exit(write(pipe_fds[1], &finding, sizeof(finding)) != sizeof(finding));
	}
	if (child.pid < 0)
		child.pid = -errno;
	close(pipe_fds[1]);
	child.answer_fd = pipe_fds[0];
	return child;
}

static bool child_answers(const struct child *child)
{
	struct pollfd poll_fd = {.fd = child->answer_fd, .events = POLLIN};
	uint64_t now = loop_now_ns();
	int ms = child->until_ns > now ? (int)((child->until_ns - now) / NS_PER_MS) : 0;
	int r;

	do
		r = poll(&poll_fd, 1, ms);
	while (r < 0 && errno == EINTR);
	return r > 0;
}

/* Ends a child. A child that hangs in the kernel can't be waited for and is left behind. */
static int end_child(pid_t pid)
{
	uint64_t until = loop_now_ns() + END_LIMIT_NS;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0 && loop_now_ns() < until)
		usleep(500);
	return status;
}

static void collect_finding(const struct child *child, struct finding *finding)
{
	_cleanup_close_ int fd = child->answer_fd;
	struct finding found;

	*finding = (struct finding){.state = FINDING_NO, .remedy = "none is known"};
	if (child->pid < 0) {
		snprintf(finding->reason, sizeof(finding->reason), "can't be tried: %s",
			 strerror((int)-child->pid));
		return;
	}
	bool answered = child_answers(child);
	ssize_t n = answered ? read(fd, &found, sizeof(found)) : 0;
	if (n == sizeof(found))
		*finding = found;
	else
		kill(child->pid, SIGKILL);
	int status = end_child(child->pid);
	if (!answered)
		snprintf(finding->reason, sizeof(finding->reason),
			 "the trial hung and was given up after %llu s",
			 (unsigned long long)(child->limit_ns / NS_PER_S));
	else if (n != sizeof(found))
		snprintf(finding->reason, sizeof(finding->reason), "the trial ended by signal %d",
			 WTERMSIG(status));
}

/* Judges a probe that is profiled here: by that profile, and by the limits of its needs. */
static void judge_profiled(struct diagnosis *diagnosis, enum probe probe)
{
	struct finding *finding = &diagnosis->probes[probe];
	const struct finding *hooks = &diagnosis->hooks[probe];
	size_t len = strlen(finding->reason);

	if (finding->state == FINDING_NO) {
		memcpy(finding->remedy, hooks->remedy, sizeof(finding->remedy));
		return;
	}
	if (hooks->state == FINDING_YES)
		return;
	finding->state = FINDING_LIMITED;
	snprintf(finding->reason + len, sizeof(finding->reason) - len, "; %s", hooks->reason);
	memcpy(finding->remedy, hooks->remedy, sizeof(finding->remedy));
}

static void tell_allowed(struct finding *finding)
{
	if (finding->state == FINDING_YES)
		snprintf(finding->reason, sizeof(finding->reason), "all that it needs is allowed");
}

/* Judges a probe of /sched or /proc, which isn't profiled here: by the trials of its needs. */
static void judge_needs(const struct kind_need *needs, const struct diagnosis *diagnosis,
			struct finding *finding)
{
	needs_judge(needs, diagnosis->capabilities, finding);
	tell_allowed(finding);
}

/* Reads the kernel's types. The trial of it has just gone well, in a child. Returns NULL if they
 * can't be read. */
static const struct ktypes *read_types(const struct diagnosis *diagnosis, struct ktypes *types)
{
	if (diagnosis->capabilities[CAN_KNOW_TYPES].state == FINDING_NO)
		return NULL;
	_cleanup_close_ int fd = ktypes_open(types);
	return fd < 0 ? NULL : types;
}

static void judge_probes(struct diagnosis *diagnosis)
{
	struct ktypes room = {0};
	const struct ktypes *types = read_types(diagnosis, &room);

	diagnosis->ok = true;
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct finding *finding = &diagnosis->probes[i];

		kind_judge(kind_get(i), diagnosis->capabilities, types, &diagnosis->hooks[i]);
		if (i == (int)kind_of_clock()) {
			judge_profiled(diagnosis, i);
		} else {
			*finding = diagnosis->hooks[i];
			tell_allowed(finding);
		}
		diagnosis->ok =
			diagnosis->ok && (finding->state != FINDING_NO || kind_get(i)->of_hardware);
	}
}

static void judge_sched(struct diagnosis *diagnosis)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		struct finding *finding = &diagnosis->sched[i];

		judge_needs(sched_kind_needs(i), diagnosis, finding);
		diagnosis->ok = diagnosis->ok && finding->state != FINDING_NO;
	}
}

static void judge_proc(struct diagnosis *diagnosis)
{
	for (int i = 0; i < COST_PROBES; i++) {
		struct finding *finding = &diagnosis->proc[i];

		judge_needs(cost_kind_needs(), diagnosis, finding);
		diagnosis->ok = diagnosis->ok && finding->state != FINDING_NO;
	}
}

/* Runs the trials, AT_ONCE at a time: most of a trial is waiting until the kernel has freed a
 * program. */
static void try_all(struct diagnosis *diagnosis)
{
	struct child children[AT_ONCE];
	struct child profile = start_child(CAN_NOTHING, PROFILE_LIMIT_NS);

	uname(&diagnosis->host);
	collect_finding(&profile, &diagnosis->probes[kind_of_clock()]);
	for (int from = CAN_NOTHING + 1; from < CAPABILITY_COUNT; from += AT_ONCE) {
		for (int i = 0; i < AT_ONCE && from + i < CAPABILITY_COUNT; i++)
			children[i] = start_child(from + i, TRIAL_LIMIT_NS);
		for (int i = 0; i < AT_ONCE && from + i < CAPABILITY_COUNT; i++)
			collect_finding(&children[i], &diagnosis->capabilities[from + i]);
	}
	judge_probes(diagnosis);
	judge_sched(diagnosis);
	judge_proc(diagnosis);
}

static unsigned terminal_columns(void)
{
	struct winsize size = {0};
	unsigned width = WIDTH_MAX;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		width = size.ws_col;
	if (width < WIDTH_MIN)
		return WIDTH_MIN;
	return width > WIDTH_MAX ? WIDTH_MAX : width;
}

int doctor_command(int argc, char **argv)
{
	static const struct option known[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	bool json = false;

	for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c != 'j')
			return usage_hint(); /* getopt said why */
		json = true;
	}
	if (optind < argc)
		return usage_error("not an option of doctor", argv[optind]);
	_cleanup_free_ struct diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	if (!diagnosis) {
		fprintf(stderr, "stackprobe: no memory\n");
		return EXIT_FAILED;
	}
	try_all(diagnosis);
	if (!json)
		diagnosis_print(diagnosis, stdout, terminal_columns());
	else if (diagnosis_print_json(diagnosis, stdout) < 0)
		fprintf(stderr, "stackprobe: no memory\n");
	if (fflush(stdout) != 0) {
		fprintf(stderr, "stackprobe: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	return diagnosis->ok ? 0 : EXIT_FAILED;
}
