//! redis-rs: its asynchronous cluster connection, its connection manager, and its synchronous connections.

use crate::checks::{check, same, words, Checked};
use crate::listener::{Listener, CHANNEL, SHARDS};
use crate::load::{ask, Ask, Load};
use crate::trouble::place;
use redis::aio::{ConnectionLike, ConnectionManagerConfig, MultiplexedConnection};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_read_routing::RoundRobinReplicaStrategy;
use redis::{
    cmd, pipe, AsyncCommands, AsyncConnectionConfig, Client, ProtocolVersion, PushInfo, RedisResult,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

const ANSWER: Duration = Duration::from_secs(10);
const PROTOCOLS: [(&str, ProtocolVersion); 2] =
    [("RESP2", ProtocolVersion::RESP2), ("RESP3", ProtocolVersion::RESP3)];

fn cluster() -> ClusterClientBuilder {
    let places = place("KVORUM_CLUSTER");
    ClusterClientBuilder::new(places.split(',').map(|at| format!("redis://{at}")).collect::<Vec<_>>())
        .response_timeout(ANSWER)
}

fn gateway(query: &str) -> Client {
    let places = place("KVORUM_GATEWAYS");
    let first = places.split(',').next().unwrap();
    Client::open(format!("redis://{first}/{query}")).expect("a place")
}

/// At the gateway; redis-rs itself waits for half a second, in which no election fits.
async fn multiplexed() -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(ANSWER));
    gateway("").get_multiplexed_async_connection_with_config(&config).await
}

fn patient() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new().set_response_timeout(Some(ANSWER))
}

pub async fn checks() {
    for (name, protocol) in PROTOCOLS {
        let client = cluster().use_protocol(protocol).build().expect("a client");
        let mut connection = client.get_async_connection().await.expect("a connection");
        check(&format!("redis-rs cluster, commands, {name}"), commands(&mut connection)).await;
        check(&format!("redis-rs cluster, pipelines, {name}"), pipelines(&mut connection)).await;
        check(&format!("redis-rs cluster, what is not offered, {name}"), refused(&mut connection)).await;
    }
    for query in ["", "?protocol=3"] {
        let mut manager =
            gateway(query).get_connection_manager_with_config(patient()).await.expect("a connection");
        check(&format!("redis-rs manager, commands {query}"), commands(&mut manager)).await;
        check(&format!("redis-rs manager, pipelines {query}"), pipelines(&mut manager)).await;
    }
    check("redis-rs manager, WATCH", watch()).await;
    check("redis-rs manager, blocking", blocking()).await;
    check("redis-rs manager, RESP3 push", manager_push()).await;
    check("redis-rs cluster, RESP3 push and shards", cluster_push()).await;
    check("redis-rs cluster, replicas", replicas()).await;
    check("redis-rs synchronous", synchronous()).await;
    check("redis-rs users", users()).await;
}

async fn commands<C: ConnectionLike + Send + Sync>(c: &mut C) -> Checked {
    all_commands(c).await.map_err(words)?
}

async fn all_commands<C: ConnectionLike + Send + Sync>(c: &mut C) -> RedisResult<Checked> {
    let tag = "{rs}";
    let _: i64 = c.del(&[format!("{tag}h"), format!("{tag}l"), format!("{tag}z")]).await?;
    let _: () = c.mset(&[("rs:a", 1), ("rs:b", 2), ("rs:c", 3)]).await?;
    let many: Vec<Option<i64>> = c.mget(&["rs:a", "rs:b", "rs:c", "rs:none"]).await?;
    let _: () = c.hset_multiple(format!("{tag}h"), &[("a", "1"), ("b", "2")]).await?;
    let mut hash: Vec<(String, i64)> = c.hgetall::<_, Vec<_>>(format!("{tag}h")).await?;
    hash.sort();
    let _: i64 = c.zadd_multiple(format!("{tag}z"), &[(1.5, "x"), (2.0, "y")]).await?;
    let scores: Vec<(String, f64)> = c.zrange_withscores(format!("{tag}z"), 0, -1).await?;
    let _: i64 = c.rpush(format!("{tag}l"), &["1", "2", "3"]).await?;
    let popped: Option<(String, String)> = c.blpop(format!("{tag}l"), 1.0).await?;
    let large = "x".repeat(4 << 20);
    let _: () = c.set("rs:large", &large).await?;
    let read: String = c.get("rs:large").await?;
    let wrong: RedisResult<i64> = c.incr(format!("{tag}h"), 1).await;
    let deleted: i64 = c.del(&["rs:a", "rs:b", "rs:c"]).await?;
    Ok(same(
        (many, hash, scores, popped, read == large, wrong.map_err(|e| e.code().map(str::to_owned)), deleted),
        (
            [Some(1), Some(2), Some(3), None],
            [("a", 1), ("b", 2)],
            [("x", 1.5), ("y", 2.0)],
            Some(("{rs}l", "1")),
            true,
            Err::<i64, _>(Some("WRONGTYPE")),
            3,
        ),
    ))
}

