// rueidis. Its client-side caching is on unless `DisableCache` says otherwise.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

var rueidisCases = []testCase{
	{"rueidis: one gateway", func(t *T) { rueidisCommands(t, rueidisClient(t, gateways[:1], nil)) }},
	{"rueidis: cluster", func(t *T) { rueidisCommands(t, rueidisClient(t, clusterPorts, nil)) }},
	{"rueidis: cluster, always pipelined", func(t *T) {
		rueidisCommands(t, rueidisClient(t, clusterPorts, func(o *rueidis.ClientOption) { o.AlwaysPipelining = true }))
	}},
	{"rueidis: cluster, reads from replicas", rueidisReplicas},
	{"rueidis: one gateway, RESP2", func(t *T) {
		rueidisCommands(t, rueidisClient(t, gateways[:1], func(o *rueidis.ClientOption) { o.AlwaysRESP2 = true }))
	}},
	{"rueidis: transactions on dedicated connections", rueidisWatch},
	{"rueidis: commands that block", rueidisBlocking},
	{"rueidis: publish and subscribe", rueidisPubSub},
	{"rueidis: scripts", rueidisScripts},
	{"rueidis: clients that cache", rueidisCaching},
	{"rueidis: what is refused", rueidisRefusals},
	{"rueidis: leaders move and nodes die, cluster", func(t *T) { rueidisTrouble(t, clusterPorts) }},
	{"rueidis: leaders move and nodes die, gateways", func(t *T) { rueidisTrouble(t, gateways) }},
}

func rueidisClient(t *T, addresses []string, change func(option *rueidis.ClientOption)) rueidis.Client {
	option := rueidis.ClientOption{InitAddress: addresses, DisableCache: true}
	if len(addresses) > 0 && addresses[0] == gateways[0] {
		option.ForceSingleClient = true
	}
	if change != nil {
		change(&option)
	}
	client, err := rueidis.NewClient(option)
	t.must(err)
	t.cleanup(client.Close)
	return client
}

func rueidisCommands(t *T, client rueidis.Client) {
	key := fresh("{rueidis}")
	do := client.B()
	t.must(client.Do(ctx, do.Set().Key(key).Value("v").ExSeconds(100).Build()).Error())
	got, err := client.Do(ctx, do.Get().Key(key).Build()).ToString()
	t.must(err)
	t.same("GET", got, "v")
	_, err = client.Do(ctx, do.Get().Key(key+"nothing").Build()).ToString()
	t.same("GET of nothing", rueidis.IsRedisNil(err), true)
	t.must(client.Do(ctx, do.Hset().Key(key+"h").FieldValue().FieldValue("f", "1").FieldValue("g", "2").Build()).Error())
	fields, err := client.Do(ctx, do.Hgetall().Key(key+"h").Build()).AsStrMap()
	t.must(err)
	t.same("HGETALL", fields, map[string]string{"f": "1", "g": "2"})
	t.must(client.Do(ctx, do.Zadd().Key(key+"z").ScoreMember().ScoreMember(1.5, "a").ScoreMember(2, "b").Build()).Error())
	scores, err := client.Do(ctx, do.Zrange().Key(key+"z").Min("0").Max("-1").Withscores().Build()).AsZScores()
	t.must(err)
	t.same("ZRANGE WITHSCORES", scores, "[{a 1.5} {b 2}]")
	isMember, err := client.Do(ctx, do.Smismember().Key(key+"s").Member("x").Build()).AsIntSlice()
	t.must(err)
	t.same("SMISMEMBER", isMember, "[0]")
	var commands rueidis.Commands
	for i := range 1000 {
		commands = append(commands, do.Incr().Key(fmt.Sprint(fresh("many"), i%3)).Build())
	}
	for _, reply := range client.DoMulti(ctx, commands...) {
		n, err := reply.ToInt64()
		t.must(err)
		t.same("INCR", n, 1)
	}
	pairs := map[string]string{}
	for i := range 200 {
		pairs[fresh("pair")] = fmt.Sprint(i)
	}
	for _, err := range rueidis.MSet(client, ctx, pairs) {
		t.must(err)
	}
	keys := []string{}
	for name := range pairs {
		keys = append(keys, name)
	}
	values, err := rueidis.MGet(client, ctx, keys)
	t.must(err)
	for name, value := range values {
		text, err := value.ToString()
		t.must(err)
		t.same("MGET", text, pairs[name])
	}
	large := rueidis.BinaryString(make([]byte, 8<<20))
	t.must(client.Do(ctx, do.Set().Key(key+"large").Value(large).Build()).Error())
	back, err := client.Do(ctx, do.Get().Key(key+"large").Build()).ToString()
	t.must(err)
	t.same("8 MiB", back == large, true)
}

