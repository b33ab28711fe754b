// redigo: connections and pools without a cluster's table, so for gateways.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

var redigoCases = []testCase{
	{"redigo: commands, pipelines, transactions", redigoCommands},
	{"redigo: scripts", redigoScripts},
	{"redigo: publish and subscribe", redigoPubSub},
	{"redigo: leaders move and nodes die", redigoTrouble},
}

func redigoPool(t *T, address string) *redis.Pool {
	pool := &redis.Pool{MaxIdle: 10, MaxActive: 50, Wait: true, Dial: func() (redis.Conn, error) {
		return redis.Dial("tcp", address, redis.DialReadTimeout(10*time.Second), redis.DialClientName("redigo"))
	}}
	t.cleanup(func() { pool.Close() })
	return pool
}

func redigoCommands(t *T) {
	conn := redigoPool(t, gateways[0]).Get()
	defer conn.Close()
	key := fresh("{redigo}")
	for i := range 500 {
		t.must(conn.Send("SET", fmt.Sprint(key, i), i))
	}
	t.must(conn.Flush())
	for range 500 {
		_, err := conn.Receive()
		t.must(err)
	}
	got, err := redis.Ints(conn.Do("MGET", key+"1", key+"499"))
	t.must(err)
	t.same("MGET", got, "[1 499]")
	_, err = conn.Do("HSET", redis.Args{}.Add(key+"h").AddFlat(struct {
		Name string `redis:"name"`
		Age  int    `redis:"age"`
	}{"a", 7})...)
	t.must(err)
	fields, err := redis.StringMap(conn.Do("HGETALL", key+"h"))
	t.must(err)
	t.same("HGETALL", fields, map[string]string{"name": "a", "age": "7"})
	_, err = redis.String(conn.Do("GET", key+"nothing"))
	t.same("GET of nothing", err, redis.ErrNil)
	t.must(conn.Send("MULTI"))
	t.must(conn.Send("INCR", key+"n"))
	t.must(conn.Send("LPUSH", key+"n", "x"))
	replies, err := redis.Values(conn.Do("EXEC"))
	t.must(err)
	t.same("INCR", replies[0], 1)
	t.says("LPUSH to a number", replies[1].(redis.Error), "WRONGTYPE")
	value := bytes.Repeat([]byte{'x'}, 4<<20)
	_, err = conn.Do("SET", key+"large", value)
	t.must(err)
	large, err := redis.Bytes(conn.Do("GET", key+"large"))
	t.must(err)
	t.same("4 MiB", bytes.Equal(large, value), true)
	_, err = redis.DoWithTimeout(conn, time.Second/2, "BLPOP", key+"queue", 0)
	t.says("its own time is up", err, "timeout")
}

func redigoScripts(t *T) {
	conn := redigoPool(t, gateways[0]).Get()
	defer conn.Close()
	script := redis.NewScript(1, "return redis.call('INCRBY', KEYS[1], ARGV[1]) --"+fresh("script"))
	key := fresh("scripted")
	for sum := 2; sum <= 6; sum += 2 {
		got, err := redis.Int(script.Do(conn, key, 2))
		t.must(err)
		t.same("a script", got, sum)
	}
	t.must(script.Load(conn))
	t.must(script.SendHash(conn, key, 1))
	t.must(conn.Flush())
	got, err := redis.Int(conn.Receive())
	t.must(err)
	t.same("by its digest", got, 7)
}

func redigoPubSub(t *T) {
	pool, channel := redigoPool(t, gateways[0]), fresh("news")
	subscriber := redis.PubSubConn{Conn: redigoPool(t, gateways[1]).Get()}
	defer subscriber.Close()
	t.must(subscriber.Subscribe(channel))
	_, isSubscription := subscriber.Receive().(redis.Subscription)
	t.same("subscribed", isSubscription, true)
	t.must(subscriber.Ping("hello"))
	pong, _ := subscriber.Receive().(redis.Pong)
	t.same("PING of a subscriber", pong.Data, "hello")
	conn := pool.Get()
	defer conn.Close()
	for i := range 50 {
		_, err := conn.Do("PUBLISH", channel, i)
		t.must(err)
	}
	for i := range 50 {
		message, _ := subscriber.ReceiveWithTimeout(10 * time.Second).(redis.Message)
		t.same("a message", message.Data, i)
	}
}

// redigoTrouble goes to the next gateway when its own is gone, as callers of redigo do by themselves.
func redigoTrouble(t *T) {
	var pools []*redis.Pool
	for _, address := range gateways {
		pools = append(pools, redigoPool(t, address))
	}
	var lock sync.Mutex
	turn := 0
	do := func(name, key string) (any, error) {
		lock.Lock()
		pool := pools[turn%len(pools)]
		lock.Unlock()
		conn := pool.Get()
		defer conn.Close()
		reply, err := conn.Do(name, key)
		if reason := redis.Error(""); err != nil && !errors.As(err, &reason) {
			lock.Lock()
			turn++
			lock.Unlock()
		}
		return reply, err
	}
	count := newCount(fresh("counter"))
	count.under(t, "default", func(key string) error {
		_, err := do("INCR", key)
		return err
	})
	count.judge(t, func(key string) (int, error) { return redis.Int(do("GET", key)) })
}
