/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Client of HotSpot's attach mechanism: asks a Java VM to load an agent (jvm_agent/), as the JDK's
 * own tools do, by a file `.attach_pidN` in the VM's working folder or /tmp, SIGQUIT, a socket
 * `/tmp/.java_pidN`, a request and its answer. N is the process's pid in its own pid namespace.
 *
 * A child, forked for each request, does all this. It has the target's user and group, no
 * capability, no file of ours, and a time limit. It uses the target's root folder as an open
 * descriptor, so it enters no namespace. Whatever the target put there (links, FIFOs, others'
 * sockets and folders) can harm only the target: below /tmp nothing is followed, files are created
 * anew, and what hangs costs only that child.
 *
 * attach_look() reads /proc and may hang: call it in a job. The other functions don't wait.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/shared/named.h"

#define ATTACH_TEXT_BYTES 160

#define ATTACH_RESULTS(X)                                                                          \
	X(ATTACH_DONE, "done")                                                                     \
	X(ATTACH_GONE, "gone")	 /* the process is gone, or runs another program now */            \
	X(ATTACH_NO_VM, "no_vm") /* the process has no HotSpot */                                  \
	/* the VM doesn't catch SIGQUIT: it is starting, or has -Xrs */                            \
	X(ATTACH_SIGNALS, "signals")                                                               \
	X(ATTACH_DISABLED, "disabled") /* -XX:+DisableAttachMechanism */                           \
	X(ATTACH_STOPPED, "stopped")   /* the process is stopped, so it can't answer */            \
	/* the data folder can't be made, or is somebody else's; or others may replace folders in  \
	 * the process's /tmp */                                                                   \
	X(ATTACH_FOLDER, "folder")                                                                 \
	X(ATTACH_FILE, "file")	     /* the agent, or the file for SIGQUIT, can't be written */    \
	X(ATTACH_SOCKET, "socket")   /* the file at the socket's path isn't the VM's socket */     \
	X(ATTACH_SILENT, "silent")   /* the VM didn't answer in time */                            \
	X(ATTACH_REFUSED, "refused") /* the VM, or the agent, said no: its text */                 \
	X(ATTACH_NOT_NOW, "not_now") /* the VM has not begun yet */                                \
	X(ATTACH_SYSTEM, "system")   /* something of ours failed: its errno */                     \
	/* the process's files hang: it wasn't asked (java/agents/attach_queue.h) */               \
	X(ATTACH_HUNG, "hung")                                                                     \
	X(ATTACH_SET_ID, "set_id") /* the effective user or group isn't the real one */
enum attach_result { ATTACH_RESULTS(NAMED_VALUE) };
/* Returns `stopped`, `disabled` … */
const char *attach_result_name(enum attach_result result);

/* A process as attach_look() saw it. Root and working folder are O_PATH descriptors. */
struct attach_process {
	pid_t pid, inner_pid; /* inner_pid: in its own pid namespace */
	uid_t root_uid;	      /* root of its user namespace, as we see it; (uid_t)-1: nobody */
	uid_t uid;	      /* effective user and group, as our namespace has them */
	gid_t gid;
	int pidfd, root_fd, cwd_fd; /* -1: none */
	bool other_clock;	    /* it has another CLOCK_MONOTONIC: a time namespace */
};
#define ATTACH_PROCESS_NONE                                                                        \
	{                                                                                          \
		.pidfd = -1, .root_fd = -1, .cwd_fd = -1                                           \
	}

/* Returns ATTACH_DONE if the process can be asked, else why not. In both cases the caller ends
 * *process with attach_process_done(), which closes the descriptors and keeps the other fields. */
enum attach_result attach_look(struct attach_process *process, pid_t pid, uint64_t start_ticks);
void attach_process_done(struct attach_process *process);

enum attach_task {
	/* Has the agent write a file about compiled code; an agent that writes already goes on. The
	 * answer's folder_fd is the data folder with a shared lock, tmp_fd is the folder around it.
	 * Keep both open: by the lock the agent knows that it has a reader. */
	ATTACH_START,
	/* Removes the file, and tells the agent to stop, if the VM answers. Does nothing if there
	 * is another reader. STOP and CLEAN need no descriptors of the process. */
	ATTACH_STOP,
	/* Cleans the data folder of a process that is gone or runs another program, unless there is
	 * another reader. Asks no VM. */
	ATTACH_CLEAN,

	/* JFR_… are for the agent of JFR mode (jvm_agent/jfr), with the same folder. The answer's
	 * text is the agent's: how on-CPU is sampled, or why not (ATTACH_REFUSED). */
	ATTACH_JFR_START, /* begins a recording; answers descriptors as START does */
	ATTACH_JFR_DUMP,  /* ends a window, whose stacks are in the folder then; needs *process */
	ATTACH_JFR_STOP,  /* ends all, if the VM answers, and removes the files; no descriptors */
};

/* Returns whether this program was built with a JDK, and so has the agent of JFR mode. */
bool attach_has_jfr(void);

#define ATTACH_RECORDED_BYTES 64

struct attach_order {
	enum attach_task task;
	uint32_t bytes_max;    /* START: bound of the agent's file */
	uint32_t limit_ms;     /* for the whole task */
	int folder_fd, tmp_fd; /* not for STARTs: from START's answer; the caller's */
	uint64_t sequence;     /* JFR: number of the command, which the files repeat */
	/* JFR_START: what is recorded, "oncpu+mem"; time between samples; the recording ends when
	 * nobody asks for idle_s. */
	char recorded[ATTACH_RECORDED_BYTES];
	uint32_t period_ms, idle_s;
	/* JFR_DUMP, microseconds since 1970: since when waits count; when the window has ended, a
	 * moment ago. to_us = 0: whole waits, and a window that ends now. */
	uint64_t since_us, to_us;
};

struct attach {
	pid_t child; /* 0: none */
	int fd;	     /* readable when the child has answered or ended */
};

/* Forks a child for the task. `process` stays the caller's, and may be ended after this. Returns 0,
 * or a negative errno: -EAGAIN, -ENOMEM, -EMFILE … */
int attach_begin(struct attach *attach, const struct attach_process *process,
		 const struct attach_order *order);

struct attach_answer {
	enum attach_result result;
	int error;			      /* ATTACH_SYSTEM …: a positive errno, or 0 */
	char text[ATTACH_TEXT_BYTES];	      /* the VM's or the agent's text, printable ASCII */
	int folder_fd, tmp_fd;		      /* STARTs: the caller owns them; else -1 */
	uint64_t folder_device, folder_inode; /* STARTs: of the data folder */
};

/* Takes the answer when attach->fd is readable, and closes attach->fd. A child that ended without
 * an answer gives ATTACH_SILENT. Call attach_bury() after this. */
void attach_finish(struct attach *attach, struct attach_answer *answer);

/* Kills a child whose time limit is over. */
void attach_kill(struct attach *attach);

/* Returns whether the child has ended and was waited for, or there is none. */
bool attach_bury(struct attach *attach);
