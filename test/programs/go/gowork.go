// SPDX-License-Identifier: GPL-2.0-or-later

// gowork SECONDS: main.main calls main.outer, that main.middle, that main.leaf, which burns CPU
// time; now and then garbage is collected, stacks grow and goroutines switch.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sink []byte

//go:noinline
func leaf(rounds int) uint64 {
	x := uint64(1)
	for i := 0; i < rounds; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func middle(rounds int) uint64 {
	sink = make([]byte, 4096)
	return leaf(rounds) + uint64(len(sink))
}

//go:noinline
func outer(rounds int) uint64 {
	return middle(rounds) + 1
}

//go:noinline
func deep(n int) int {
	var room [64]int

	if n == 0 {
		return 0
	}
	room[n%64] = deep(n-1) + 1
	return room[n%64]
}

func main() {
	seconds := 10.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	done := make(chan int)
	sum := uint64(0)
	for time.Now().Before(end) {
		sum += outer(100000)
		go func() { done <- deep(1000) }()
		<-done
	}
	fmt.Println(sum)
}
