// go-redis v9. Not tried, since kvorum has none of it: modules, and Sentinel.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var goRedisCases = []testCase{
	{"go-redis: one gateway, RESP3 and its defaults", func(t *T) { goRedisTypes(t, goRedisGateway(t, 3)) }},
	{"go-redis: one gateway, RESP2", func(t *T) { goRedisTypes(t, goRedisGateway(t, 2)) }},
	{"go-redis: cluster", func(t *T) { goRedisTypes(t, goRedisCluster(t, nil)) }},
	{"go-redis: cluster, routed by latency", func(t *T) {
		goRedisReplicas(t, func(o *redis.ClusterOptions) { o.RouteByLatency = true })
	}},
	{"go-redis: cluster, routed randomly", func(t *T) {
		goRedisReplicas(t, func(o *redis.ClusterOptions) { o.RouteRandomly = true })
	}},
	{"go-redis: cluster, from replicas", func(t *T) {
		goRedisReplicas(t, func(o *redis.ClusterOptions) { o.ReadOnly = true })
	}},
	{"go-redis: pipelines and transactions", goRedisPipelines},
	{"go-redis: transactions that watch", goRedisWatch},
	{"go-redis: commands that block", goRedisBlocking},
	{"go-redis: publish and subscribe", goRedisPubSub},
	{"go-redis: scans", goRedisScans},
	{"go-redis: large values", goRedisLarge},
	{"go-redis: users", goRedisUsers},
	{"go-redis: many callers, few connections", goRedisMany},
	{"go-redis: scripts, one gateway", func(t *T) { goRedisScripts(t, goRedisGateway(t, 3)) }},
	{"go-redis: scripts, cluster", func(t *T) { goRedisScripts(t, goRedisCluster(t, nil)) }},
	{"go-redis: functions, one gateway", func(t *T) { goRedisFunctions(t, goRedisGateway(t, 3)) }},
	{"go-redis: functions, cluster", func(t *T) { goRedisFunctions(t, goRedisCluster(t, nil)) }},
	{"go-redis: a client that caches", goRedisCaching},
	{"go-redis: what is refused", goRedisRefusals},
	{"go-redis: gateways as a ring, and a universal client", goRedisOtherClients},
	{"go-redis: leaders move and nodes die, cluster", func(t *T) {
		goRedisTrouble(t, goRedisCluster(t, func(o *redis.ClusterOptions) { o.MaxRedirects = 10 }))
	}},
	{"go-redis: leaders move and nodes die, gateway", func(t *T) {
		goRedisTrouble(t, redis.NewUniversalClient(&redis.UniversalOptions{Addrs: gateways[:1], MaxRetries: 10}))
	}},
}

var (
	ctx = context.Background()
	run = fmt.Sprintf("go%d", os.Getpid())
)

func goRedisGateway(t *T, protocol int) redis.UniversalClient {
	client := redis.NewClient(&redis.Options{Addr: gateways[0], Protocol: protocol})
	t.cleanup(func() { client.Close() })
	return client
}

func goRedisCluster(t *T, change func(options *redis.ClusterOptions)) *redis.ClusterClient {
	options := &redis.ClusterOptions{Addrs: clusterPorts}
	if change != nil {
		change(options)
	}
	client := redis.NewClusterClient(options)
	t.cleanup(func() { client.Close() })
	return client
}

var keyNumber atomic.Int64

// fresh names a key that nothing has used; all of one case's lie in one slot when they have its tag.
func fresh(name string) string {
	return fmt.Sprintf("%s:%d:%s", run, keyNumber.Add(1), name)
}

