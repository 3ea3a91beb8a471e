/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the JVM Tool Interface and of JNI that the agent uses, by the numbers that their
 * specifications give them ("Function Index", "Event Index", "Capability"; positions in the tables
 * begin with 1 there, with 0 here). So no JDK is needed to build. They have been the same from JDK
 * 5 on; test/e2e/java/test_java_attach.py compares them with a JDK's header where there is one.
 */
#pragma once

#include <stdint.h>

typedef struct method_id_ *jmethodID;
typedef struct object_ *jobject;
typedef void (*jvm_function)(void);

typedef const jvm_function *const *jvmti_env; /* points to the table of functions */
typedef const jvm_function *const *jni_env;
typedef const jvm_function *const *java_vm;

#define JVMTI_VERSION_1 0x30010000
#define JNI_VERSION	0x00010006
#define JNI_OK		0
#define JNI_ERR		(-1)

enum jvmti_position {
	JVMTI_SET_EVENT_NOTIFICATION_MODE = 1,
	JVMTI_DEALLOCATE = 46,
	JVMTI_GET_CLASS_SIGNATURE = 47,
	JVMTI_GET_SOURCE_FILE_NAME = 49,
	JVMTI_GET_METHOD_NAME = 63,
	JVMTI_GET_METHOD_DECLARING_CLASS = 64,
	JVMTI_GET_LINE_NUMBER_TABLE = 69,
	JVMTI_IS_METHOD_NATIVE = 75,
	JVMTI_SET_EVENT_CALLBACKS = 121,
	JVMTI_GENERATE_EVENTS = 122,
	JVMTI_ADD_CAPABILITIES = 141,
	JVMTI_RELINQUISH_CAPABILITIES = 142,
};
#define JNI_DELETE_LOCAL_REF 23
#define JAVA_VM_GET_ENV	     6

enum jvmti_event {
	JVMTI_VM_DEATH = 51,
	JVMTI_COMPILED_METHOD_LOAD = 68,
	JVMTI_COMPILED_METHOD_UNLOAD = 69,
	JVMTI_DYNAMIC_CODE_GENERATED = 70,
};
#define JVMTI_EVENT_FIRST 50 /* the first of the table of callbacks */
#define JVMTI_CALLBACKS	  37 /* JDK 8 knows 35, 25 knows more; a VM takes those that it knows */

struct jvmti_callbacks {
	jvm_function each[JVMTI_CALLBACKS];
};

/* Capabilities are bits of 128. */
#define JVMTI_CAN_SOURCE_FILE 11
#define JVMTI_CAN_LINES	      12
#define JVMTI_CAN_COMPILED    27
struct jvmti_capabilities {
	uint64_t bits[2];
};

struct jvmti_line {
	int64_t from; /* bci */
	int32_t line;
};

/* Of CompiledMethodLoad: where a method's instructions lie, without what was inlined. */
struct jvmti_address {
	const void *address;
	int64_t bci;
};

/* …, its compile_info: a chain of records, one kind of which tells what was inlined. */
#define JVMTI_INLINE_INFO 2
struct jvmti_record {
	int32_t kind;
	int32_t major, minor;
	const struct jvmti_record *next;
};
struct jvmti_place {
	const void *pc;
	int32_t frames;
	const jmethodID *methods; /* leaf first */
	const int32_t *bcis;
};
struct jvmti_inline_record {
	struct jvmti_record header;
	int32_t count;
	const struct jvmti_place *places;
};
