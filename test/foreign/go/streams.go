// Streams of go-redis, rueidis and redigo: who appends, groups of two consumers, who waits and who claims.
package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

var streamCases = []testCase{
	{"go-redis: streams, one gateway, RESP3", func(t *T) { goRedisStreams(t, goRedisGateway(t, 3)) }},
	{"go-redis: streams, one gateway, RESP2", func(t *T) { goRedisStreams(t, goRedisGateway(t, 2)) }},
	{"go-redis: streams, cluster", func(t *T) { goRedisStreams(t, goRedisCluster(t, nil)) }},
	{"go-redis: group of consumers, one gateway", func(t *T) { goRedisGroup(t, goRedisGateway(t, 3)) }},
	{"go-redis: group of consumers, cluster", func(t *T) { goRedisGroup(t, goRedisCluster(t, nil)) }},
	{"rueidis: streams, one gateway", func(t *T) { rueidisStreams(t, rueidisClient(t, gateways[:1], nil)) }},
	{"rueidis: streams, cluster", func(t *T) { rueidisStreams(t, rueidisClient(t, clusterPorts, nil)) }},
	{"redigo: streams", redigoStreams},
}

func goRedisStreams(t *T, client redis.UniversalClient) {
	key := fresh("{stream}")
	var ids []string
	for n := range 4 {
		id, err := client.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: map[string]any{"n": n}}).Result()
		t.must(err)
		ids = append(ids, id)
	}
	all, err := client.XRange(ctx, key, "-", "+").Result()
	t.must(err)
	t.same("XRANGE", idsOf(all), ids)
	last, err := client.XRevRangeN(ctx, key, "+", "-", 1).Result()
	t.must(err)
	t.same("XREVRANGE", last, all[3:])
	read, err := client.XRead(ctx, &redis.XReadArgs{Streams: []string{key, ids[1]}, Block: -1}).Result()
	t.must(err)
	t.same("XREAD", read[0].Messages, all[2:])
	goRedisClaims(t, client, key, all)
	info, err := client.XInfoStream(ctx, key).Result()
	t.must(err)
	t.same("XINFO STREAM", []any{info.Length, info.LastGeneratedID, info.Groups, info.EntriesAdded}, []any{4, ids[3], 1, 4})
	full, err := client.XInfoStreamFull(ctx, key, 0).Result()
	t.must(err)
	t.same("XINFO STREAM FULL", len(full.Entries), 4)
	t.same("XDEL", client.XDel(ctx, key, ids[0]).Val(), 1)
	t.same("XTRIM MAXLEN", client.XTrimMaxLen(ctx, key, 2).Val(), 1)
	t.same("XTRIM MINID", client.XTrimMinID(ctx, key, ids[3]).Val(), 1)
	t.same("XLEN", client.XLen(ctx, key).Val(), 1)
	_, err = client.XRead(ctx, &redis.XReadArgs{Streams: []string{key, "$"}, Block: 100 * time.Millisecond}).Result()
	t.same("XREAD BLOCK in vain", err, redis.Nil)
	t.says("XADD of an old ID", client.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: "1-1", Values: []string{"a", "b"}}).Err(), "equal or smaller")
	pipe := client.Pipeline()
	for n := range 250 {
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, MaxLen: 100, Approx: true, Values: []any{"n", n}})
	}
	_, err = pipe.Exec(ctx)
	t.must(err)
	left := client.XLen(ctx, key).Val()
	t.same(fmt.Sprintf("XADD MAXLEN ~ leaves %d", left), left >= 100 && left < 250, true)
}

// goRedisClaims leaves one group of three consumers, and nothing pending.
func goRedisClaims(t *T, client redis.UniversalClient, key string, all []redis.XMessage) {
	t.must(client.XGroupCreate(ctx, key, "g", "0").Err())
	t.says("XGROUP CREATE again", client.XGroupCreate(ctx, key, "g", "0").Err(), "BUSYGROUP")
	read, err := client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "dead", Streams: []string{key, ">"}, Count: 3, Block: -1}).Result()
	t.must(err)
	t.same("XREADGROUP", read[0].Messages, all[:3])
	pending, err := client.XPending(ctx, key, "g").Result()
	t.must(err)
	t.same("XPENDING", pending, &redis.XPending{Count: 3, Lower: all[0].ID, Higher: all[2].ID, Consumers: map[string]int64{"dead": 3}})
	claimed, err := client.XClaim(ctx, &redis.XClaimArgs{Stream: key, Group: "g", Consumer: "heir", Messages: []string{all[0].ID}}).Result()
	t.must(err)
	t.same("XCLAIM", claimed, all[:1])
	late := client.XClaim(ctx, &redis.XClaimArgs{Stream: key, Group: "g", Consumer: "heir", MinIdle: time.Hour, Messages: []string{all[1].ID}})
	t.same("XCLAIM of what is not idle", len(late.Val()), 0)
	ext, err := client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: key, Group: "g", Start: "-", End: "+", Count: 10, Consumer: "heir"}).Result()
	t.must(err)
	t.same("XPENDING of a consumer", []any{len(ext), ext[0].ID, ext[0].RetryCount}, []any{1, all[0].ID, 2})
	taken, start, err := client.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: key, Group: "g", Consumer: "other", Start: "0", Count: 2}).Result()
	t.must(err)
	t.same("XAUTOCLAIM", []any{taken, start}, []any{all[:2], all[2].ID})
	t.same("XACK", client.XAck(ctx, key, "g", idsOf(all)...).Val(), 3)
	consumers, err := client.XInfoConsumers(ctx, key, "g").Result()
	t.must(err)
	t.same("XINFO CONSUMERS", len(consumers), 3)
	groups, err := client.XInfoGroups(ctx, key).Result()
	t.must(err)
	t.same("XINFO GROUPS", []any{groups[0].Name, groups[0].Pending, groups[0].EntriesRead, groups[0].Lag}, []any{"g", 0, 3, 1})
}