func goRedisTypes(t *T, client redis.UniversalClient) {
	tag := fresh("{types}")
	key := func(name string) string { return tag + name }
	value := func(got any, err error) any {
		if err != nil {
			t.fail("%v", err)
		}
		return got
	}
	t.same("SET", value(client.Set(ctx, key("s"), "v", time.Minute).Result()), "OK")
	t.same("GET", value(client.Get(ctx, key("s")).Result()), "v")
	t.near("TTL", int64(client.TTL(ctx, key("s")).Val().Seconds()), 60)
	t.same("SET GET", value(client.SetArgs(ctx, key("s"), "w", redis.SetArgs{Get: true, KeepTTL: true}).Result()), "v")
	_, err := client.Get(ctx, key("nothing")).Result()
	t.same("GET of nothing", err, redis.Nil)
	t.same("INCRBYFLOAT", value(client.IncrByFloat(ctx, key("f"), 0.5).Result()), 0.5)
	t.must(client.MSet(ctx, key("a"), 1, key("b"), 2).Err())
	t.same("MGET", value(client.MGet(ctx, key("a"), key("nothing"), key("b")).Result()), "[1 <nil> 2]")
	t.must(client.HSet(ctx, key("h"), map[string]any{"f": 1, "g": "x"}).Err())
	t.same("HGETALL", value(client.HGetAll(ctx, key("h")).Result()), map[string]string{"f": "1", "g": "x"})
	t.same("HEXPIRE", value(client.HExpire(ctx, key("h"), time.Minute, "f").Result()), "[1]")
	left := value(client.HTTL(ctx, key("h"), "f", "g").Result()).([]int64)
	t.near("HTTL", left[0], 60)
	t.same("HTTL of a field without", left[1], -1)
	var scanned struct {
		F int    `redis:"f"`
		G string `redis:"g"`
	}
	t.must(client.HGetAll(ctx, key("h")).Scan(&scanned))
	t.same("HGETALL into a struct", scanned, "{1 x}")
	t.must(client.RPush(ctx, key("l"), 1, 2, 3, 4).Err())
	t.same("LRANGE", value(client.LRange(ctx, key("l"), 1, -1).Result()), "[2 3 4]")
	t.same("LPOS", value(client.LPos(ctx, key("l"), "3", redis.LPosArgs{}).Result()), 2)
	t.same("LMOVE", value(client.LMove(ctx, key("l"), key("l2"), "LEFT", "RIGHT").Result()), "1")
	t.must(client.SAdd(ctx, key("set"), "a", "b").Err())
	t.same("SMISMEMBER", value(client.SMIsMember(ctx, key("set"), "a", "x").Result()), "[true false]")
	t.must(client.ZAdd(ctx, key("z"), redis.Z{Score: 1.5, Member: "a"}, redis.Z{Score: 2, Member: "b"}).Err())
	t.same("ZRANGE WITHSCORES", value(client.ZRangeWithScores(ctx, key("z"), 0, -1).Result()), "[{1.5 a} {2 b}]")
	t.same("ZRANK WITHSCORE", value(client.ZRankWithScore(ctx, key("z"), "b").Result()), "{1 2}")
	t.same("ZPOPMIN", value(client.ZPopMin(ctx, key("z")).Result()), "[{1.5 a}]")
	t.same("ZMPOP", value(2, ignore2(client.ZMPop(ctx, "min", 1, key("z")).Result())), 2)
	t.must(client.GeoAdd(ctx, key("g"), &redis.GeoLocation{Name: "p", Longitude: 13.361389, Latitude: 38.115556}).Err())
	t.same("GEOPOS", value(len(client.GeoPos(ctx, key("g"), "p").Val()), nil), 1)
	t.same("BITFIELD", value(client.BitField(ctx, key("bits"), "SET", "u8", 0, 200, "GET", "u8", 0).Result()), "[0 200]")
	t.same("PFCOUNT", value(client.PFCount(ctx, key("pf")).Result()), 0)
	dumped := value(client.Dump(ctx, key("l")).Result()).(string)
	t.must(client.Restore(ctx, key("l3"), 0, dumped).Err())
	t.same("SORT", value(client.Sort(ctx, key("l3"), &redis.Sort{Order: "DESC"}).Result()), "[4 3 2]")
	t.must(client.Copy(ctx, key("l3"), key("l4"), 0, true).Err())
	t.must(client.Rename(ctx, key("l4"), key("l5")).Err())
	t.same("TYPE", value(client.Type(ctx, key("l5")).Result()), "list")
	t.same("OBJECT ENCODING", value(client.ObjectEncoding(ctx, key("l5")).Result()), "listpack")
	t.same("DEL", value(client.Del(ctx, key("a"), key("b"), key("nothing")).Result()), 2)
	t.must(client.Ping(ctx).Err())
	t.must(client.Time(ctx).Err())
	t.same("INFO", strings.Contains(client.Info(ctx).Val(), "redis_version:7"), true)
}

