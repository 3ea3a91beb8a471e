/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks that a Java VM recorded (java/files/jfrfile) into a profile, beside those that the kernel
 * took of other processes. On the bulk worker, as all that touches a profile's tree.
 *
 * Weights become the probe's: on-CPU samples of the profile's period (what the recording's samples
 * stand for, divided by it), off-CPU microseconds, bytes. Sums stay: what is
 * left of a division goes to the next stack.
 */
#pragma once

#include "window/batch.h"
#include "profile/stack_detail.h"
#include "profile/profile.h"
#include "java/files/jfrfile.h"

/* `who` is the process; its thread is each stack's own. What the VM lost and what finds no room is
 * counted in the result and the profile, as batch_name() does it. */
void jfr_stacks_add(struct profile *profile, const struct jfrfile *file,
		    const struct record_who *who, const struct stack_detail *detail,
		    struct batch_result *result);
