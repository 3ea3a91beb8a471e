/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of a Java VM as people know them: valid UTF-8, without NUL, up to JVMNAME_BYTES_MAX bytes
 * (a longer one is cut at a character, behind which stands an ellipsis).
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

/* The bytes of a Symbol, modified UTF-8. Halves of a pair that stand alone, and U+0000, are U+FFFD.
 * -EBADMSG: they are no modified UTF-8. */
int jvmname_decode(struct jvmname *name, const uint8_t *data, size_t bytes);

/*
 * A class's name as the VM has it (`java/util/HashMap`) as Java's (`java.util.HashMap`), without
 * what the VM numbers anew in each run:
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

/* Parameters of a method's descriptor: `(I[Ljava/lang/String;)V` is `(int, java.lang.String[])`;
 * the classes by the rule above. -EBADMSG: it is no descriptor. */
int jvmname_signature(struct jvmname *signature, const struct jvmname *descriptor);

/* Text of a VM that is no Symbol, up to a NUL: what isn't UTF-8 is U+FFFD. */
void jvmname_text(struct jvmname *name, const char *text, size_t bytes);
