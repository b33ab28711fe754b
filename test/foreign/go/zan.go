// ZanRedisDB's own client, pointed at our placedriver. Not tried, since kvorum has none of it: JSON
// (`json.*`), secondary indexes (`hidx.from`) and what repairs ZanRedisDB's own storage (`lfixkey`,
// `zfixkey`, `stale.getversion`).
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	zanredis "github.com/absolute8511/redigo/redis"
	zan "github.com/youzan/go-zanredisdb"
)

var zanCases = []testCase{
	{"go-zanredisdb: strings", zanStrings},
	{"go-zanredisdb: hashes, lists, sets, sorted sets", zanCollections},
	{"go-zanredisdb: pipelines and many keys", zanMany},
	{"go-zanredisdb: scans of a table", zanTableScans},
	{"go-zanredisdb: scans of a collection", zanCollectionScans},
	{"go-zanredisdb: large values and their pools", zanLarge},
	{"go-zanredisdb: a password", zanPassword},
	{"go-zanredisdb: what is refused", zanRefusals},
	{"go-zanredisdb: a namespace that comes, goes and comes again", zanNamespaceAnew},
	{"go-zanredisdb: leaders move and nodes die", zanTrouble},
}

var zanNamespace = fmt.Sprintf("go_zan_%d", os.Getpid())

var zanReady sync.Once

func zanClient(t *T, change func(conf *zan.Conf)) *zan.ZanRedisClient {
	zan.SetLogger(0, zan.NewSimpleLogger())
	zanReady.Do(func() { createNamespace(t, zanNamespace, 8) })
	conf := zan.NewDefaultConf()
	conf.LookupList = []string{placedriver}
	conf.Namespace = zanNamespace
	if change != nil {
		change(conf)
	}
	client, err := zan.NewZanRedisClient(conf)
	t.must(err)
	client.Start()
	t.cleanup(client.Stop)
	return client
}

// zanDo has a table's key in the second place, as all commands of one key do.
func zanDo(t *T, client *zan.ZanRedisClient, words ...any) any {
	reply, err := zanTry(client, words...)
	if err != nil {
		t.fail("%v: %v", words, err)
	}
	return reply
}

func zanTry(client *zan.ZanRedisClient, words ...any) (any, error) {
	key := zan.NewPKey(zanNamespace, "t", []byte(words[1].(string)))
	args := append([]any{key.RawKey}, words[2:]...)
	return client.DoRedis(words[0].(string), key.ShardingKey(), true, args...)
}

type row struct {
	line string
	want any
}

// secondsLeft or a little less.
type secondsLeft int64

func zanRows(t *T, client *zan.ZanRedisClient, rows []row) {
	for _, one := range rows {
		words := []any{}
		for _, word := range strings.Fields(one.line) {
			words = append(words, word)
		}
		got := zanDo(t, client, words...)
		if left, isTime := one.want.(secondsLeft); isTime {
			t.near(one.line, got.(int64), int64(left))
		} else {
			t.same(one.line, got, one.want)
		}
	}
}

func zanStrings(t *T) {
	client := zanClient(t, nil)
	t.must(client.KVSet("t", []byte("k"), []byte("v")))
	got, err := client.KVGet("t", []byte("k"))
	t.must(err)
	t.same("KVGet", got, "v")
	set, err := client.KVSetNX("t", []byte("k"), []byte("w"))
	t.must(err)
	t.same("KVSetNX", set, 0)
	count, err := client.KVDel("t", []byte("k"))
	t.must(err)
	t.same("KVDel", count, 1)
	_, err = client.KVGet("t", []byte("k"))
	t.same("KVGet of nothing", err, zanredis.ErrNil)
	zanRows(t, client, []row{
		{"incr n", 1}, {"incrby n 41", 42}, {"append n 0", 3}, {"getset n 7", "420"},
		{"strlen n", 1}, {"setrange s 2 ab", 4}, {"getrange s 2 -1", "ab"},
		{"setex e 100 v", "OK"}, {"ttl e", secondsLeft(100)}, {"persist e", 1}, {"ttl e", -1}, {"ttl nothing", -1},
		{"expire e 50", 1}, {"set nx 1 NX", "OK"}, {"set nx 2 NX", nil}, {"set nx 3 EX 100 XX", "OK"},
		{"setifeq nx 3 4", 1}, {"setifeq nx 3 5", 0}, {"delifeq nx 5", 0}, {"delifeq nx 4", 1},
		{"setbit b 9 1", 0}, {"setbitv2 b 10 1", 0}, {"getbit b 9", 1}, {"bitcount b", 2}, {"bitclear b", 1},
		{"pfadd p a b c", 1}, {"pfcount p", 3}, {"getnolock s", "\x00\x00ab"}, {"stale.get n", "7"},
	})
}