func idsOf(messages []redis.XMessage) []string {
	ids := make([]string, len(messages))
	for i, message := range messages {
		ids[i] = message.ID
	}
	return ids
}

// goRedisGroup has two consumers wait for what two others append: each entry comes to one of them, once.
func goRedisGroup(t *T, client redis.UniversalClient) {
	const each = 300
	key := fresh("{work}")
	t.must(client.XGroupCreateMkStream(ctx, key, "g", "$").Err())
	var all sync.WaitGroup
	var lock sync.Mutex
	var seen, want []string
	problems := make(chan error, 4)
	for n := range 2 {
		for i := range each {
			want = append(want, fmt.Sprintf("%d-%d", n, i))
		}
		all.Go(func() {
			for i := range each {
				if err := client.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []any{"n", fmt.Sprintf("%d-%d", n, i)}}).Err(); err != nil {
					problems <- err
					return
				}
			}
		})
		all.Go(func() {
			for {
				read, err := client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: fmt.Sprint(n), Streams: []string{key, ">"}, Count: 10, Block: 2 * time.Second}).Result()
				if err == redis.Nil {
					return
				}
				if err == nil {
					err = client.XAck(ctx, key, "g", idsOf(read[0].Messages)...).Err()
				}
				if err != nil {
					problems <- err
					return
				}
				lock.Lock()
				for _, message := range read[0].Messages {
					seen = append(seen, message.Values["n"].(string))
				}
				lock.Unlock()
			}
		})
	}
	all.Wait()
	close(problems)
	for err := range problems {
		t.must(err)
	}
	slices.Sort(seen)
	slices.Sort(want)
	t.same("what the consumers got", seen, want)
	t.same("XPENDING", client.XPending(ctx, key, "g").Val().Count, 0)
}

func rueidisStreams(t *T, client rueidis.Client) {
	key := fresh("{rueidis}")
	do := client.B()
	var ids []string
	for n := range 3 {
		id, err := client.Do(ctx, do.Xadd().Key(key).Id("*").FieldValue().FieldValue("n", fmt.Sprint(n)).Build()).ToString()
		t.must(err)
		ids = append(ids, id)
	}
	entries, err := client.Do(ctx, do.Xrange().Key(key).Start("-").End("+").Build()).AsXRange()
	t.must(err)
	t.same("XRANGE", []any{len(entries), entries[0].ID, entries[0].FieldValues}, []any{3, ids[0], map[string]string{"n": "0"}})
	t.must(client.Do(ctx, do.XgroupCreate().Key(key).Group("g").Id("0").Build()).Error())
	read, err := client.Do(ctx, do.Xreadgroup().Group("g", "one").Count(2).Streams().Key(key).Id(">").Build()).AsXRead()
	t.must(err)
	t.same("XREADGROUP", read[key], entries[:2])
	claimed, err := client.Do(ctx, do.Xclaim().Key(key).Group("g").Consumer("two").MinIdleTime("0").Id(ids[0]).Build()).AsXRange()
	t.must(err)
	t.same("XCLAIM", claimed, entries[:1])
	acked, err := client.Do(ctx, do.Xack().Key(key).Group("g").Id(ids...).Build()).ToInt64()
	t.must(err)
	t.same("XACK", acked, 2)
	waiting := make(chan map[string][]rueidis.XRangeEntry, 1)
	go func() {
		late, _ := client.Do(ctx, do.Xread().Block(20_000).Streams().Key(key).Id("$").Build()).AsXRead()
		waiting <- late
	}()
	time.Sleep(500 * time.Millisecond)
	t.must(client.Do(ctx, do.Xadd().Key(key).Id("*").FieldValue().FieldValue("n", "late").Build()).Error())
	t.same("XREAD BLOCK", (<-waiting)[key][0].FieldValues, map[string]string{"n": "late"})
	err = client.Do(ctx, do.Xread().Block(50).Streams().Key(key).Id("$").Build()).Error()
	t.same("XREAD BLOCK in vain", rueidis.IsRedisNil(err), true)
}

func redigoStreams(t *T) {
	conn := redigoPool(t, gateways[0]).Get()
	defer conn.Close()
	key := fresh("{redigo}")
	value := func(name string, args ...any) any {
		got, err := conn.Do(name, args...)
		t.must(err)
		return got
	}
	id := value("XADD", key, "5-1", "n", 1)
	t.same("XADD", id, "5-1")
	t.same("XRANGE", value("XRANGE", key, "-", "+"), "[[5-1 [n 1]]]")
	t.same("XGROUP", value("XGROUP", "CREATE", key, "g", 0), "OK")
	t.same("XREADGROUP", value("XREADGROUP", "GROUP", "g", "one", "BLOCK", 1000, "STREAMS", key, ">"), fmt.Sprintf("[[%s [[5-1 [n 1]]]]]", key))
	t.same("XREADGROUP in vain", value("XREADGROUP", "GROUP", "g", "one", "BLOCK", 50, "STREAMS", key, ">"), "<nil>")
	t.same("XPENDING", value("XPENDING", key, "g"), "[1 5-1 5-1 [[one 1]]]")
	t.same("XAUTOCLAIM", value("XAUTOCLAIM", key, "g", "two", 0, "0"), "[0-0 [[5-1 [n 1]]] []]")
	t.same("XACK", value("XACK", key, "g", "5-1"), 1)
}
