// Counters that are incremented while leaders move and nodes are killed, and what they must come to.
package main

import (
	"fmt"
	"sync"
	"time"
)

const (
	counters     = 24
	countingTime = 12 * time.Second
)

type count struct {
	prefix       string
	acknowledged [counters]int
	unknown      [counters]int
}

func newCount(prefix string) *count {
	return &count{prefix: prefix}
}

func (c *count) key(i int) string {
	return fmt.Sprint(c.prefix, ":", i)
}

// under trouble each counter has one caller, who goes on after errors.
func (c *count) under(t *T, namespace string, increment func(key string) error) {
	end := trouble(t, namespace)
	began := time.Now()
	var callers sync.WaitGroup
	for i := range counters {
		callers.Go(func() {
			for time.Since(began) < countingTime {
				err := increment(c.key(i))
				if err == nil {
					c.acknowledged[i]++
					continue
				}
				c.unknown[i]++
				fmt.Printf("%.1f s, counter %d: %v\n", time.Since(began).Seconds(), i, err)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	callers.Wait()
	end()
}

// judge: what was acknowledged is there, and nothing that nobody asked for. Each call that failed may
// have taken effect, as often as its client has sent it by itself.
func (c *count) judge(t *T, read func(key string) (int, error)) {
	for i := range counters {
		got, err := read(c.key(i))
		t.must(err)
		acknowledged, unknown := c.acknowledged[i], c.unknown[i]
		fmt.Printf("counter %d: %d acknowledged, %d unknown, %d there\n", i, acknowledged, unknown, got)
		if got < acknowledged {
			t.fail("counter %d: %d acknowledged, %d there", i, acknowledged, got)
		}
	}
}
