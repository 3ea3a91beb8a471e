/* SPDX-License-Identifier: GPL-2.0-only */
/* What java/attach/attach*.c share. Nobody else includes it, but tests. All but attach_look.c runs
 * in the forked child of a process with threads: system calls alone, no allocation, no stdio. */
#pragma once

#include <stddef.h>

#include "java/attach/attach.h"

/* In the child: who asks what of whom. */
struct attach_dialogue {
	struct attach_process process;
	struct attach_order order;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	int tmp_fd, folder_fd;
	struct attach_answer answer;
};

#define ATTACH_NAME_BYTES 64
#define JFR_STATE_NAME	  "jfr-state.txt" /* doc/formats.md */
/* `prefix`, a number, and its NUL. */
void attach_name(char name[ATTACH_NAME_BYTES], const char *prefix, uint64_t number);

/* What the daemon has of the agents (attach_agent.S), and their names: others for others. The one
 * of JFR mode is empty where there was no JDK when the program was built. */
extern const char jvm_agent_image[], jvm_agent_image_end[];
extern const char jfr_agent_image[], jfr_agent_image_end[];
void attach_agent_name(char name[ATTACH_NAME_BYTES], enum attach_task task);
/* The task is one of JFR mode's. */
bool attach_is_jfr(enum attach_task task);

/* ---- attach_folder.c: false: answer.result says why ---- */

bool attach_open_tmp(struct attach_dialogue *mine);
bool attach_make_folder(struct attach_dialogue *mine);
bool attach_write_agent(struct attach_dialogue *mine);
void attach_remove_agent(const struct attach_dialogue *mine);
void attach_remove_folder(const struct attach_dialogue *mine);

/* ---- attach_vm.c ---- */

/* Of its time limit; 0: it has passed. */
int attach_left_ms(const struct attach_dialogue *mine);

/* Has the VM load the task's agent with these options. */
bool attach_load(struct attach_dialogue *mine, const char *options);

/* Asks for a command with up to three arguments (NULL: none). DONE: it was done. */
#define ATTACH_WORDS 4
bool attach_ask(struct attach_dialogue *mine, const char *const words[ATTACH_WORDS]);

/* The request's bytes in `out`: the version, then the words with their NULs. 0: no room. */
size_t attach_request(char *out, size_t room, const char *const words[ATTACH_WORDS]);

/* What the VM answered to it (`len` bytes): DONE, NOT_NOW, or REFUSED with its text
 * in `text`. */
enum attach_result attach_judge(const char *reply, size_t len, char text[ATTACH_TEXT_BYTES]);

/* ---- attach_jfr.c ---- */

/* Does a task of JFR mode; what became of it is in the answer. */
void attach_do_jfr(struct attach_dialogue *mine);

/* The agent's word (`len` bytes of its state file) on a command: DONE if it was done, else REFUSED;
 * its text in `text`. */
enum attach_result attach_judge_jfr(const char *state, size_t len, const char *wanted,
				    uint64_t sequence, char text[ATTACH_TEXT_BYTES]);

/* ---- attach_look.c ---- */

struct attach_status {
	uid_t uid; /* effective ones */
	gid_t gid;
	bool set_id; /* the real ones are others */
	pid_t inner_pid;
	bool catches_quit, stopped;
};
/* From the text of /proc/PID/status (with a NUL); false: it isn't all there. */
bool attach_parse_status(const char *text, struct attach_status *status);

/* Whether the text of /proc/PID/timens_offsets moves CLOCK_MONOTONIC. */
bool attach_moves_clock(const char *text);

/* Whether the VM's options say -XX:+DisableAttachMechanism: NUL-separated arguments, or an
 * environment. */
bool attach_is_disabled(const char *arguments, size_t len);
bool attach_is_disabled_by(const char *environment, size_t len);