func zanCollections(t *T) {
	zanRows(t, zanClient(t, nil), []row{
		{"hset h f v", 1}, {"hmset h a 1 b 2", "OK"}, {"hget h f", "v"}, {"hmget h a x", "[1 <nil>]"},
		{"hlen h", 3}, {"hincrby h a 9", 10}, {"hexists h a", 1}, {"hdel h f a", 2}, {"hgetall h", "[b 2]"},
		{"hkeys h", "[b]"}, {"hvals h", "[2]"}, {"hsetnx h b 3", 0}, {"hkeyexist h", 1}, {"httl h", -1},
		{"hexpire h 100", 1}, {"httl h", secondsLeft(100)}, {"hpersist h", 1}, {"hclear h", 1}, {"hkeyexist h", 0},
		{"rpush l a b c", 3}, {"lpush l z", 4}, {"lrange l 0 -1", "[z a b c]"}, {"lindex l 1", "a"},
		{"llen l", 4}, {"lset l 0 y", "OK"}, {"lpop l", "y"}, {"rpop l", "c"}, {"ltrim l 0 0", "OK"},
		{"lkeyexist l", 1}, {"lexpire l 9", 1}, {"lclear l", 1}, {"lpop l", nil},
		{"sadd m a b c", 3}, {"scard m", 3}, {"sismember m b", 1}, {"srem m b", 1}, {"smembers m", "[a c]"},
		{"srandmember m 5", "[a c]"}, {"skeyexist m", 1}, {"sttl m", -1}, {"sclear m", 2}, {"spop m", nil},
		{"zadd z 1 a 2.5 b 3 c", 3}, {"zscore z b", "2.5"}, {"zcard z", 3}, {"zrank z c", 2}, {"zrevrank z c", 0},
		{"zrange z 0 -1 withscores", "[a 1 b 2.5 c 3]"}, {"zrevrange z 0 0", "[c]"}, {"zincrby z 1 a", "2"},
		{"zrangebyscore z (2 +inf withscores limit 0 1", "[b 2.5]"}, {"zrevrangebyscore z 3 -inf", "[c b a]"},
		{"zcount z -inf 2.5", 2}, {"zlexcount z - +", 3}, {"zrem z b", 1}, {"zremrangebyrank z 0 0", 1},
		{"zremrangebyscore z 3 3", 1}, {"zkeyexist z", 0}, {"zclear z", 0},
		{"geoadd g 13.361389 38.115556 p 15.087269 37.502669 c", 2}, {"geodist g p c km", "166.2742"},
		{"georadius g 15 37 200 km ASC", "[c p]"}, {"geohash g p", "[sqc8b49rny0]"},
	})
}

func zanKeys(table, prefix string, count int) []*zan.PKey {
	keys := make([]*zan.PKey, count)
	for i := range keys {
		keys[i] = zan.NewPKey(zanNamespace, table, fmt.Appendf(nil, "%s%05d", prefix, i))
	}
	return keys
}

func zanFlush(t *T, client *zan.ZanRedisClient, commands zan.PipelineCmdList) []any {
	replies, errs := client.FlushAndWaitPipelineCmd(commands)
	for i, err := range errs {
		if err != nil {
			t.fail("%v: %v", commands[i], err)
		}
	}
	return replies
}

// zanSet sets each key to itself.
func zanSet(t *T, client *zan.ZanRedisClient, keys []*zan.PKey) {
	var commands zan.PipelineCmdList
	for _, key := range keys {
		commands.Add("SET", key.ShardingKey(), true, key.RawKey, key.RawKey)
	}
	zanFlush(t, client, commands)
}

