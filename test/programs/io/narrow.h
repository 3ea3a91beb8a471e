/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of 32-bit code (int $0x80), for a program without a C library, of 64 bits or of 32: what
 * the calls are given has to lie below 4 GiB. The program has a function run().
 *
 * Source of the numbers: arch/x86/entry/syscalls/syscall_32.tbl, include/uapi/linux/net.h.
 */
#pragma once

#include <stdint.h>

enum number {
	EXIT = 1,
	READ = 3,
	WRITE = 4,
	OPEN = 5,
	GETPID = 20,
	KILL = 37,
	PIPE = 42,
	LSEEK = 19,
	CHDIR = 12,
	SOCKETCALL = 102,
	READV = 145,
	WRITEV = 146,
	PREAD = 180,
	PWRITE = 181,
	SENDFILE = 187,
	SENDFILE64 = 239,
	SPLICE = 313,
	PREADV = 333,
	PWRITEV = 334,
	RECVMMSG = 337,
	SENDMMSG = 345,
	SOCKETPAIR = 360,
	SENDTO = 369,
	SENDMSG = 370,
	RECVFROM = 371,
	RECVMSG = 372,
	COPY_FILE_RANGE = 377,
	PREADV2 = 378,
	PWRITEV2 = 379,
	RECVMMSG_TIME64 = 417,
};

/* Calls of socketcall. */
enum within {
	SYS_SOCKETPAIR = 8,
	SYS_SEND = 9,
	SYS_RECV,
	SYS_SENDTO,
	SYS_RECVFROM,
	SYS_SENDMSG = 16,
	SYS_RECVMSG,
	SYS_RECVMMSG = 19,
	SYS_SENDMMSG
};

#define SIGSTOP	     19
#define O_RDWR	     02
#define O_CREAT	     0100
#define O_TRUNC	     01000
#define AF_UNIX	     1
#define SOCK_STREAM  1
#define SOCK_DGRAM   2
#define MSG_PEEK     0x02
#define MSG_TRUNC    0x20
#define MSG_DONTWAIT 0x40
#define EAGAIN	     11
#define EBADF	     9
#define EFAULT	     14
#define UNMAPPED     16 /* an address */
#define PAGE	     4096
#define AT(pointer)  ((uint32_t)(uintptr_t)(pointer))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* As 32-bit code has them. */
struct narrow_vector {
	uint32_t base, bytes;
};
struct narrow_message {
	uint32_t name, name_bytes, vectors, vectors_count, control, control_bytes, flags;
};
struct narrow_messages {
	struct narrow_message message;
	uint32_t bytes; /* the kernel's answer */
};

struct narrow_call {
	uint32_t number, args[6];
};

/* Makes a call; the frame pointer's register has an argument meanwhile. */
long call_narrow(const struct narrow_call *call);

#if defined(__x86_64__)
__asm__(".text\n"
	".globl call_narrow\n"
	".type call_narrow, @function\n"
	"call_narrow: .cfi_startproc\n"
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_rel_offset rbx, 0\n"
	"push %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_rel_offset rbp, 0\n"
	"mov (%rdi), %eax\n"
	"mov 4(%rdi), %ebx\n"
	"mov 8(%rdi), %ecx\n"
	"mov 12(%rdi), %edx\n"
	"mov 16(%rdi), %esi\n"
	"mov 24(%rdi), %ebp\n"
	"mov 20(%rdi), %edi\n"
	"int $0x80\n"
	"pop %rbp\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_restore rbp\n"
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_restore rbx\n"
	"movslq %eax, %rax\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_narrow, . - call_narrow\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start: .cfi_startproc\n"
	".cfi_undefined rip\n"
	"xor %ebp, %ebp\n"
	"mov (%rsp), %rdi\n"
	"mov 16(%rsp), %rsi\n" /* argv[1] */
	"and $-16, %rsp\n"
	"call run\n"
	".cfi_endproc\n"
	".size _start, . - _start\n");
#elif defined(__i386__)
__asm__(".text\n"
	".globl call_narrow\n"
	".type call_narrow, @function\n"
	"call_narrow: .cfi_startproc\n"
	"push %ebx\n"
	".cfi_adjust_cfa_offset 4\n"
	".cfi_rel_offset ebx, 0\n"
	"push %ebp\n"
	".cfi_adjust_cfa_offset 4\n"
	".cfi_rel_offset ebp, 0\n"
	"push %esi\n"
	".cfi_adjust_cfa_offset 4\n"
	".cfi_rel_offset esi, 0\n"
	"push %edi\n"
	".cfi_adjust_cfa_offset 4\n"
	".cfi_rel_offset edi, 0\n"
	"mov 20(%esp), %edi\n"
	"mov (%edi), %eax\n"
	"mov 4(%edi), %ebx\n"
	"mov 8(%edi), %ecx\n"
	"mov 12(%edi), %edx\n"
	"mov 16(%edi), %esi\n"
	"mov 24(%edi), %ebp\n"
	"mov 20(%edi), %edi\n"
	"int $0x80\n"
	"pop %edi\n"
	".cfi_adjust_cfa_offset -4\n"
	".cfi_restore edi\n"
	"pop %esi\n"
	".cfi_adjust_cfa_offset -4\n"
	".cfi_restore esi\n"
	"pop %ebp\n"
	".cfi_adjust_cfa_offset -4\n"
	".cfi_restore ebp\n"
	"pop %ebx\n"
	".cfi_adjust_cfa_offset -4\n"
	".cfi_restore ebx\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_narrow, . - call_narrow\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start: .cfi_startproc\n"
	".cfi_undefined eip\n"
	"xor %ebp, %ebp\n"
	"mov (%esp), %eax\n"
	"mov 8(%esp), %edx\n" /* argv[1] */
	"and $-16, %esp\n"
	"sub $8, %esp\n"
	"push %edx\n"
	"push %eax\n"
	"call run\n"
	".cfi_endproc\n"
	".size _start, . - _start\n");
#endif

/* Begins the program. */
void run(long argc, const char *argument);

#define CALL(...) call_narrow(&(const struct narrow_call){__VA_ARGS__})
