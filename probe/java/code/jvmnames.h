/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conversion of a Java VM's names to readable ones: valid UTF-8, without NUL, of up to
 * JVMNAME_BYTES_MAX bytes (a longer name is cut behind a character and gets an ellipsis).
 *
 * Source: The Java Virtual Machine Specification, 4.2 to 4.4.7.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define JVMNAME_BYTES_MAX 4096

struct jvmname {
	char text[JVMNAME_BYTES_MAX];
	size_t len;
};

/* Decodes the bytes of a Symbol, which are modified UTF-8. Unpaired surrogates and U+0000 become
 * U+FFFD. Returns 0, or -EBADMSG if the bytes are no modified UTF-8. */
int jvmname_decode(struct jvmname *name, const uint8_t *data, size_t bytes);

/*
 * Changes a class's name from the VM's form (`java/util/HashMap`) to Java's (`java.util.HashMap`),
 * and removes numbers and addresses that differ in each run:
 *
 *	Known$$Lambda$15+0x000071d4c8001000	Known$$Lambda
 *	Known$$Lambda$15/791452441		Known$$Lambda
 *	java/lang/invoke/LambdaForm$MH+0x…	java.lang.invoke.LambdaForm$MH
 *	Known$Hidden+0x…			Known$Hidden
 *	jdk/internal/reflect/GeneratedMethodAccessor12	jdk.internal.reflect.GeneratedMethodAccessor
 *	jdk/proxy2/$Proxy7			jdk.proxy.$Proxy
 *
 * An address or a hash may follow a slash, a plus or a dot.
 */
void jvmname_class(struct jvmname *name);

/* Makes readable parameters of a method's descriptor: `(I[Ljava/lang/String;)V` becomes `(int,
 * java.lang.String[])`, with classes as jvmname_class() has them. Returns 0, or -EBADMSG if it is
 * no descriptor. */
int jvmname_signature(struct jvmname *signature, const struct jvmname *descriptor);

/* Copies a text of the VM that is no Symbol, up to a NUL; bytes that aren't UTF-8 become U+FFFD. */
void jvmname_text(struct jvmname *name, const char *text, size_t bytes);