func rueidisReplicas(t *T) {
	client := rueidisClient(t, clusterPorts, func(o *rueidis.ClientOption) {
		o.SendToReplicas = func(command rueidis.Completed) bool { return command.IsReadOnly() }
	})
	for i := range 30 {
		key := fresh("replica")
		t.must(client.Do(ctx, client.B().Set().Key(key).Value(fmt.Sprint(i)).Build()).Error())
		t.eventually("replicas have it", 15*time.Second, func() bool {
			got, err := client.Do(ctx, client.B().Get().Key(key).Build()).ToString()
			if err != nil && !rueidis.IsRedisNil(err) {
				t.fail("%v", err)
			}
			return got == fmt.Sprint(i)
		})
	}
}

func rueidisWatch(t *T) {
	for _, client := range []rueidis.Client{rueidisClient(t, gateways[:1], nil), rueidisClient(t, clusterPorts, nil)} {
		key := fresh("watched")
		var callers sync.WaitGroup
		var failures atomic.Int64
		for range 6 {
			callers.Go(func() {
				for done := 0; done < 10; {
					err := client.Dedicated(func(own rueidis.DedicatedClient) error {
						if err := own.Do(ctx, own.B().Watch().Key(key).Build()).Error(); err != nil {
							return err
						}
						n, err := own.Do(ctx, own.B().Get().Key(key).Build()).AsInt64()
						if err != nil && !rueidis.IsRedisNil(err) {
							return err
						}
						replies := own.DoMulti(ctx, own.B().Multi().Build(),
							own.B().Set().Key(key).Value(fmt.Sprint(n+1)).Build(), own.B().Exec().Build())
						return replies[2].Error()
					})
					if err == nil {
						done++
					} else if !rueidis.IsRedisNil(err) {
						fmt.Println(err)
						failures.Add(1)
						return
					}
				}
			})
		}
		callers.Wait()
		t.same("failures", failures.Load(), 0)
		n, err := client.Do(ctx, client.B().Get().Key(key).Build()).AsInt64()
		t.must(err)
		t.same("each took effect once", n, 60)
	}
}

func rueidisBlocking(t *T) {
	for _, client := range []rueidis.Client{rueidisClient(t, gateways[:1], nil), rueidisClient(t, clusterPorts, nil)} {
		key := fresh("{queue}")
		got := make(chan string, 50)
		for range 50 {
			go func() {
				popped, err := client.Do(ctx, client.B().Blpop().Key(key).Timeout(20).Build()).AsStrSlice()
				if err != nil {
					popped = []string{"", err.Error()}
				}
				got <- popped[1]
			}()
		}
		for i := range 50 {
			t.must(client.Do(ctx, client.B().Rpush().Key(key).Element(fmt.Sprint(i)).Build()).Error())
		}
		seen := map[string]bool{}
		for range 50 {
			seen[<-got] = true
		}
		t.same("each waiter has one", len(seen), 50)
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		err := client.Do(short, client.B().Blpop().Key(key).Timeout(0).Build()).Error()
		cancel()
		t.same("its own time is up", errors.Is(err, context.DeadlineExceeded), true)
		t.must(client.Do(ctx, client.B().Rpush().Key(key).Element("last").Build()).Error())
		left, err := client.Do(ctx, client.B().Blpop().Key(key).Timeout(5).Build()).AsStrSlice()
		if err == nil {
			t.same("BLPOP afterwards", left[1], "last")
		} else {
			// the one that was given up may have popped it before its connection was gone
			t.same("BLPOP afterwards", rueidis.IsRedisNil(err), true)
		}
	}
}