func ignore2[A, B any](_ A, _ B, err error) error { return err }

// goRedisReplicas writes, and asks until replicas have it as well.
func goRedisReplicas(t *T, change func(options *redis.ClusterOptions)) {
	client := goRedisCluster(t, change)
	goRedisTypesOnLeader(t, client)
	for i := range 50 {
		key := fresh("replica")
		t.must(client.Set(ctx, key, i, 0).Err())
		t.eventually("replicas have it", 15*time.Second, func() bool {
			got, err := client.Get(ctx, key).Int()
			if err != nil && !errors.Is(err, redis.Nil) {
				t.fail("%v", err)
			}
			return err == nil && got == i
		})
	}
	pipe := client.Pipeline()
	for range 100 {
		pipe.Get(ctx, fresh("none"))
	}
	_, err := pipe.Exec(ctx)
	t.same("100 GETs of nothing", err, redis.Nil)
}

func goRedisTypesOnLeader(t *T, client redis.UniversalClient) {
	key := fresh("leader")
	t.must(client.RPush(ctx, key, 1, 2).Err())
	got, err := client.LPop(ctx, key).Result()
	t.must(err)
	t.same("LPOP", got, "1")
}

func goRedisPipelines(t *T) {
	for _, client := range []redis.UniversalClient{goRedisGateway(t, 3), goRedisGateway(t, 2), goRedisCluster(t, nil)} {
		many := fresh("many")
		replies, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range 2000 {
				pipe.Set(ctx, fmt.Sprint(many, i), i, 0)
				pipe.Incr(ctx, fmt.Sprint(many, i))
			}
			return nil
		})
		t.must(err)
		for i := range 2000 {
			t.same("INCR in a pipeline", replies[2*i+1].(*redis.IntCmd).Val(), i+1)
		}
		key := fresh("{tx}")
		var wrong, right *redis.IntCmd
		_, err = client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, "text", 0)
			wrong = pipe.LPush(ctx, key, "x")
			right = pipe.Incr(ctx, key+"n")
			return nil
		})
		t.says("an error in a transaction", err, "WRONGTYPE")
		t.says("LPUSH to a string", wrong.Err(), "WRONGTYPE")
		t.same("INCR behind it", right.Val(), 1)
		// go-redis gives the first error of a pipeline and of a cluster's EXEC another one
		_, err = client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, "set", 0)
			pipe.Do(ctx, "SET", key)
			return nil
		})
		t.says("a transaction that is discarded", err, "")
		t.same("nothing of it", client.Get(ctx, key).Val(), "text")
	}
}

func goRedisWatch(t *T) {
	for _, client := range []redis.UniversalClient{goRedisGateway(t, 3), goRedisCluster(t, nil)} {
		key := fresh("watched")
		var callers sync.WaitGroup
		var failures, conflicts atomic.Int64
		for range 8 {
			callers.Go(func() {
				for done := 0; done < 10; {
					err := client.Watch(ctx, func(tx *redis.Tx) error {
						n, err := tx.Get(ctx, key).Int()
						if err != nil && err != redis.Nil {
							return err
						}
						_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
							return pipe.Set(ctx, key, n+1, 0).Err()
						})
						return err
					}, key)
					if err == nil {
						done++
					} else if errors.Is(err, redis.TxFailedErr) {
						conflicts.Add(1)
					} else {
						failures.Add(1)
						fmt.Println(err)
						return
					}
				}
			})
		}
		callers.Wait()
		t.same("failures", failures.Load(), 0)
		t.same("each took effect once", client.Get(ctx, key).Val(), "80")
	}
}