/// Keys of one slot: redis-rs refuses others in a pipeline, whatever cluster it talks to.
async fn pipelines<C: ConnectionLike + Send + Sync>(c: &mut C) -> Checked {
    let mut wide = pipe();
    for i in 0..100 {
        wide.cmd("SET").arg(format!("{{rs}}p{i}")).arg(i).ignore();
    }
    wide.exec_async(c).await.map_err(words)?;
    let mut reads = pipe();
    for i in 0..100 {
        reads.cmd("GET").arg(format!("{{rs}}p{i}"));
    }
    let values: Vec<usize> = reads.query_async(c).await.map_err(words)?;
    same(values, (0..100).collect::<Vec<_>>())?;
    let mut atomic = pipe();
    atomic.atomic().cmd("SET").arg("{rs}t").arg(1).ignore().cmd("INCR").arg("{rs}t");
    same(atomic.query_async::<(i64,)>(c).await.map_err(words)?, (2,))
}

async fn refused<C: ConnectionLike + Send + Sync>(c: &mut C) -> Checked {
    let mut across = pipe();
    across.atomic().cmd("SET").arg("rs:1").arg(1).cmd("SET").arg("rs:2").arg(1);
    if across.query_async::<(String, String)>(c).await.is_ok() {
        return Err("a transaction over two slots is carried out".into());
    }
    let answer: RedisResult<()> = cmd("FCALL").arg(&["f", "1", "rs:1"]).query_async(c).await;
    let text = answer.err().map(|error| error.to_string()).unwrap_or_default();
    if !text.contains("Function not found") {
        return Err(format!("a function that nobody loaded is answered by: {text}"));
    }
    Ok(())
}

/// EXEC of a connection of its own is nil once somebody else has written.
async fn watch() -> Checked {
    let mut mine = multiplexed().await.map_err(words)?;
    let mut other = multiplexed().await.map_err(words)?;
    let mut seen = Vec::new();
    for disturbed in [false, true] {
        cmd("WATCH").arg("rs:w").exec_async(&mut mine).await.map_err(words)?;
        if disturbed {
            let _: () = other.set("rs:w", "theirs").await.map_err(words)?;
        }
        let mut line = pipe();
        line.atomic().cmd("SET").arg("rs:w").arg("mine");
        seen.push(line.query_async::<Option<(String,)>>(&mut mine).await.map_err(words)?);
    }
    same(seen, [Some(("OK",)), None])
}

