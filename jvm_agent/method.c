// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent.h"

typedef int32_t (*name_call)(jvmti_env *, jmethodID, char **, char **, char **);
typedef int32_t (*class_call)(jvmti_env *, jmethodID, jobject *);
typedef int32_t (*signature_call)(jvmti_env *, jobject, char **, char **);
typedef int32_t (*file_call)(jvmti_env *, jobject, char **);
typedef int32_t (*free_call)(jvmti_env *, void *);
typedef int32_t (*env_call)(java_vm *, jni_env **, int32_t);
typedef void (*drop_call)(jni_env *, jobject);

struct names {
	char *class, *name, *signature, *file;
};

void vm_free(struct agent *agent, void *memory)
{
	if (memory)
		VM_CALL(agent->jvmti, JVMTI_DEALLOCATE, free_call)(agent->jvmti, memory);
}

static bool ask_class(struct agent *agent, jmethodID method, struct names *names)
{
	jvmti_env *jvmti = agent->jvmti;
	jobject class = NULL;
	jni_env *jni = NULL;

	if (VM_CALL(agent->vm, JAVA_VM_GET_ENV, env_call)(agent->vm, &jni, JNI_VERSION) != JNI_OK)
		return false;
	if (VM_CALL(jvmti, JVMTI_GET_METHOD_DECLARING_CLASS, class_call)(jvmti, method, &class))
		return false;
	bool known = VM_CALL(jvmti, JVMTI_GET_CLASS_SIGNATURE,
			     signature_call)(jvmti, class, &names->class, NULL) == 0;
	/* Many have none. */
	if (VM_CALL(jvmti, JVMTI_GET_SOURCE_FILE_NAME, file_call)(jvmti, class, &names->file))
		names->file = NULL;
	/* This thread may not return to Java code, which would drop it. */
	VM_CALL(jni, JNI_DELETE_LOCAL_REF, drop_call)(jni, class);
	return known;
}

static bool ask_names(struct agent *agent, jmethodID method, struct names *names)
{
	if (VM_CALL(agent->jvmti, JVMTI_GET_METHOD_NAME,
		    name_call)(agent->jvmti, method, &names->name, &names->signature, NULL))
		return false;
	return ask_class(agent, method, names);
}

static uint16_t length(const char *text)
{
	size_t len = text ? text_length(text) : 0;

	return (uint16_t)(len > JAVA_SYMBOLS_TEXT_MAX ? JAVA_SYMBOLS_TEXT_MAX : len);
}

static void add_texts(struct bytes *record, const struct names *names, uint32_t number)
{
	struct java_record head = {.kind = JAVA_METHOD, .method = number};

	head.names.class_len = length(names->class);
	head.names.name_len = length(names->name);
	head.names.signature_len = length(names->signature);
	head.names.file_len = length(names->file);
	bytes_add(record, &head, JAVA_NAMES_BYTES);
	bytes_add(record, names->class, head.names.class_len);
	bytes_add(record, names->name, head.names.name_len);
	bytes_add(record, names->signature, head.names.signature_len);
	bytes_add(record, names->file, head.names.file_len);
}

/* Under the lock. */
static uint32_t write_method(struct agent *agent, jmethodID method, const struct names *names)
{
	struct journal *journal = &agent->journal;
	struct table_slot *slot = table_find(&journal->methods, (uint64_t)method);
	struct bytes record = {0};
	uint32_t number = 0;

	if (slot)
		return (uint32_t)slot->value;
	add_texts(&record, names, journal->methods_made + 1);
	if (agent->running && journal_add(journal, &record) == 0) {
		number = ++journal->methods_made;
		if (!table_put(&journal->methods, (uint64_t)method, number))
			number = 0;
	}
	bytes_free(&record);
	return number;
}

static uint32_t known_number(struct agent *agent, jmethodID method)
{
	lock_take(&agent->lock);
	const struct table_slot *slot = table_find(&agent->journal.methods, (uint64_t)method);
	uint32_t number = slot ? (uint32_t)slot->value : 0;
	lock_give(&agent->lock);
	return number;
}

uint32_t method_number(struct agent *agent, jmethodID method)
{
	uint32_t number = known_number(agent, method);
	struct names names = {0};

	if (number)
		return number;
	if (ask_names(agent, method, &names)) {
		lock_take(&agent->lock);
		number = write_method(agent, method, &names);
		lock_give(&agent->lock);
	}
	vm_free(agent, names.class);
	vm_free(agent, names.name);
	vm_free(agent, names.signature);
	vm_free(agent, names.file);
	return number;
}