func goRedisBlocking(t *T) {
	for _, client := range []redis.UniversalClient{goRedisGateway(t, 3), goRedisGateway(t, 2), goRedisCluster(t, nil)} {
		key := fresh("{queue}")
		got := make(chan string, 100)
		var waiters sync.WaitGroup
		for range 8 {
			waiters.Go(func() {
				popped, err := client.BLPop(ctx, 20*time.Second, key, key+"2").Result()
				got <- fmt.Sprint(strings.TrimPrefix(fmt.Sprint(popped), "["+key), err)
			})
		}
		time.Sleep(200 * time.Millisecond)
		for i := range 8 {
			t.must(client.RPush(ctx, key, i).Err())
		}
		waiters.Wait()
		close(got)
		var all []string
		for one := range got {
			all = append(all, one)
		}
		slices.Sort(all)
		t.same("each waiter has one", len(slices.Compact(all)), 8)
		began := time.Now()
		_, err := client.BLPop(ctx, time.Second, key).Result()
		t.same("BLPOP of nothing", err, redis.Nil)
		t.same("after a second", time.Since(began).Round(time.Second) >= time.Second, true)
		_, err = client.BZPopMin(ctx, time.Second, key+"z").Result()
		t.same("BZPOPMIN of nothing", err, redis.Nil)
		_, _, err = client.BLMPop(ctx, time.Second, "left", 1, key).Result()
		t.same("BLMPOP of nothing", err, redis.Nil)
	}
}

func goRedisPubSub(t *T) {
	for _, client := range []redis.UniversalClient{goRedisGateway(t, 3), goRedisGateway(t, 2), goRedisCluster(t, nil)} {
		channel := fresh("news")
		plain := client.Subscribe(ctx, channel)
		pattern := client.PSubscribe(ctx, channel[:len(channel)-2]+"*")
		sharded := client.SSubscribe(ctx, channel)
		for _, subscription := range []*redis.PubSub{plain, pattern, sharded} {
			defer subscription.Close()
			_, err := subscription.Receive(ctx)
			t.must(err)
		}
		t.must(plain.Ping(ctx))
		for i := range 100 {
			t.must(client.Publish(ctx, channel, i).Err())
			t.must(client.SPublish(ctx, channel, i).Err())
		}
		for _, subscription := range []*redis.PubSub{plain, pattern, sharded} {
			messages := subscription.Channel()
			for i := range 100 {
				select {
				case message := <-messages:
					t.same("a message", message.Payload, i)
				case <-time.After(5 * time.Second):
					t.fail("no message %d for %v", i, subscription)
				}
			}
		}
		counts, err := client.PubSubNumSub(ctx, channel).Result()
		t.must(err)
		t.same("PUBSUB NUMSUB", counts[channel], 1)
		t.must(plain.Unsubscribe(ctx, channel))
	}
}

func goRedisScans(t *T) {
	gateway, cluster := goRedisGateway(t, 3), goRedisCluster(t, nil)
	prefix := fresh("scan")
	_, err := gateway.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range 3000 {
			pipe.Set(ctx, fmt.Sprint(prefix, ":", i), i, 0)
		}
		return nil
	})
	t.must(err)
	scan := func(client redis.Cmdable) map[string]bool {
		seen := map[string]bool{}
		keys := client.Scan(ctx, 0, prefix+"*", 500).Iterator()
		for keys.Next(ctx) {
			seen[keys.Val()] = true
		}
		if keys.Err() != nil {
			fmt.Println(keys.Err())
		}
		return seen
	}
	t.same("SCAN at the gateway", len(scan(gateway)), 3000)
	var lock sync.Mutex
	all := map[string]bool{}
	t.must(cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		found := scan(node)
		lock.Lock()
		defer lock.Unlock()
		for key := range found {
			all[key] = true
		}
		return nil
	}))
	t.same("SCAN of each master", len(all), 3000)
	for i := range 201 {
		t.must(gateway.HSet(ctx, prefix+"hash", i, i).Err())
	}
	fields := gateway.HScan(ctx, prefix+"hash", 0, "", 50).Iterator()
	count := 0
	for fields.Next(ctx) {
		count++
	}
	t.must(fields.Err())
	t.same("HSCAN", count, 402)
}

func goRedisLarge(t *T) {
	for _, client := range []redis.UniversalClient{goRedisGateway(t, 3), goRedisCluster(t, nil)} {
		key, value := fresh("large"), bytes.Repeat([]byte("kvorum"), 16<<20/6)
		t.must(client.Set(ctx, key, value, 0).Err())
		got, err := client.Get(ctx, key).Bytes()
		t.must(err)
		t.same("15 MiB and more", bytes.Equal(got, value), true)
		err = client.Set(ctx, key, make([]byte, 17<<20), 0).Err()
		t.says("17 MiB", err, "")
		t.same("the client goes on", client.StrLen(ctx, key).Val(), len(value))
	}
}

