/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The link latest.svg in the folder of a probe or of a process, as store_write() makes it. In a
 * job. */
#pragma once

#include <dirent.h>

/*
 * Repairs the link in `dir` if the link's file is gone: links it to the newest picture that is left
 * below `dir`, or removes it. A link that is somebody else's, or leads elsewhere, is left alone.
 * `pid`: the process's, as filename_profile() takes it; `root_fd` as file_link_new() does. Returns
 * 0, or a negative errno. Moves the position of `dir`.
 */
int latest_mend(DIR *dir, int root_fd, int pid);