func zanMany(t *T) {
	client := zanClient(t, nil)
	keys := zanKeys("many", "m", 1000)
	zanSet(t, client, keys)
	there, err := client.KVMExists(true, keys...)
	t.must(err)
	t.same("KVMExists", there, 1000)
	asked := append(zanKeys("many", "nothing", 5), keys...)
	values, err := client.KVMGet(true, asked...)
	t.must(err)
	for i, value := range values {
		if i < 5 {
			t.same("KVMGet of nothing", len(value), 0)
		} else {
			t.same("KVMGet", value, asked[i].RawKey)
		}
	}
	var mixed zan.PipelineCmdList
	for i := range 50 {
		key := zan.NewPKey(zanNamespace, "many", fmt.Appendf(nil, "mixed%d", i))
		mixed.Add("INCR", key.ShardingKey(), true, key.RawKey)
		mixed.Add("LPUSH", key.ShardingKey(), true, key.RawKey, "x")
		mixed.Add("INCR", key.ShardingKey(), true, key.RawKey)
	}
	replies, errs := client.FlushAndWaitPipelineCmd(mixed)
	for i := 0; i < len(replies); i += 3 {
		t.same("first INCR", replies[i], 1)
		t.says("LPUSH to a number", errs[i+1], "WRONGTYPE")
		t.same("second INCR", replies[i+2], 2)
	}
	gone, err := client.KVMDel(true, asked...)
	t.must(err)
	t.same("KVMDel", gone, 1000)
}

func zanTableScans(t *T) {
	client := zanClient(t, nil)
	keys := zanKeys("scanned", "k", 3000)
	zanSet(t, client, keys)
	zanSet(t, client, zanKeys("scanned2", "other", 50))
	for i := range 300 {
		key := zan.NewPKey(zanNamespace, "scanned", fmt.Appendf(nil, "hash%d", i))
		_, err := client.DoRedis("HSET", key.ShardingKey(), true, key.RawKey, "f", "v")
		t.must(err)
	}
	count := func(channel chan []byte) (seen map[string]int) {
		seen = map[string]int{}
		for key := range channel {
			seen[string(key)]++
		}
		return seen
	}
	stop := make(chan struct{})
	t.same("KVScanChannel", len(count(client.KVScanChannel("scanned", stop))), 3000)
	t.same("AdvScanChannel of hashes", len(count(client.AdvScanChannel("hash", "scanned", stop))), 300)
	t.same("AdvScanChannel of nothing", len(count(client.AdvScanChannel("zset", "scanned", stop))), 0)
	t.same("reverse", len(count(client.DoScanChannel("ADVREVSCAN", "kv", "scanned", stop))), 3000)
	zanPages(t)
	full := map[string]bool{}
	for page := range client.FullScanChannel("kv", "scanned", stop) {
		for _, item := range page.([]any) {
			pair := item.([]any)
			full[string(pair[0].([]byte))+"="+string(pair[1].([]byte))] = true
		}
	}
	t.same("FullScanChannel", len(full), 3000)
	t.same("a key and its value", full["k00000="+zanNamespace+":scanned:k00000"], true)
}

// zanPages scans by cursors that the caller keeps. Each page keeps the client's connections for good,
// one of a node for each partition that it leads, so a client has some pages to ask for and no more.
func zanPages(t *T) {
	client := zanClient(t, func(conf *zan.Conf) { conf.MaxActiveConn = 1000 })
	seen := map[string]int{}
	cursor := []byte{}
	for pages := 0; pages == 0 || len(cursor) > 0; pages++ {
		next, keys, err := client.AdvScan("kv", "scanned", 100, cursor)
		t.must(err)
		for _, key := range keys {
			seen[string(key)]++
		}
		if cursor = next; pages > 100 {
			t.fail("AdvScan does not end")
		}
	}
	t.same("AdvScan", len(seen), 3000)
	for key, times := range seen {
		t.same(key, times, 1)
	}
}

func zanCollectionScans(t *T) {
	client := zanClient(t, nil)
	const many = 6000
	for first := 0; first < many; first += 500 {
		hash, set, sorted := []any{"hmset", "large"}, []any{"sadd", "largeset"}, []any{"zadd", "largezset"}
		for i := first; i < first+500; i++ {
			name := fmt.Sprintf("%06d", i)
			hash, set, sorted = append(hash, name, name), append(set, name), append(sorted, i, name)
		}
		zanDo(t, client, hash...)
		zanDo(t, client, set...)
		zanDo(t, client, sorted...)
	}
	stop := make(chan struct{})
	seen := 0
	for range client.HScanChannel("t", []byte("large"), stop) {
		seen++
	}
	t.same("HScanChannel: fields and values", seen, 2*many)
	members := map[string]bool{}
	for member := range client.SScanChannel("t", []byte("largeset"), stop) {
		members[string(member)] = true
	}
	t.same("SScanChannel", len(members), many)
	sum := 0.0
	for one := range client.ZScanChannel("t", []byte("largezset"), stop) {
		sum += one.Score
	}
	t.same("ZScanChannel: sum of scores", int(sum), many*(many-1)/2)
	zanDo(t, client, "sadd", "small", "c", "a", "b")
	cursor, found, err := client.SScan("t", []byte("small"), 10, nil)
	t.must(err)
	t.same("SScan is in order and ends", string(bytes.Join(found, nil))+string(cursor), "abc")
}