func goRedisUsers(t *T) {
	admin := goRedisGateway(t, 3)
	user := run + "alice"
	t.must(admin.Do(ctx, "ACL", "SETUSER", user, "on", ">secret", "~"+run+":*", "+@all", "-@admin", "-flushall").Err())
	defer admin.Do(ctx, "ACL", "DELUSER", user)
	for _, protocol := range []int{2, 3} {
		alice := redis.NewClient(&redis.Options{Addr: gateways[1], Username: user, Password: "secret", Protocol: protocol})
		t.eventually("the other node has heard of her", 5*time.Second, func() bool { return alice.Ping(ctx).Err() == nil })
		t.must(alice.Set(ctx, fresh("hers"), 1, 0).Err())
		t.says("another's key", alice.Set(ctx, "others", 1, 0).Err(), "NOPERM")
		t.says("a command she may not", alice.FlushAll(ctx).Err(), "NOPERM")
		alice.Close()
		wrong := redis.NewClient(&redis.Options{Addr: gateways[1], Username: user, Password: "wrong", Protocol: protocol})
		t.says("a wrong password", wrong.Ping(ctx).Err(), "WRONGPASS")
		wrong.Close()
	}
	cluster := goRedisCluster(t, func(o *redis.ClusterOptions) { o.Username, o.Password = user, "secret" })
	for range 20 {
		t.must(cluster.Set(ctx, fresh("hers"), 1, 0).Err())
	}
}

func goRedisMany(t *T) {
	gateway := redis.NewClient(&redis.Options{Addr: gateways[0], PoolSize: 10, PoolTimeout: time.Minute})
	t.cleanup(func() { gateway.Close() })
	small := goRedisCluster(t, func(o *redis.ClusterOptions) { o.PoolSize, o.PoolTimeout = 5, time.Minute })
	wide := goRedisCluster(t, func(o *redis.ClusterOptions) { o.PoolSize, o.MinIdleConns = 300, 100 })
	for _, client := range []redis.UniversalClient{gateway, small, wide} {
		key := fresh("many")
		var callers sync.WaitGroup
		var failures atomic.Int64
		for i := range 300 {
			callers.Go(func() {
				for range 10 {
					if err := client.Incr(ctx, fmt.Sprint(key, i%7)).Err(); err != nil {
						fmt.Println(err)
						failures.Add(1)
					}
				}
			})
		}
		callers.Wait()
		t.same("failures", failures.Load(), 0)
		sum := 0
		for i := range 7 {
			n, err := client.Get(ctx, fmt.Sprint(key, i)).Int()
			t.must(err)
			sum += n
		}
		t.same("sum", sum, 3000)
	}
}

// By digest, and by the body where the partition does not know it.
func goRedisScripts(t *T, client redis.UniversalClient) {
	script := redis.NewScript("return {redis.call('INCRBY', KEYS[1], ARGV[1]), KEYS[2]} --" + fresh("script"))
	for i := range 20 {
		keys := []string{fmt.Sprintf("{%s%d}a", run, i), fmt.Sprintf("{%s%d}b", run, i)}
		for range 2 {
			t.must(client.Del(ctx, keys...).Err())
			got, err := script.Run(ctx, client, keys, 2).Slice()
			t.must(err)
			t.same("a script", got, []any{int64(2), keys[1]})
		}
	}
	// It loads at what it takes for replicas as well.
	t.must(script.Load(ctx, client).Err())
	if _, isCluster := client.(*redis.ClusterClient); !isCluster {
		known, err := script.Exists(ctx, client).Result()
		t.must(err)
		t.same("it is known", known, []bool{true})
	}
	across := client.Eval(ctx, "return 1", []string{"a", "b"}).Err()
	t.says("keys of two slots", across, "CROSSSLOT")
	t.says("its own error", client.Eval(ctx, "return {err='ERR my own'}", []string{"a"}).Err(), "my own")
}

