// etcd's own client against the embedded metadata store, which serves the part of etcd's API that
// kvorum itself needs: keys, transactions, watches, leases. Not tried, since it has none of it: nested
// transactions, members that come and go, users, alarms, snapshots; that these are refused clearly is.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

var etcdCases = []testCase{
	{"etcd client: keys, ranges and the past", etcdKeys},
	{"etcd client: transactions", etcdTransactions},
	{"etcd client: watches", etcdWatches},
	{"etcd client: leases", etcdLeases},
	{"etcd client: mutexes, elections, transactional memory", etcdConcurrency},
	{"etcd client: what is refused, and what no request may ask for", etcdRefusals},
}

func etcdClient(t *T) *etcd.Client {
	is, err := processOf("placedriver1")
	t.must(err)
	client, err := etcd.New(etcd.Config{
		Endpoints:   []string{fmt.Sprintf("127.0.0.1:%d", is.Ports.Meta)},
		DialTimeout: 10 * time.Second,
	})
	t.must(err)
	t.cleanup(func() { client.Close() })
	return client
}

func etcdKeys(t *T) {
	client, prefix := etcdClient(t), fresh("etcd")
	first, err := client.Put(ctx, prefix+"a", "1")
	t.must(err)
	for i := range 30 {
		_, err := client.Put(ctx, fmt.Sprintf("%sk%02d", prefix, i), fmt.Sprint(i))
		t.must(err)
	}
	_, err = client.Put(ctx, prefix+"a", "2")
	t.must(err)
	now, err := client.Get(ctx, prefix+"a")
	t.must(err)
	t.same("version", now.Kvs[0].Version, 2)
	before, err := client.Get(ctx, prefix+"a", etcd.WithRev(first.Header.Revision))
	t.must(err)
	t.same("as it was", before.Kvs[0].Value, "1")
	page, err := client.Get(ctx, prefix+"k", etcd.WithPrefix(), etcd.WithLimit(5), etcd.WithKeysOnly(),
		etcd.WithSort(etcd.SortByModRevision, etcd.SortDescend))
	t.must(err)
	t.same("a page", fmt.Sprint(len(page.Kvs), page.More, page.Count), "5 true 30")
	t.same("the newest first", page.Kvs[0].Key, prefix+"k29")
	gone, err := client.Delete(ctx, prefix+"k", etcd.WithPrefix(), etcd.WithPrevKV())
	t.must(err)
	t.same("deleted", fmt.Sprint(gone.Deleted, len(gone.PrevKvs)), "30 30")
	own, err := client.Get(ctx, "/kvorum/", etcd.WithPrefix(), etcd.WithCountOnly())
	t.must(err)
	t.same("what kvorum keeps there", own.Count > 10, true)
	members, err := client.MemberList(ctx)
	t.must(err)
	t.same("members", len(members.Members), 1)
	t.must(client.Sync(ctx))
	status, err := client.Status(ctx, client.Endpoints()[0])
	t.must(err)
	t.same("a leader", status.Leader, status.Header.MemberId)
}

func etcdTransactions(t *T) {
	client, key := etcdClient(t), fresh("etcd")
	create := etcd.Compare(etcd.CreateRevision(key), "=", 0)
	for i, want := range []bool{true, false} {
		reply, err := client.Txn(ctx).If(create).Then(etcd.OpPut(key, fmt.Sprint(i))).Else(etcd.OpGet(key)).Commit()
		t.must(err)
		t.same("created", reply.Succeeded, want)
		if !want {
			t.same("what was there", reply.Responses[0].GetResponseRange().Kvs[0].Value, "0")
		}
	}
	reply, err := client.Txn(ctx).Then(etcd.OpGet(key)).Commit()
	t.must(err)
	t.same("revision of the answer within", reply.Responses[0].GetResponseRange().Header.Revision, reply.Header.Revision)
}

