// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent that a Java VM is asked to load: it writes what the VM compiles to java-symbols.bin,
 * for the daemon. README.md tells how; nothing here allocates on the VM's heap or waits for
 * anybody.
 *
 * Its options: `start,MAX,FOLDER` and `stop,FOLDER`. When it is loaded again it is the same one; on
 * musl it may be another one, for which the first makes room when it sees that its file has gone.
 */
#include "agent.h"

#include <errno.h>

#define EXPORT __attribute__((visibility("default")))
#define TRIES  3

typedef int32_t (*env_call)(java_vm *, jvmti_env **, int32_t);
typedef int32_t (*capabilities_call)(jvmti_env *, const struct jvmti_capabilities *);
typedef int32_t (*callbacks_call)(jvmti_env *, const struct jvmti_callbacks *, int32_t);
typedef int32_t (*mode_call)(jvmti_env *, int32_t, int32_t, ...);
typedef int32_t (*generate_call)(jvmti_env *, int32_t);

EXPORT int32_t Agent_OnAttach(java_vm *vm, char *options, void *reserved);

static struct agent agent;

static const int32_t events[] = {JVMTI_COMPILED_METHOD_LOAD, JVMTI_COMPILED_METHOD_UNLOAD,
				 JVMTI_DYNAMIC_CODE_GENERATED, JVMTI_VM_DEATH};
static const struct jvmti_capabilities wanted = {
	{1U << JVMTI_CAN_SOURCE_FILE | 1U << JVMTI_CAN_LINES | 1U << JVMTI_CAN_COMPILED, 0}};

static void events_off(void)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		VM_CALL(agent.jvmti, JVMTI_SET_EVENT_NOTIFICATION_MODE, mode_call)
	(agent.jvmti, 0, events[i], NULL);
	VM_CALL(agent.jvmti, JVMTI_RELINQUISH_CAPABILITIES, capabilities_call)
	(agent.jvmti, &wanted);
}

static bool events_on(void)
{
	if (VM_CALL(agent.jvmti, JVMTI_ADD_CAPABILITIES, capabilities_call)(agent.jvmti, &wanted))
		return false;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (VM_CALL(agent.jvmti, JVMTI_SET_EVENT_NOTIFICATION_MODE,
			    mode_call)(agent.jvmti, 1, events[i], NULL))
			return false;
	}
	return true;
}

/* Under the lock. */
static void close_file(bool keep)
{
	struct java_record head = {.kind = JAVA_END};
	struct bytes record = {0};

	if (!agent.running)
		return;
	agent.running = false;
	bytes_add(&record, &head, JAVA_RECORD_BYTES);
	journal_add(&agent.journal, &record);
	journal_close(&agent.journal, keep);
	bytes_free(&record);
}

static void turned(void)
{
	lock_take(&agent.lock);
	agent.turning = false;
	lock_give(&agent.lock);
}

static void end(bool keep)
{
	lock_take(&agent.lock);
	bool ours = agent.running && !agent.turning;
	close_file(keep);
	if (ours)
		agent.turning = true;
	lock_give(&agent.lock);
	if (ours) {
		events_off();
		turned();
	}
}

/* A record of what lies there, or why nothing is told of it. */
static int add_record(struct bytes *record, uint32_t rewrites)
{
	int r = -ESTALE;

	lock_take(&agent.lock);
	/* Rewritten meanwhile: a method that it names may have been left out. */
	if (!agent.running)
		r = 0;
	else if (agent.journal.rewrites == rewrites)
		r = journal_add(&agent.journal, record);
	lock_give(&agent.lock);
	return r;
}

static void add_address(uint16_t kind, uint64_t address, uint32_t size)
{
	struct java_record head = {.kind = kind};
	struct bytes record = {0};
	int r = 0;

	head.code.address = address;
	head.code.size = size;
	bytes_add(&record, &head, JAVA_CODE_BYTES);
	lock_take(&agent.lock);
	if (agent.running)
		r = journal_add(&agent.journal, &record);
	lock_give(&agent.lock);
	bytes_free(&record);
	/* What isn't told would be taken for what was there before. */
	if (r < 0)
		end(false);
}

/* Whether anything is to be told; else it was the last time. */
static bool is_wanted(void)
{
	lock_take(&agent.lock);
	bool running = agent.running;
	bool read = running && journal_is_read(&agent.journal);
	lock_give(&agent.lock);
	if (running && !read)
		end(false);
	return read;
}

static void on_compiled(jvmti_env *jvmti, jmethodID method, int32_t size, const void *address,
			int32_t map_count, const struct jvmti_address *map, const void *info)
{
	struct compiled code = {method,
				(uint64_t)address,
				(uint32_t)size,
				map_count,
				map,
				info,
				agent.generating == (uint32_t)sys_gettid()};
	struct bytes record = {0};
	uint32_t rewrites;
	int r = -ESTALE;

	(void)jvmti;
	if (!is_wanted())
		return;
	for (int i = 0; i < TRIES && r == -ESTALE; i++) {
		record.len = 0;
		if (!compiled_record(&agent, &code, &record, &rewrites))
			r = -ENOSPC;
		else
			r = add_record(&record, rewrites);
	}
	bytes_free(&record);
	if (r < 0)
		add_address(JAVA_LOST, code.address, code.size);
}

