/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers of the probes, in masks and keys. Names, units and hooks: probe/profile/kind.c. */
#pragma once

enum probe { PROBE_ONCPU, PROBE_OFFCPU, PROBE_MEM, PROBE_MEM_GLIBC, PROBE_COUNT };