func zanLarge(t *T) {
	client := zanClient(t, func(conf *zan.Conf) { conf.MaxActiveConn = 4 })
	client.SetLargeKeyConf(zan.NewLargeKeyConf())
	client.Start()
	key := zan.NewPKey(zanNamespace, "t", []byte("largevalue"))
	for _, size := range []int{1, 100_000, 500_000, 1_000_000} {
		value := bytes.Repeat([]byte{'v'}, size)
		_, err := client.DoRedisForWrite("SET", key.ShardingKey(), true, key.RawKey, value)
		t.must(err)
		got, err := zanredis.Bytes(client.DoRedisForRead("GET", key.ShardingKey(), true, key.RawKey))
		t.must(err)
		t.same(fmt.Sprintf("a value of %d bytes", size), bytes.Equal(got, value), true)
	}
	_, err := client.DoRedisForWrite("SET", key.ShardingKey(), true, key.RawKey, make([]byte, 2_000_000))
	t.same("larger than the client allows", err, zan.ErrSizeExceedLimit)
	plain := zanClient(t, nil)
	value := bytes.Repeat([]byte{'w'}, 8<<20)
	t.must(plain.KVSet("t", []byte("eight"), value))
	got, err := plain.KVGet("t", []byte("eight"))
	t.must(err)
	t.same("8 MiB", bytes.Equal(got, value), true)
	t.says("more than kvorum takes", plain.KVSet("t", []byte("more"), make([]byte, 17<<20)), "")
	t.must(plain.KVSet("t", []byte("eight"), []byte("small again")))
}

func zanPassword(t *T) {
	// ZanRedisDB lets any password in, and so does a cluster that has set none
	client := zanClient(t, func(conf *zan.Conf) { conf.Password = "whatever" })
	t.must(client.KVSet("t", []byte("k"), []byte("v")))
}

func zanRefusals(t *T) {
	client := zanClient(t, nil)
	_, err := zanTry(client, "json.get", "j")
	t.says("a command that is not there", err, "invalid command")
	_, err = client.DoRedis("GET", []byte("k"), true, zanNamespace+":k")
	t.says("no table", err, "invalid table name")
	_, err = zanTry(client, "hset", "h")
	t.says("too few arguments", err, "wrong number of arguments")
	zanDo(t, client, "set", "text", "abc")
	_, err = zanTry(client, "incr", "text")
	t.says("not a number", err, "not an integer")
}

func zanNamespaceAnew(t *T) {
	anew := zanNamespace + "_anew"
	client := zanClient(t, func(conf *zan.Conf) {
		conf.Namespace = anew
		conf.TendInterval = 1
	})
	began := time.Now()
	if client.KVSet("t", []byte("k"), []byte("v")) == nil {
		t.fail("a namespace that is not there took a write")
	}
	t.same("it ends in time", time.Since(began) < 20*time.Second, true)
	for _, partitions := range []int{4, 8} {
		createNamespace(t, anew, partitions)
		t.eventually("the client has heard", 20*time.Second, func() bool {
			return client.KVSet("t", []byte("k"), fmt.Append(nil, partitions)) == nil
		})
		got, err := client.KVGet("t", []byte("k"))
		t.must(err)
		t.same("KVGet", got, partitions)
		t.must(deleteNamespace(anew))
		t.eventually("the client hears that it is gone", 20*time.Second, func() bool {
			return client.KVSet("t", []byte("k"), nil) != nil
		})
	}
}

func zanTrouble(t *T) {
	client := zanClient(t, nil)
	count := newCount("counters")
	do := func(name, key string) (any, error) {
		pk := zan.NewPKey(zanNamespace, "t", []byte(key))
		return client.DoRedisForWrite(name, pk.ShardingKey(), true, pk.RawKey)
	}
	count.under(t, zanNamespace, func(key string) error {
		_, err := do("INCR", key)
		return err
	})
	count.judge(t, func(key string) (int, error) { return zanredis.Int(do("GET", key)) })
}
