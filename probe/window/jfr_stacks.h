/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds stacks that a Java VM recorded (java/files/jfrfile) to a profile, beside those that the
 * kernel's side took of other processes. Jobs of the bulk worker only, as all that touches a
 * profile's tree.
 *
 * Weights are converted to the probe's unit: on-CPU samples of the profile's period (what the
 * recording's samples stand for, divided by it), off-CPU microseconds, bytes. Sums stay right: the
 * remainder of a division goes to the next stack.
 */
#pragma once

#include "window/batch.h"
#include "profile/stack_detail.h"
#include "profile/profile.h"
#include "java/files/jfrfile.h"

/*
 * Adds all stacks of `file`. `who` is the process; each stack has its own thread. What the VM lost,
 * and what finds no room, is counted in the result and the profile, as by batch_name().
 */
void jfr_stacks_add(struct profile *profile, const struct jfrfile *file,
		    const struct record_who *who, const struct stack_detail *detail,
		    struct batch_result *result);