func etcdWatches(t *T) {
	client, prefix := etcdClient(t), fresh("etcd")
	began, err := client.Put(ctx, prefix+"x", "0")
	t.must(err)
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	watch := client.Watch(within, prefix, etcd.WithPrefix(), etcd.WithPrevKV(), etcd.WithRev(began.Header.Revision))
	for i := range 100 {
		_, err := client.Put(ctx, prefix+"x", fmt.Sprint(i+1))
		t.must(err)
	}
	_, err = client.Delete(ctx, prefix+"x")
	t.must(err)
	seen := 0
	for answer := range watch {
		t.must(answer.Err())
		for _, event := range answer.Events {
			if event.Type == etcd.EventTypePut {
				t.same("in order", event.Kv.Value, seen)
			}
			seen++
		}
		if seen == 102 {
			break
		}
	}
	t.same("events", seen, 102)
	t.must(client.RequestProgress(within))
}

func etcdLeases(t *T) {
	client, key := etcdClient(t), fresh("etcd")
	lease, err := client.Grant(ctx, 2)
	t.must(err)
	_, err = client.Put(ctx, key, "v", etcd.WithLease(lease.ID))
	t.must(err)
	within, cancel := context.WithCancel(ctx)
	kept, err := client.KeepAlive(within, lease.ID)
	t.must(err)
	go func() {
		for range kept {
		}
	}()
	there := func() bool {
		got, err := client.Get(ctx, key)
		t.must(err)
		return len(got.Kvs) == 1
	}
	time.Sleep(5 * time.Second)
	t.same("kept alive", there(), true)
	cancel()
	t.eventually("gone with its lease", 20*time.Second, func() bool { return !there() })
}

func etcdConcurrency(t *T) {
	client, prefix := etcdClient(t), fresh("etcd")
	session, err := concurrency.NewSession(client, concurrency.WithTTL(5))
	t.must(err)
	defer session.Close()
	mutex := concurrency.NewMutex(session, prefix+"mutex")
	t.must(mutex.Lock(ctx))
	other, err := concurrency.NewSession(client, concurrency.WithTTL(5))
	t.must(err)
	defer other.Close()
	t.same("a second owner", concurrency.NewMutex(other, prefix+"mutex").TryLock(ctx), concurrency.ErrLocked)
	t.must(mutex.Unlock(ctx))
	election := concurrency.NewElection(session, prefix+"election")
	t.must(election.Campaign(ctx, "me"))
	leader, err := election.Leader(ctx)
	t.must(err)
	t.same("leader", leader.Kvs[0].Value, "me")
	t.must(election.Resign(ctx))
	done := make(chan error)
	for range 4 {
		go func() {
			for range 10 {
				_, err := concurrency.NewSTM(client, func(stm concurrency.STM) error {
					stm.Put(prefix+"stm", stm.Get(prefix+"stm")+"x")
					return nil
				})
				if err != nil {
					fmt.Println(err)
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		<-done
	}
	got, err := client.Get(ctx, prefix+"stm")
	t.must(err)
	t.same("each took effect once", got.Kvs[0].Value, strings.Repeat("x", 40))
}

func etcdRefusals(t *T) {
	client, prefix := etcdClient(t), fresh("etcd")
	refused := func(what, why string, err error) { t.says(what, err, why) }
	_, err := client.Txn(ctx).Then(etcd.OpTxn(nil, []etcd.Op{etcd.OpPut("a", "b")}, nil)).Commit()
	refused("a nested transaction", "nested", err)
	_, err = client.MemberAdd(ctx, []string{"http://127.0.0.1:1"})
	refused("a member more", "does not implement", err)
	_, err = client.AuthEnable(ctx)
	refused("users", "does not implement", err)
	snapshot, err := client.Snapshot(ctx)
	if err == nil {
		_, err = snapshot.Read(make([]byte, 1))
	}
	refused("a snapshot", "does not implement", err)
	_, err = client.Put(ctx, prefix, strings.Repeat("x", 1_900_000))
	refused("a large value", "too large", err)
	_, err = client.Get(ctx, prefix, etcd.WithRev(1<<40))
	refused("the future", "future revision", err)
	for i := range 34 {
		_, err := client.Put(ctx, fmt.Sprint(prefix, i), strings.Repeat("x", 1<<20))
		t.must(err)
	}
	everything := make([]etcd.Op, 128)
	for i := range everything {
		everything[i] = etcd.OpGet(prefix, etcd.WithPrefix())
	}
	_, err = client.Txn(ctx).Then(everything...).Commit()
	refused("everything 128 times", "32 MiB", err)
	_, err = client.Delete(ctx, prefix, etcd.WithPrefix())
	t.must(err)
}
