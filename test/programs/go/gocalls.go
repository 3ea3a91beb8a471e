// SPDX-License-Identifier: GPL-2.0-or-later

// gocalls SECONDS: Go calls C, which burns CPU time and calls Go again:
// main.main -> main.down -> (C) c_down -> c_middle -> main.up -> main.top.
package main

/*
extern unsigned long up(unsigned long rounds);

static __attribute__((noinline)) unsigned long c_burn(unsigned long rounds)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < rounds; i++)
		x = x * 6364136223846793005UL + 1442695040888963407UL;
	return x;
}

static __attribute__((noinline)) unsigned long c_middle(unsigned long rounds)
{
	return c_burn(rounds) + up(rounds) + 1;
}

static __attribute__((noinline)) unsigned long c_down(unsigned long rounds)
{
	return c_middle(rounds) + 1;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

//go:noinline
func top(rounds uint64) uint64 {
	x := uint64(1)
	for i := uint64(0); i < rounds; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//export up
func up(rounds C.ulong) C.ulong {
	return C.ulong(top(uint64(rounds))) + 1
}

//go:noinline
func down(rounds uint64) uint64 {
	return uint64(C.c_down(C.ulong(rounds))) + 1
}

func main() {
	seconds := 10.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	sum := uint64(0)
	for time.Now().Before(end) {
		sum += down(100000)
	}
	fmt.Println(sum)
}
