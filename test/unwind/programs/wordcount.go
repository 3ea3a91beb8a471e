// SPDX-License-Identifier: GPL-2.0-or-later

// wordcount SECONDS: that CPU time in a Go program of everyday parts: maps, sorting, JSON, regular
// expressions, hashing (assembly), goroutines over channels, growing stacks, garbage, a panic that
// is recovered.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

type page struct {
	Title string
	Words map[string]int
	Next  *page
}

//go:noinline
func count(text string) map[string]int {
	words := map[string]int{}
	for _, word := range strings.Fields(text) {
		words[strings.ToLower(word)]++
	}
	return words
}

//go:noinline
func descend(depth int) [4]int {
	var local [64]int
	local[depth%64] = depth
	if depth == 0 {
		return [4]int{}
	}
	below := descend(depth - 1)
	below[0] += local[depth%64]
	return below
}

func refuse(list []int, i int) (n int) {
	defer func() {
		if recover() != nil {
			n = -1
		}
	}()
	return list[i]
}

func work(text string, number *regexp.Regexp) int {
	words := count(text)
	names := make([]string, 0, len(words))
	for name := range words {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return words[names[i]] < words[names[j]] })
	encoded, err := json.Marshal(page{"a page", words, &page{Title: "another"}})
	if err != nil {
		panic(err)
	}
	var decoded page
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	found := number.FindAllString(text, 50)
	return int(sum[0]) + len(found) + descend(100)[0] + refuse(nil, len(found)) + len(decoded.Words)
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func main() {
	seconds := 1.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	var text strings.Builder
	for i := 0; i < 2000; i++ {
		fmt.Fprintf(&text, "Word%d of %d ", i%97, i*31%1009)
	}
	number := regexp.MustCompile(`\b[0-9]+[13579]\b`)
	var group sync.WaitGroup
	results := make(chan int, 4)
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for cpuSeconds() < seconds {
				results <- work(text.String(), number)
			}
		}()
	}
	go func() { group.Wait(); close(results) }()
	total := 0
	for n := range results {
		total += n
	}
	fmt.Println(total)
}
