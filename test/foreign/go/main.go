// Go's clients against a cluster of kvorum, each used as its users do. `./suite WORDS` tries only
// the cases whose names hold one of the words.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

const caseTime = 120 * time.Second

type testCase struct {
	name string
	run  func(t *T)
}

var suites = [][]testCase{zanCases, goRedisCases, rueidisCases, valkeyCases, redigoCases, streamCases, etcdCases}

func main() {
	failed := 0
	for _, suite := range suites {
		for _, one := range suite {
			if !isWanted(one.name) {
				continue
			}
			began := time.Now()
			if why := try(one); why != "" {
				failed++
				fmt.Printf("not ok %s: %s\n", one.name, why)
			} else {
				fmt.Printf("ok %s (%.1f s)\n", one.name, time.Since(began).Seconds())
			}
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func isWanted(name string) bool {
	for _, word := range os.Args[1:] {
		if strings.Contains(name, word) {
			return true
		}
	}
	return len(os.Args) == 1
}

// try returns why the case failed, or nothing.
func try(one testCase) string {
	done := make(chan string, 1)
	go func() {
		t := &T{}
		defer func() {
			t.cleanUp()
			switch problem := recover().(type) {
			case nil:
				done <- ""
			case failure:
				done <- string(problem)
			default:
				done <- fmt.Sprintf("panic: %v\n%s", problem, debug.Stack())
			}
		}()
		one.run(t)
	}()
	select {
	case why := <-done:
		return why
	case <-time.After(caseTime):
		return fmt.Sprintf("not done after %v", caseTime)
	}
}

type failure string

// T ends the case it was given to at the first thing that is not as it should be. Only for the
// goroutine of the case.
type T struct {
	cleanups []func()
}

func (t *T) fail(format string, args ...any) {
	panic(failure(fmt.Sprintf(format, args...)))
}

func (t *T) must(err error) {
	if err != nil {
		t.fail("%v", err)
	}
}

// same compares what is printed of both, so that numbers and texts of any width may be compared.
func (t *T) same(what string, got, want any) {
	if g, w := shown(got), shown(want); g != w {
		t.fail("%s: got %.300s, want %.300s", what, g, w)
	}
}

// near is for seconds that are left: a busy machine takes some.
func (t *T) near(what string, got, want int64) {
	if got > want || got < want-30 {
		t.fail("%s: got %d, want %d or a little less", what, got, want)
	}
}

// says holds an error against a part of its text.
func (t *T) says(what string, err error, part string) {
	if err == nil || !strings.Contains(err.Error(), part) {
		t.fail("%s: got the error %v, want one that says %q", what, err, part)
	}
}

func (t *T) cleanup(f func()) {
	t.cleanups = append(t.cleanups, f)
}

func (t *T) cleanUp() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

func shown(value any) string {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = shown(item)
		}
		return "[" + strings.Join(texts, " ") + "]"
	}
	return fmt.Sprintf("%v", value)
}

// eventually asks until it is so, for clients that hear of something a little later.
func (t *T) eventually(what string, within time.Duration, isSo func() bool) {
	for end := time.Now().Add(within); !isSo(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.fail("%s: not so within %v", what, within)
		}
	}
}
