/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether probed returns are safe for programs whose system calls are filtered (seccomp). Since
 * Linux 6.11 a probed return on x86-64 is a system call of the kernel's own, uretprobe(). Where the
 * kernel asks the filter about it (6.11, and 6.12 and 6.13 at first) a container or a sandboxed
 * service is ended by a probe. Found out by trying: by a child.
 */
#pragma once

/* The system call that is forbidden in the trial. */
#define SANDBOX_URETPROBE 335

/*
 * A child whose filter forbids that system call returns from a probed function, and calls
 * getppid(). 1: it lived; 0: it was ended; negative errno: it can't be tried. It takes some 100 ms.
 */
int sandbox_try(long forbidden);

/* The same of uretprobe(), tried once: 0 only if it ends programs. */
int sandbox_returns_are_safe(void);
