/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks a Java VM (HotSpot) to load the agent (jvm_agent/), as the JDK's own tools do: a file
 * `.attach_pidN` in its working folder or /tmp, SIGQUIT, a socket `/tmp/.java_pidN`, a request and
 * its answer. N is the process's pid as it sees itself.
 *
 * All of it is done by a process of ours, forked for it, which has the target's user and group, no
 * capability, no file of ours, and a time limit. It goes by the target's root folder as the
 * kernel has it open, so it needs to enter no namespace. What the target laid in its way (links,
 * FIFOs, sockets and folders of others) can harm nobody but the target: nothing is followed below
 * /tmp, files are made new, and whatever hangs costs that one process.
 *
 * attach_look() reads /proc and may hang: in a job. The rest doesn't wait.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ATTACH_TEXT_BYTES 160

enum attach_result {
	ATTACH_DONE,
	ATTACH_GONE,	 /* there is no such process any more */
	ATTACH_NO_VM,	 /* it has no HotSpot */
	ATTACH_SIGNALS,	 /* it doesn't catch SIGQUIT: it starts, or has -Xrs */
	ATTACH_DISABLED, /* -XX:+DisableAttachMechanism */
	ATTACH_STOPPED,	 /* it is stopped, so it can't answer */
	ATTACH_FOLDER,	 /* its data folder can't be made, or is somebody else's; or others may
			  * replace   what lies in its /tmp */
	ATTACH_FILE,	 /* the agent can't be written there */
	ATTACH_SOCKET,	 /* what is at the socket's name isn't the VM's */
	ATTACH_SILENT,	 /* the VM didn't answer in time */
	ATTACH_REFUSED,	 /* the VM said no: its text */
	ATTACH_NOT_NOW,	 /* the VM has not begun yet */
	ATTACH_SYSTEM,	 /* something of ours failed: its errno */
	ATTACH_HUNG,	 /* its files hang: it wasn't asked (java/agents/attach_queue.h) */
	ATTACH_SET_ID,	 /* it has another user's or group's rights than those who started it */
};
/* `stopped`, `disabled` … */
const char *attach_result_name(enum attach_result result);

/* A process as it was looked at. Its descriptors are O_PATH (root, working folder) and a pidfd. */
struct attach_process {
	pid_t pid, inner_pid; /* inner_pid: as it sees itself */
	uid_t root_uid;	      /* whom its user namespace calls root; (uid_t)-1: nobody */
	uid_t uid;	      /* effective ones, as our namespace has them */
	gid_t gid;
	int pidfd, root_fd, cwd_fd; /* -1: none */
	bool other_clock;	    /* its CLOCK_MONOTONIC isn't ours: a time namespace */
};
#define ATTACH_PROCESS_NONE                                                                        \
	{                                                                                          \
		.pidfd = -1, .root_fd = -1, .cwd_fd = -1                                           \
	}

/* Whether it can be asked. *process is to be given to attach_process_done() whatever the answer;
 * that closes its descriptors, and leaves the rest. */
enum attach_result attach_look(struct attach_process *process, pid_t pid, uint64_t start_ticks);
void attach_process_done(struct attach_process *process);

enum attach_task {
	/* The agent writes what is compiled. The answer's folder_fd is the data folder with a
	 * shared lock, tmp_fd where it lies: to be kept open, so that the agent knows that it has a
	 * reader. One that writes already goes on. */
	ATTACH_START,
	/* The file goes, and the agent is told to stop, if the VM answers. With another reader
	 * nothing is done. STOP and CLEAN need no descriptors of the process. */
	ATTACH_STOP,
	/* The process has gone, or runs another program: what it left in its data folder goes,
	 * unless there is another reader. Nobody is asked. */
	ATTACH_CLEAN,

	/* The agent of JFR mode (jvm_agent/jfr), with the same folder. A recording begins, as
	 * START's descriptors are answered; its window ends, and the stacks are in the folder; all
	 * ends, if the VM answers, and the files go. The answer's text is the agent's: how on-CPU
	 * is sampled, or why not (ATTACH_REFUSED). */
	ATTACH_JFR_START,
	ATTACH_JFR_DUMP, /* needs the process, too: its pids and user */
	ATTACH_JFR_STOP, /* needs no descriptors of the process */
};

/* Whether this program was built with the agent of JFR mode: with a JDK. */
bool attach_has_jfr(void);

/* What is recorded. */
#define ATTACH_JFR_ONCPU  1U
#define ATTACH_JFR_OFFCPU 2U
#define ATTACH_JFR_MEM	  4U

struct attach_order {
	enum attach_task task;
	uint32_t bytes_max;    /* START: of the file */
	uint32_t limit_ms;     /* for all of it */
	int folder_fd, tmp_fd; /* all but the STARTs: as START's answer had them; the caller's */
	uint64_t sequence;     /* JFR: the command's, which its files have */
	/* JFR_START: ATTACH_JFR_… bits; between samples; it ends when nobody asks for so long. */
	uint32_t recorded, period_ms, idle_s;
	/* JFR_DUMP, microseconds since 1970: waits count from then on; when the window has ended,
	 * a moment ago. 0: in whole; now. */
	uint64_t since_us, to_us;
};

struct attach {
	pid_t child; /* 0: none */
	int fd;	     /* readable when it has answered or ended */
};

/* Forks; `process` stays the caller's and isn't needed any more. -EAGAIN, -ENOMEM, -EMFILE … */
int attach_begin(struct attach *attach, const struct attach_process *process,
		 const struct attach_order *order);

struct attach_answer {
	enum attach_result result;
	int error;			      /* ATTACH_SYSTEM …: a positive errno, or 0 */
	char text[ATTACH_TEXT_BYTES];	      /* of the VM, printable ASCII */
	int folder_fd, tmp_fd;		      /* STARTs: the caller's from now on; else -1 */
	uint64_t folder_device, folder_inode; /* START: which folder it is */
};

/* Takes the answer when attach->fd is readable, and closes it; a child that ended without one has
 * ATTACH_SILENT. The child may still have to be buried. */
void attach_finish(struct attach *attach, struct attach_answer *answer);

/* After its time limit: it is killed. */
void attach_kill(struct attach *attach);

/* True: the child has ended and is buried (or there is none). */
bool attach_bury(struct attach *attach);
