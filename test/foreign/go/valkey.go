// valkey-go, which began as rueidis: what is its own, the names and the defaults, is tried.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/valkey-io/valkey-go"
)

var valkeyCases = []testCase{
	{"valkey-go: one gateway and cluster", valkeyCommands},
	{"valkey-go: a client that caches", valkeyCaching},
	{"valkey-go: leaders move and nodes die", valkeyTrouble},
}

func valkeyClient(t *T, option valkey.ClientOption) valkey.Client {
	option.DisableCache = true
	client, err := valkey.NewClient(option)
	t.must(err)
	t.cleanup(client.Close)
	return client
}

func valkeyCommands(t *T) {
	for _, client := range []valkey.Client{
		valkeyClient(t, valkey.ClientOption{InitAddress: gateways[:1], ForceSingleClient: true}),
		valkeyClient(t, valkey.ClientOption{InitAddress: clusterPorts}),
		valkeyClient(t, valkey.ClientOption{InitAddress: clusterPorts, ShuffleInit: true, PipelineMultiplex: 4}),
	} {
		var commands valkey.Commands
		for i := range 500 {
			key := fresh("valkey")
			commands = append(commands, client.B().Set().Key(key).Value(fmt.Sprint(i)).Build(),
				client.B().Getdel().Key(key).Build())
		}
		for i, reply := range client.DoMulti(ctx, commands...) {
			got, err := reply.ToString()
			t.must(err)
			if i%2 == 1 {
				t.same("GETDEL", got, i/2)
			}
		}
		key := fresh("scan")
		for i := range 50 {
			t.must(client.Do(ctx, client.B().Sadd().Key(key).Member(fmt.Sprint(i)).Build()).Error())
		}
		entry, err := client.Do(ctx, client.B().Sscan().Key(key).Cursor(0).Count(1000).Build()).AsScanEntry()
		t.must(err)
		t.same("SSCAN", len(entry.Elements), 50)
	}
}

func valkeyCaching(t *T) {
	caches, err := valkey.NewClient(valkey.ClientOption{InitAddress: clusterPorts})
	t.must(err)
	t.cleanup(caches.Close)
	other, key := valkeyClient(t, valkey.ClientOption{InitAddress: clusterPorts}), fresh("cached")
	for _, value := range []string{"old", "new", "newer"} {
		t.must(other.Do(ctx, other.B().Set().Key(key).Value(value).Build()).Error())
		t.eventually("it reads what is there, and keeps it", 10*time.Second, func() bool {
			reply := caches.DoCache(ctx, caches.B().Get().Key(key).Cache(), time.Hour)
			got, err := reply.ToString()
			t.must(err)
			return got == value && reply.IsCacheHit()
		})
	}
}

func valkeyTrouble(t *T) {
	client := valkeyClient(t, valkey.ClientOption{InitAddress: clusterPorts})
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
