/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Native methods of truth/Native.java, without frame pointers: C that burns, C that calls back. */
#include <jni.h>
#include <stdint.h>

JNIEXPORT jlong JNICALL Java_truth_Native_burn(JNIEnv *env, jclass class, jlong amount);
JNIEXPORT jlong JNICALL Java_truth_Native_call(JNIEnv *env, jclass class, jobject back,
					       jlong amount, jobject worker);

static __attribute__((noinline)) uint64_t burned_in_c(uint64_t amount)
{
	volatile uint64_t x = 1;

	for (uint64_t i = 0; i < amount; i++)
		x = x * 6364136223846793005U + i;
	return x;
}

JNIEXPORT jlong JNICALL Java_truth_Native_burn(JNIEnv *env, jclass class, jlong amount)
{
	(void)env;
	(void)class;
	return (jlong)(burned_in_c((uint64_t)amount) + 1);
}

static __attribute__((noinline)) jlong called_from_c(JNIEnv *env, jobject back, jlong amount,
						     jobject worker)
{
	jclass class = (*env)->GetObjectClass(env, back);
	jmethodID method = (*env)->GetMethodID(env, class, "back", "(JLtruth/Worker;)J");

	return method ? (*env)->CallLongMethod(env, back, method, amount, worker) + 1 : 0;
}

JNIEXPORT jlong JNICALL Java_truth_Native_call(JNIEnv *env, jclass class, jobject back,
					       jlong amount, jobject worker)
{
	(void)class;
	return called_from_c(env, back, amount, worker) + 1;
}