static void on_unloaded(jvmti_env *jvmti, jmethodID method, const void *address)
{
	(void)jvmti, (void)method;
	if (is_wanted())
		add_address(JAVA_UNLOAD, (uint64_t)address, 0);
}

static void on_generated(jvmti_env *jvmti, const char *name, const void *address, int32_t size)
{
	struct java_record head = {.kind = JAVA_STUB};
	struct bytes record = {0};
	size_t len = text_length(name);

	(void)jvmti;
	if (!is_wanted())
		return;
	if (len > JAVA_SYMBOLS_TEXT_MAX)
		len = JAVA_SYMBOLS_TEXT_MAX;
	head.code.address = (uint64_t)address;
	head.code.size = (uint32_t)size;
	head.code.nodes = (uint32_t)len;
	bytes_add(&record, &head, JAVA_CODE_BYTES);
	bytes_add(&record, name, len);
	lock_take(&agent.lock);
	int r = agent.running ? journal_add(&agent.journal, &record) : 0;
	lock_give(&agent.lock);
	bytes_free(&record);
	if (r < 0)
		add_address(JAVA_LOST, (uint64_t)address, (uint32_t)size);
}

static void on_death(jvmti_env *jvmti, jni_env *jni)
{
	(void)jvmti, (void)jni;
	end(false);
}

static bool find_vm(java_vm *vm)
{
	struct jvmti_callbacks callbacks = {0};

	agent.vm = vm;
	if (!agent.jvmti &&
	    VM_CALL(vm, JAVA_VM_GET_ENV, env_call)(vm, &agent.jvmti, JVMTI_VERSION_1) != JNI_OK)
		return false;
	callbacks.each[JVMTI_VM_DEATH - JVMTI_EVENT_FIRST] = (jvm_function)on_death;
	callbacks.each[JVMTI_COMPILED_METHOD_LOAD - JVMTI_EVENT_FIRST] = (jvm_function)on_compiled;
	callbacks.each[JVMTI_COMPILED_METHOD_UNLOAD - JVMTI_EVENT_FIRST] =
		(jvm_function)on_unloaded;
	callbacks.each[JVMTI_DYNAMIC_CODE_GENERATED - JVMTI_EVENT_FIRST] =
		(jvm_function)on_generated;
	return VM_CALL(agent.jvmti, JVMTI_SET_EVENT_CALLBACKS,
		       callbacks_call)(agent.jvmti, &callbacks, sizeof(callbacks)) == 0;
}

/* What was there before; on this thread. */
static void generate(void)
{
	agent.generating = (uint32_t)sys_gettid();
	VM_CALL(agent.jvmti, JVMTI_GENERATE_EVENTS, generate_call)
	(agent.jvmti, JVMTI_DYNAMIC_CODE_GENERATED);
	VM_CALL(agent.jvmti, JVMTI_GENERATE_EVENTS, generate_call)
	(agent.jvmti, JVMTI_COMPILED_METHOD_LOAD);
	agent.generating = 0;
}

/* A file, and events that are written to it. Only this thread turns them on or off now. */
static int32_t begin(java_vm *vm, const char *folder, uint64_t max)
{
	lock_take(&agent.lock);
	bool before = agent.running;
	close_file(true); /* a new file may have its name by now */
	lock_give(&agent.lock);
	if (before)
		events_off();
	if (!find_vm(vm))
		return JAVA_AGENT_NOT_NOW;
	lock_take(&agent.lock);
	int r = journal_open(&agent.journal, folder, max);
	agent.running = r == 0;
	lock_give(&agent.lock);
	if (r < 0)
		return JAVA_AGENT_NO_FILE;
	bool on = events_on();
	lock_take(&agent.lock);
	if (!on)
		close_file(false);
	/* With its first events it may have ended. */
	bool running = agent.running;
	if (running)
		agent.turning = false;
	lock_give(&agent.lock);
	if (running)
		return 0;
	events_off();
	return JAVA_AGENT_NOT_NOW;
}

static int32_t start(java_vm *vm, const char *folder, uint64_t max)
{
	lock_take(&agent.lock);
	bool other = agent.turning;
	bool same = !other && agent.running && journal_is_read(&agent.journal) &&
		    text_equals(folder, agent.journal.folder_path);
	if (!other && !same)
		agent.turning = true;
	lock_give(&agent.lock);
	if (same)
		return 0;
	if (other)
		return JAVA_AGENT_NOT_NOW;
	int32_t r = begin(vm, folder, max);
	if (r)
		turned();
	else
		generate();
	return r;
}

static const char *behind(const char *text, const char *begin)
{
	while (*begin && *text == *begin)
		text++, begin++;
	return *begin ? NULL : text;
}

int32_t Agent_OnAttach(java_vm *vm, char *options, void *reserved)
{
	const char *text = options ? options : "", *at;
	uint64_t max = 0;

	(void)reserved;
	at = behind(text, "stop,");
	if (at) {
		end(false);
		return 0;
	}
	at = behind(text, "start,");
	for (; at && *at >= '0' && *at <= '9' && max <= JAVA_SYMBOLS_BYTES_MAX; at++)
		max = 10 * max + (uint64_t)(*at - '0');
	if (!at || *at != ',' || max < JAVA_SYMBOLS_BYTES_MIN || max > JAVA_SYMBOLS_BYTES_MAX)
		return JAVA_AGENT_OPTIONS;
	return start(vm, at + 1, max);
}
