/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading of a BPF iterator that writes records of one size. Any thread. */
#pragma once

#include <stddef.h>

/* Reads all records; each() gets every one. `bytes` is a record's size. Returns 0 or a negative
 * errno. */
int iterator_read(int fd, size_t bytes, void (*each)(void *arg, const void *record), void *arg);
