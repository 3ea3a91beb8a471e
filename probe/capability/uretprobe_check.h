/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tries whether return probes (uretprobes) are safe for programs with a seccomp filter. Since Linux
 * 6.11 a probed return on x86-64 is a system call of the kernel's own, uretprobe(). If the kernel
 * asks the filter about that call (6.11, early 6.12 and 6.13), a return probe kills programs in
 * containers and sandboxes. A child tries it.
 */
#pragma once

#define SANDBOX_URETPROBE 335 /* number of the system call uretprobe() on x86-64 */

/*
 * Forks a child whose filter kills it at the system call `forbidden`; the child returns from a
 * probed function and calls getppid(). Returns 1 if the child lived, 0 if it was killed, or a
 * negative errno if that can't be tried. Takes about 100 ms.
 */
int uretprobe_check_try(long forbidden);

/* Returns uretprobe_check_try() of uretprobe(), tried once and kept: return probes kill programs
 * only if it is 0. Always 1 on other processors than x86-64. One thread at a time. */
int uretprobes_are_safe(void);
