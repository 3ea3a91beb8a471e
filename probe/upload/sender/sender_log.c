// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/sender/sender_log.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

#define EVERY_NS	 (3600 * NS_PER_S)
#define FAILING_EVERY_NS (600 * NS_PER_S)

void sender_log_init(struct sender_log *log)
{
	*log = (struct sender_log){0};
}

void sender_log_failing(struct sender_log *log, const char *url, const char *why)
{
	uint64_t now_ns = loop_now_ns();

	if (log->failing_ns && now_ns - log->failing_ns < FAILING_EVERY_NS)
		return;
	log->failing_ns = now_ns;
	log->failing_told = true;
	log_warn("upload: %s fails: %s; profiles are kept until they are an hour old", url, why);
}

void sender_log_well(struct sender_log *log, const char *url, size_t waiting)
{
	if (!log->failing_told)
		return;
	log->failing_told = false;
	log_info("upload: %s takes profiles again; %zu wait", url, waiting);
}

void sender_log_other_server(struct sender_log *log)
{
	log->failing_ns = 0;
	log->failing_told = false;
	memset(log->refusals, 0, sizeof(log->refusals));
}

void sender_log_refusal(struct sender_log *log, const char *url, int status, const char *why,
			const char *what)
{
	bool *told = &log->refusals[status < LOG_STATUS_MAX ? status : LOG_STATUS_MAX];

	if (*told)
		return;
	*told = true;
	log_warn("upload: %s refuses %s: %s; others of this kind are only counted", url, what, why);
}

void sender_log_words(const char *url, int status, const char *text, const char *what)
{
	if (text[0])
		log_debug("upload: %s answers %d to %s: %s", url, status, what, text);
}

void sender_log_at_once(struct sender_log *log, enum sender_loss cause)
{
	log->losses[cause].told_ns = 0;
}

#define CAUSE_SENTENCE(value, name, sentence) [value] = (sentence),

void sender_log_loss(struct sender_log *log, enum sender_loss cause, uint64_t bodies,
		     const char *why)
{
	static const char *const causes[] = {SENDER_LOSS_LIST(CAUSE_SENTENCE)};
	uint64_t now_ns = loop_now_ns();

	log->losses[cause].untold += bodies;
	if (log->losses[cause].told_ns && now_ns - log->losses[cause].told_ns < EVERY_NS)
		return;
	log_warn("upload: profiles lost: %llu; %s%s%s",
		 (unsigned long long)log->losses[cause].untold, causes[cause], why[0] ? ": " : "",
		 why);
	log->losses[cause].untold = 0;
	log->losses[cause].told_ns = now_ns;
}

void sender_log_found(const char *folder, size_t count, int error)
{
	if (error == -EBUSY)
		log_warn("upload: another process has %s as its spool: a few profiles wait in "
			 "memory",
			 folder);
	else if (error < 0)
		log_warn("upload: what waits in %s can't be read: %s", folder, strerror(-error));
	else if (count)
		log_info("upload: %zu profiles wait in %s", count, folder);
}

void sender_log_unwritable(const char *folder, int error)
{
	if (error == -EBUSY) /* sender_log_found() has said so */
		return;
	if (error == -EPERM)
		log_warn("upload: nothing is kept in %s: it isn't ours alone; a few profiles wait "
			 "in memory",
			 folder);
	else
		log_warn("upload: nothing can be kept in %s: %s; a few profiles wait in memory",
			 folder, strerror(-error));
}

void sender_log_disk(const char *folder, bool out)
{
	if (out)
		log_error("upload: %s doesn't answer; a few profiles wait in memory", folder);
	else
		log_info("upload: %s answers again", folder);
}

void sender_log_exposed(const char *path)
{
	log_warn("upload: others may read %s, which holds a secret", path);
}
