/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by java/attach/attach*.c; only these and tests include it. All functions but those of
 * attach_look.c run in the forked child of a process with threads: they make system calls only, and
 * use no allocation and no stdio. */
#pragma once

#include <stddef.h>

#include "java/attach/attach.h"

/* The state of a task, in the child. */
struct attach_dialogue {
	struct attach_process process;
	struct attach_order order;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	int tmp_fd, folder_fd;
	uint64_t agent_inode; /* of the agent's file that we wrote */
	struct attach_answer answer;
};

#define ATTACH_NAME_BYTES 64
#define JFR_STATE_NAME	  "jfr-state.txt" /* doc/formats.md */
/* Writes `prefix`, the number, and a NUL. */
void attach_name(char name[ATTACH_NAME_BYTES], const char *prefix, uint64_t number);

/* The agents' files (attach_agent.S). That of JFR mode is empty if the program was built without a
 * JDK. */
extern const char jvm_agent_image[], jvm_agent_image_end[];
extern const char jfr_agent_image[], jfr_agent_image_end[];
/* Makes the file name of the task's agent, with a hash of its content. */
void attach_agent_name(char name[ATTACH_NAME_BYTES], enum attach_task task);
/* Returns whether the task is for the agent of JFR mode. */
bool attach_is_jfr(enum attach_task task);

/* ---- attach_folder.c: functions return false on failure, and answer.result says why ---- */

bool attach_open_tmp(struct attach_dialogue *mine);
bool attach_make_folder(struct attach_dialogue *mine);
bool attach_write_agent(struct attach_dialogue *mine);
/* Returns whether the agent's file is still the one that we wrote: another reader of the same VM
 * writes and removes a file of that name, too. */
bool attach_has_agent(const struct attach_dialogue *mine);
void attach_remove_agent(const struct attach_dialogue *mine);
void attach_remove_folder(const struct attach_dialogue *mine);

/* ---- attach_vm.c ---- */

/* Returns what is left of the time limit; 0: it has passed. */
int attach_left_ms(const struct attach_dialogue *mine);

/* Has the VM load the task's agent with these options; returns false on failure, and answer.result
 * says why. */
bool attach_load(struct attach_dialogue *mine, const char *options);

/* Writes the agent's file, has the VM load it, and removes it, which the VM needs only meanwhile.
 * Again, if another reader took the file away before the VM had it. As attach_load(). */
bool attach_give_agent(struct attach_dialogue *mine, const char *options);

/* Sends a command with up to three arguments (NULL: none); returns whether the VM did it, and sets
 * answer.result. */
#define ATTACH_WORDS 4
bool attach_ask(struct attach_dialogue *mine, const char *const words[ATTACH_WORDS]);

/* Writes a request to `out`: the version, then the words with their NULs. Returns its length; 0: no
 * room. */
size_t attach_request(char *out, size_t room, const char *const words[ATTACH_WORDS]);

/* Parses the VM's reply of `len` bytes. Returns ATTACH_DONE, ATTACH_NOT_NOW, ATTACH_SILENT if it is
 * empty, or ATTACH_REFUSED with the VM's text in `text`. */
enum attach_result attach_judge(const char *reply, size_t len, char text[ATTACH_TEXT_BYTES]);

/* ---- attach_jfr.c ---- */

/* Does a task of JFR mode, and sets the answer. */
void attach_do_jfr(struct attach_dialogue *mine);

/* Parses the agent's state file of `len` bytes. Returns ATTACH_DONE if the state is `wanted` for
 * the command `sequence`, else ATTACH_REFUSED; `text` is the agent's text. */
enum attach_result attach_judge_jfr(const char *state, size_t len, const char *wanted,
				    uint64_t sequence, char text[ATTACH_TEXT_BYTES]);

/* ---- attach_look.c ---- */

struct attach_status {
	uid_t uid; /* effective user and group */
	gid_t gid;
	bool set_id; /* the real user or group is another */
	pid_t inner_pid;
	bool catches_quit, stopped;
};
/* Parses the text of /proc/PID/status (with a NUL); returns false if a field is missing. */
bool attach_parse_status(const char *text, struct attach_status *status);

/* Return whether the VM's options have -XX:+DisableAttachMechanism: in NUL-separated arguments, or
 * in an environment. */
bool attach_is_disabled(const char *arguments, size_t len);
bool attach_is_disabled_by(const char *environment, size_t len);
