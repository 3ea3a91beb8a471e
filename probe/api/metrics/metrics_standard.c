// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each exporter tells of itself, under the names that Prometheus' clients have for it.
 * Source:
 * https://prometheus.io/docs/instrumenting/writing_clientlibs/#standard-and-runtime-collectors
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api/metrics/metrics_lines.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "proc/proc.h"

double metrics_cpu_s(const void *stats)
{
	struct rusage usage;

	(void)stats;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Returns one of the numbers of /proc/self/statm, in bytes; 0: it can't be read. */
static uint64_t statm_bytes(int which)
{
	_cleanup_buf_ struct buf statm = BUF_INIT(256);
	unsigned long long numbers[2] = {0};

	if (file_read(AT_FDCWD, "/proc/self/statm", &statm) < 0)
		return 0;
	buf_char(&statm, '\0');
	if (buf_error(&statm) || sscanf(statm.data, "%llu %llu", &numbers[0], &numbers[1]) != 2)
		return 0;
	return (uint64_t)numbers[which] * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t virtual_bytes(const void *stats)
{
	(void)stats;
	return statm_bytes(0);
}

uint64_t metrics_resident_bytes(const void *stats)
{
	(void)stats;
	return statm_bytes(1);
}

static uint64_t open_descriptors(const void *stats)
{
	DIR *folder = opendir("/proc/self/fd");
	uint64_t count = 0;

	(void)stats;
	if (!folder)
		return 0;
	for (const struct dirent *entry; (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count - 1; /* without the folder's own */
}

static uint64_t most_descriptors(const void *stats)
{
	struct rlimit files = {0};

	(void)stats;
	getrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur;
}

/* Seconds since 1970: now, less how long the process has run by the clock that its start is told
 * by. */
static double start_s(const void *stats)
{
	struct proc_stat stat = {0};
	struct timespec real, boot;

	(void)stats;
	if (proc_stat(getpid(), &stat) < 0)
		return 0;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (double)(real.tv_sec - boot.tv_sec) + (double)(real.tv_nsec - boot.tv_nsec) / 1e9 +
	       (double)stat.start_ticks / (double)sysconf(_SC_CLK_TCK);
}

static const struct measure rows[] = {
	{"process_cpu_seconds_total", NULL, COUNTER,
	 "Total user and system CPU time of the daemon in seconds.", .seconds = metrics_cpu_s},
	{"process_resident_memory_bytes", NULL, GAUGE, "Resident memory of the daemon in bytes.",
	 .count = metrics_resident_bytes},
	{"process_virtual_memory_bytes", NULL, GAUGE, "Virtual memory of the daemon in bytes.",
	 .count = virtual_bytes},
	{"process_open_fds", NULL, GAUGE, "File descriptors that the daemon has open.",
	 .count = open_descriptors},
	{"process_max_fds", NULL, GAUGE, "File descriptors that the daemon may have open.",
	 .count = most_descriptors},
	{"process_start_time_seconds", NULL, GAUGE,
	 "When the daemon started, in seconds since 1970.", .seconds = start_s},
};

const struct measures standard_measures = {"The daemon, as each exporter has it", "",
					   MEASURE_ROWS(rows), .scope = OF_EXPORTER};
