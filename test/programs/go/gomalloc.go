// SPDX-License-Identifier: GPL-2.0-or-later

// gomalloc: Go calls C, which allocates: 100 x 1,000 bytes by main.main -> main.keep -> (C) c_keep,
// 100 x 500 by main.main -> main.pass, which calls C's malloc() itself and gives it back to free().
// Stands by before, and when it has told its answer.
package main

/*
#include <signal.h>
#include <stdlib.h>

static __attribute__((noinline)) void *c_keep(size_t bytes)
{
	void *memory = malloc(bytes);

	__asm__ volatile("" : "+r"(memory));
	return memory;
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

var kept [100]unsafe.Pointer

//go:noinline
func keep(i int) {
	kept[i] = C.c_keep(1000)
}

//go:noinline
func pass() {
	memory := C.malloc(500)
	C.free(memory)
}

// To the thread itself: it goes no further.
func standBy() {
	C.raise(C.SIGSTOP)
}

func main() {
	standBy()
	for i := range kept {
		keep(i)
		pass()
	}
	fmt.Println(`{"sites": {"c_keep": [100000, 100, 100000, 100], "main.pass": [50000, 100, 0, 0]}}`)
	standBy()
}
