/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A socket that listens on an address in digits; *port, if it was 0, becomes the one taken.
 * -EINVAL: no address; other negative errno. */
int listen_on(const char *address, int *port);