func goRedisFunctions(t *T, client redis.UniversalClient) {
	library, key := fmt.Sprintf("%s_%d", run, keyNumber.Add(1)), fresh("function")
	adds := "function(keys, args) return redis.call('incrby', keys[1], args[1]) end"
	looks := "function(keys) return redis.call('get', keys[1]) end"
	code := fmt.Sprintf(`#!lua name=%s
redis.register_function('%s_add', %s)
redis.register_function{function_name='%s_look', callback=%s, flags={'no-writes'}}`, library, library, adds, library, looks)
	each := func(do func(ctx context.Context, node *redis.Client) error) error {
		return do(ctx, client.(*redis.Client))
	}
	if cluster, isCluster := client.(*redis.ClusterClient); isCluster {
		// a node is asked for what it leads
		each = func(do func(ctx context.Context, node *redis.Client) error) error {
			return cluster.ForEachMaster(ctx, do)
		}
	}
	t.must(each(func(ctx context.Context, node *redis.Client) error {
		if err := node.FunctionLoadReplace(ctx, code).Err(); err != nil {
			return err
		}
		listed, err := node.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: library}).Result()
		if err == nil && (len(listed) != 1 || len(listed[0].Functions) != 2) {
			err = fmt.Errorf("FUNCTION LIST is %v", listed)
		}
		return err
	}))
	for i := range 3 {
		sum, err := client.FCall(ctx, library+"_add", []string{key}, 2).Int()
		t.must(err)
		t.same("FCALL", sum, 2*(i+1))
	}
	t.same("FCALL_RO", client.FCallRo(ctx, library+"_look", []string{key}).Val(), "6")
	t.says("FCALL_RO of what writes", client.FCallRo(ctx, library+"_add", []string{key}, 1).Err(), "_ro")
	t.must(each(func(ctx context.Context, node *redis.Client) error { return node.FunctionDelete(ctx, library).Err() }))
	t.says("a function that is gone", client.FCall(ctx, library+"_add", []string{key}, 2).Err(), "Function not found")
}

func goRedisCaching(t *T) {
	cached := redis.NewClient(&redis.Options{
		Addr: gateways[0], Protocol: 3, ClientSideCacheConfig: &redis.ClientSideCacheConfig{},
	})
	t.cleanup(func() { cached.Close() })
	client, key := goRedisGateway(t, 3), fresh("cached")
	for i := range 5 {
		t.must(cached.Set(ctx, key, i, 0).Err())
		t.must(cached.Get(ctx, key).Err())
		t.must(client.Incr(ctx, key).Err())
		t.eventually("it reads what is there", 10*time.Second, func() bool {
			return cached.Get(ctx, key).Val() == fmt.Sprint(i+1)
		})
	}
}

func goRedisRefusals(t *T) {
	client := goRedisGateway(t, 3)
	t.says("a function that nobody loaded", client.FCall(ctx, "f", []string{"x"}).Err(), "Function not found")
	other := redis.NewClient(&redis.Options{Addr: gateways[0], DB: 9})
	t.cleanup(func() { other.Close() })
	t.says("a database that nobody made", other.Set(ctx, "k", "v", 0).Err(), "out of range")
	cluster := goRedisCluster(t, nil)
	err := cluster.SInterStore(ctx, fresh("a"), fresh("b"), fresh("c")).Err()
	t.says("keys of several slots", err, "CROSSSLOT")
}

func goRedisOtherClients(t *T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"1": gateways[0], "2": gateways[1], "3": gateways[2]}})
	t.cleanup(func() { ring.Close() })
	for i := range 50 {
		key := fresh("ring")
		t.must(ring.Set(ctx, key, i, 0).Err())
		t.same("GET", ring.Get(ctx, key).Val(), i)
	}
	universal := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: clusterPorts})
	t.cleanup(func() { universal.Close() })
	_, isCluster := universal.(*redis.ClusterClient)
	t.same("several addresses are a cluster", isCluster, true)
	t.must(universal.Set(ctx, fresh("u"), 1, 0).Err())
}

// goRedisTrouble counts while leaders move and nodes are killed.
func goRedisTrouble(t *T, client redis.UniversalClient) {
	t.cleanup(func() { client.Close() })
	count := newCount(fresh("counter"))
	count.under(t, "default", func(key string) error {
		return client.Incr(ctx, key).Err()
	})
	count.judge(t, func(key string) (int, error) { return client.Get(ctx, key).Int() })
}
