// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A JVMTI agent that writes what the VM tells of each method that it compiles, to the file that its
 * option names. Each record ends with a line `E`:
 *
 *	N ADDRESS CLASS METHOD SIGNATURE		code there; as the VM names them
 *	P OFFSET | CLASS METHOD SIGNATURE LINE | …	one for each place, leaf first; line 0: none
 */
#include <jvmti.h>
#include <jvmticmlr.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static FILE *output;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int line_at(jvmtiEnv *env, jmethodID method, jint bci)
{
	jvmtiLineNumberEntry *table;
	jint count, line = 0, best = -1;

	if ((*env)->GetLineNumberTable(env, method, &count, &table) != JVMTI_ERROR_NONE)
		return 0;
	for (jint i = 0; i < count; i++) {
		if (table[i].start_location == (bci < 0 ? 0 : bci)) {
			line = table[i].line_number;
			break;
		}
		if (table[i].start_location <= bci && (jint)table[i].start_location >= best) {
			best = (jint)table[i].start_location;
			line = table[i].line_number;
		}
	}
	(*env)->Deallocate(env, (unsigned char *)table);
	return line;
}

static void write_method(jvmtiEnv *env, jmethodID method)
{
	char *class_name = NULL, *name = NULL, *signature = NULL;
	jclass class;

	if ((*env)->GetMethodDeclaringClass(env, method, &class) == JVMTI_ERROR_NONE)
		(*env)->GetClassSignature(env, class, &class_name, NULL);
	(*env)->GetMethodName(env, method, &name, &signature, NULL);
	fprintf(output, "%s %s %s", class_name ? class_name : "?", name ? name : "?",
		signature ? signature : "?");
	(*env)->Deallocate(env, (unsigned char *)class_name);
	(*env)->Deallocate(env, (unsigned char *)name);
	(*env)->Deallocate(env, (unsigned char *)signature);
}

static void write_places(jvmtiEnv *env, const jvmtiCompiledMethodLoadInlineRecord *record,
			 const char *code)
{
	for (jint i = 0; i < record->numpcs; i++) {
		const PCStackInfo *at = &record->pcinfo[i];

		fprintf(output, "P %ld", (long)((const char *)at->pc - code));
		for (jint j = 0; j < at->numstackframes; j++) {
			fprintf(output, " | ");
			write_method(env, at->methods[j]);
			fprintf(output, " %d", line_at(env, at->methods[j], at->bcis[j]));
		}
		fputc('\n', output);
	}
}

static void JNICALL loaded(jvmtiEnv *env, jmethodID method, jint bytes, const void *code,
			   jint map_length, const jvmtiAddrLocationMap *map, const void *info)
{
	(void)bytes;
	(void)map_length;
	(void)map;
	pthread_mutex_lock(&mutex);
	fprintf(output, "N %p ", code);
	write_method(env, method);
	fputc('\n', output);
	for (const jvmtiCompiledMethodLoadRecordHeader *at = info; at; at = at->next)
		if (at->kind == JVMTI_CMLR_INLINE_INFO)
			write_places(env, (const void *)at, code);
	fprintf(output, "E\n");
	fflush(output);
	pthread_mutex_unlock(&mutex);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiCapabilities capabilities = {
		.can_generate_compiled_method_load_events = 1,
		.can_get_line_numbers = 1,
	};
	jvmtiEventCallbacks callbacks = {.CompiledMethodLoad = loaded};
	jvmtiEnv *env;

	(void)reserved;
	output = fopen(options, "w");
	if (!output || (*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_1) != JNI_OK)
		return JNI_ERR;
	if ((*env)->AddCapabilities(env, &capabilities) != JVMTI_ERROR_NONE)
		return JNI_ERR;
	(*env)->SetEventCallbacks(env, &callbacks, sizeof(callbacks));
	(*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD, NULL);
	return JNI_OK;
}
