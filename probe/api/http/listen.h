/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens listening sockets: TCP, Unix, and those that systemd has opened. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns a socket that listens on an address in digits; the caller owns it. A *port of 0 becomes
 * the port that was chosen. -EINVAL: no address; other negative errno. */
int listen_on(const char *address, int *port);

/*
 * Returns a Unix socket at `path` to which everybody may connect; the caller owns it. If only the
 * last folder is missing, it is made (mode 0755). The folder has to belong to root or to us, and
 * others must not be able to write there. A socket that a dead daemon has left is replaced.
 * -EADDRINUSE: somebody listens there; -EPERM: the folder isn't safe; -ENOTSOCK: something else has
 * that name; other negative errno.
 */
int listen_at(const char *path);

/*
 * Returns a socket that the process which started us has opened (sd_listen_fds(3)): the first one
 * that listens, is of the family and was not returned before; AF_INET stands for AF_INET6 as well.
 * The caller owns it. -ENOENT: there is none.
 */
int listen_given(int family);