async fn blocking() -> Checked {
    let client = gateway("");
    let mut pusher = multiplexed().await.map_err(words)?;
    let waiter = tokio::spawn(async move {
        let mut waiting = client.get_connection_manager_with_config(patient()).await?;
        waiting.blpop::<_, Option<(String, String)>>("rs:queue", 5.0).await
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let _: i64 = pusher.rpush("rs:queue", "job").await.map_err(words)?;
    let got = waiter.await.map_err(words)?.map_err(words)?;
    same(got, Some(("rs:queue", "job")))
}

async fn manager_push() -> Checked {
    let (sender, messages) = unbounded_channel();
    let config = patient().set_push_sender(sender).set_automatic_resubscription();
    let client = gateway("?protocol=3");
    let mut manager = client.get_connection_manager_with_config(config).await.map_err(words)?;
    manager.subscribe("rs:news").await.map_err(words)?;
    manager.psubscribe("rs:more*").await.map_err(words)?;
    let counts: (i64, i64) = (
        manager.publish("rs:news", "1").await.map_err(words)?,
        manager.publish("rs:more1", "2").await.map_err(words)?,
    );
    same(counts, (1, 1))?;
    two_messages(messages).await
}

async fn cluster_push() -> Checked {
    let (sender, messages) = unbounded_channel();
    let client = cluster().use_protocol(ProtocolVersion::RESP3).push_sender(sender).build().map_err(words)?;
    let mut c = client.get_async_connection().await.map_err(words)?;
    for channel in ["rs:s1", "rs:s2"] {
        c.ssubscribe(channel).await.map_err(words)?;
        let heard: i64 = cmd("SPUBLISH").arg(channel).arg("1").query_async(&mut c).await.map_err(words)?;
        same(heard, 1)?;
    }
    two_messages(messages).await
}

async fn two_messages(mut messages: UnboundedReceiver<PushInfo>) -> Checked {
    let mut seen = 0;
    while seen < 2 {
        let next = tokio::time::timeout(Duration::from_secs(5), messages.recv()).await;
        let push = next.map_err(|_| format!("{seen} messages came"))?.ok_or("the channel is closed")?;
        seen += usize::from(format!("{}", push.kind).contains("message"));
    }
    Ok(())
}

async fn replicas() -> Checked {
    let client = cluster().read_routing_strategy(RoundRobinReplicaStrategy::new()).build().map_err(words)?;
    let mut c = client.get_async_connection().await.map_err(words)?;
    for i in 0..20 {
        let _: () = c.set(format!("rs:r{i}"), i).await.map_err(words)?;
    }
    // what a follower answers may be up to ten seconds old
    for i in 0..20 {
        let key = format!("rs:r{i}");
        while c.get::<_, Option<i64>>(&key).await.map_err(words)? != Some(i) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

async fn synchronous() -> Checked {
    let job = || -> RedisResult<(i64, i64)> {
        let mut c = cluster().build()?.get_connection()?;
        let mut g = gateway("").get_connection()?;
        cmd("DEL").arg("rs:sync").exec(&mut g)?;
        let mut last = (0, 0);
        for _ in 0..50 {
            last = (cmd("INCR").arg("rs:sync").query(&mut c)?, cmd("INCR").arg("rs:sync").query(&mut g)?);
        }
        Ok(last)
    };
    let last = tokio::task::spawn_blocking(job).await.map_err(words)?.map_err(words)?;
    same(last, (99, 100))
}

async fn users() -> Checked {
    let mut c = multiplexed().await.map_err(words)?;
    let rules = ["SETUSER", "ferris", "on", ">crab", "~rs:*", "&*", "+@all"];
    cmd("ACL").arg(&rules).exec_async(&mut c).await.map_err(words)?;
    let places = place("KVORUM_CLUSTER");
    let url = |secret: &str| format!("redis://ferris:{secret}@{}", places.split(',').next().unwrap());
    let client = ClusterClient::new([url("crab")]).map_err(words)?;
    let mut theirs = client.get_async_connection().await.map_err(words)?;
    let _: () = theirs.set("rs:user", "1").await.map_err(words)?;
    let refused: RedisResult<()> = theirs.set("other", "1").await;
    let wrong = ClusterClient::new([url("lobster")]).map_err(words)?.get_async_connection().await;
    cmd("ACL").arg("DELUSER").arg("ferris").exec_async(&mut c).await.map_err(words)?;
    same((refused.err().map(|e| e.code().map(str::to_owned)), wrong.is_err()), (Some(Some("NOPERM")), true))
}

/// Hears of a shard channel and of one channel for all. After a node has died redis-rs subscribes to all
/// shard channels of a node by one SSUBSCRIBE, which Redis refuses as well when they are of several slots.
pub async fn listener() -> Listener {
    let listener = Listener::new("redis-rs cluster", &SHARDS[..1]);
    let heard = listener.clone();
    let hear = move |push: PushInfo| {
        if let [redis::Value::BulkString(channel), redis::Value::BulkString(text)] = &push.data[..] {
            heard.hear(&String::from_utf8_lossy(channel), &String::from_utf8_lossy(text));
        }
        Ok::<(), redis::aio::SendError>(())
    };
    let client = cluster().use_protocol(ProtocolVersion::RESP3).push_sender(hear).build().expect("a client");
    let mut c = client.get_async_connection().await.expect("a connection");
    c.subscribe(CHANNEL).await.expect("a subscription");
    for shard in &SHARDS[..1] {
        c.ssubscribe(shard).await.expect("a subscription");
    }
    listener.kept_by(c)
}

/// Publishes over and over until everybody has heard of it everywhere.
pub async fn news(text: &'static str, listeners: &[Listener]) {
    let client = cluster().build().expect("a client");
    let mut c = client.get_async_connection().await.expect("a connection");
    for listener in listeners {
        let what = async {
            while let Some(channel) = listener.missing(text) {
                let name = if channel == CHANNEL { "PUBLISH" } else { "SPUBLISH" };
                cmd(name).arg(channel).arg(text).exec_async(&mut c).await.map_err(words)?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Ok(())
        };
        check(&format!("{} is told news {text}", listener.name), what).await;
    }
}

fn counters<C: ConnectionLike + Clone + Send + Sync + 'static>(connection: C) -> (Ask, Ask) {
    let of = |name: &'static str, connection: C| {
        ask(move |key| {
            let mut c = connection.clone();
            async move { cmd(name).arg(key).query_async::<i64>(&mut c).await.map_err(words) }
        })
    };
    (of("INCR", connection.clone()), of("GET", connection))
}

/// Clients that count while leaders move and nodes die.
pub async fn loads() -> Vec<Arc<Load>> {
    let mut all = Vec::new();
    for ((_, protocol), name) in PROTOCOLS.iter().zip(["redis-rs cluster RESP2", "redis-rs cluster RESP3"]) {
        let client = cluster().use_protocol(*protocol).build().expect("a client");
        let (incr, get) = counters(client.get_async_connection().await.expect("a connection"));
        all.push(Load::new(name, incr, get));
    }
    let manager = gateway("").get_connection_manager_with_config(patient()).await.expect("a connection");
    let (incr, get) = counters(manager);
    all.push(Load::new("redis-rs manager", incr, get));
    all
}
