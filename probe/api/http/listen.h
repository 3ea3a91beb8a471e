/* SPDX-License-Identifier: GPL-2.0-only */
/* Sockets that listen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A socket that listens on an address in digits; *port, if it was 0, becomes the one taken.
 * -EINVAL: no address; other negative errno. */
int listen_on(const char *address, int *port);

/*
 * A Unix socket that everybody may connect to, at `path`, whose folder is made if that alone is
 * missing (mode 0755), and has to belong to root or to us and not to be writable by others. What a
 * daemon that is gone has left there is replaced. -EADDRINUSE: somebody listens there; -EPERM: the
 * folder isn't safe; -ENOTSOCK: something else has that name; other negative errno.
 */
int listen_at(const char *path);

/*
 * A socket that whoever started us has opened (sd_listen_fds(3)): the first one that listens and is
 * of the family, TCP's AF_INET and AF_INET6 being one. It is the caller's from then on; -ENOENT:
 * none.
 */
int listen_given(int family);
