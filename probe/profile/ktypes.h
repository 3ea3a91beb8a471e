/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An excerpt of the running kernel's BTF with the few fields that the BPF programs read. libbpf
 * would read and index all 5 MB of it again for each object that is loaded, a large part of the
 * time between a PUT and the first sample; this is done once, and 1 KB is kept.
 */
#pragma once

/* A memfd with the excerpt, which lives as long as the caller likes. -ENOENT: the kernel has no
 * BTF; -ENOMEM, negative errno. */
int ktypes_open(void);