func rueidisPubSub(t *T) {
	for _, client := range []rueidis.Client{rueidisClient(t, gateways[:1], nil), rueidisClient(t, clusterPorts, nil)} {
		channel := fresh("news")
		within, cancel := context.WithTimeout(ctx, 30*time.Second)
		got := make(chan string, 500)
		var confirmed sync.WaitGroup
		confirmed.Add(2)
		ready := rueidis.WithOnSubscriptionHook(within, func(s rueidis.PubSubSubscription) {
			if s.Kind == "subscribe" || s.Kind == "ssubscribe" {
				confirmed.Done()
			}
		})
		for _, subscribe := range []rueidis.Completed{client.B().Subscribe().Channel(channel).Build(),
			client.B().Ssubscribe().Channel(channel).Build()} {
			go func() {
				_ = client.Receive(ready, subscribe, func(message rueidis.PubSubMessage) { got <- message.Message })
			}()
		}
		confirmed.Wait()
		for i := range 100 {
			t.must(client.Do(ctx, client.B().Publish().Channel(channel).Message(fmt.Sprint(i)).Build()).Error())
			t.must(client.Do(ctx, client.B().Spublish().Channel(channel).Message(fmt.Sprint(i)).Build()).Error())
		}
		for i := range 200 {
			select {
			case <-got:
			case <-within.Done():
				t.fail("%d of 200 messages came", i)
			}
		}
		cancel()
	}
}

func rueidisScripts(t *T) {
	for _, addresses := range [][]string{gateways[:1], clusterPorts} {
		client := rueidisClient(t, addresses, nil)
		script := rueidis.NewLuaScript("return redis.call('INCRBY', KEYS[1], ARGV[1]) --" + fresh("script"))
		key := fresh("scripted")
		for sum := int64(2); sum <= 6; sum += 2 {
			got, err := script.Exec(ctx, client, []string{key}, []string{"2"}).AsInt64()
			t.must(err)
			t.same("a script", got, sum)
		}
		results := script.ExecMulti(ctx, client,
			rueidis.LuaExec{Keys: []string{key}, Args: []string{"1"}},
			rueidis.LuaExec{Keys: []string{fresh("other")}, Args: []string{"1"}})
		for _, result := range results {
			// It loads at what it takes for replicas as well.
			t.must(result.Error())
		}
	}
}

func rueidisCaching(t *T) {
	for _, addresses := range [][]string{gateways[:1], clusterPorts} {
		caches := rueidisClient(t, addresses, func(option *rueidis.ClientOption) { option.DisableCache = false })
		other, key := rueidisClient(t, addresses, nil), fresh("cached")
		read := func() (string, bool) {
			reply := caches.DoCache(ctx, caches.B().Get().Key(key).Cache(), time.Hour)
			text, err := reply.ToString()
			t.must(err)
			return text, reply.IsCacheHit()
		}
		for _, value := range []string{"old", "new", "newer"} {
			t.must(other.Do(ctx, other.B().Set().Key(key).Value(value).Build()).Error())
			t.eventually("it reads what is there, and keeps it", 10*time.Second, func() bool {
				got, isHit := read()
				return got == value && isHit
			})
		}
	}
}

func rueidisRefusals(t *T) {
	client := rueidisClient(t, clusterPorts, nil)
	function := client.Do(ctx, client.B().Arbitrary("FCALL", "f", "1").Keys("k").Build()).Error()
	t.says("a function that nobody loaded", function, "Function not found")
}

func rueidisTrouble(t *T, addresses []string) {
	client := rueidisClient(t, addresses, nil)
	count := newCount(fresh("counter"))
	count.under(t, "default", func(key string) error {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return client.Do(within, client.B().Incr().Key(key).Build()).Error()
	})
	count.judge(t, func(key string) (int, error) {
		n, err := client.Do(ctx, client.B().Get().Key(key).Build()).AsInt64()
		return int(n), err
	})
}
