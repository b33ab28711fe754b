//! fred: clustered, with its subscriber client, and centralized at a gateway. Not tried are its replicas,
//! each of which it takes for that of one primary: it goes in circles until its time is over.

use crate::checks::{check, same, words, Checked};
use crate::listener::{Listener, CHANNEL, SHARDS};
use crate::load::{ask, Ask, Load};
use crate::trouble::place;
use fred::clients::SubscriberClient;
use fred::prelude::*;
use fred::types::RespVersion;
use futures_util::TryStreamExt;
use std::sync::Arc;
use std::time::Duration;

fn builder(url: String, version: RespVersion) -> Builder {
    let mut builder = Builder::from_config(Config::from_url(&url).expect("a place"));
    builder.with_config(|config| config.version = version);
    builder.with_performance_config(|config| config.default_command_timeout = Duration::from_secs(10));
    builder.set_policy(ReconnectPolicy::new_constant(0, 100));
    builder
}

fn clustered(version: RespVersion) -> Builder {
    let places = place("KVORUM_CLUSTER");
    let (first, others) = places.split_once(',').expect("several places");
    let nodes: Vec<String> = others.split(',').map(|at| format!("node={at}")).collect();
    builder(format!("redis-cluster://{first}?{}", nodes.join("&")), version)
}

fn centralized(version: RespVersion) -> Builder {
    let places = place("KVORUM_GATEWAYS");
    builder(format!("redis://{}", places.split(',').next().unwrap()), version)
}

async fn open(builder: Builder) -> Client {
    let client = builder.build().expect("a client");
    client.init().await.expect("a connection");
    client
}

pub async fn checks() {
    for version in [RespVersion::RESP2, RespVersion::RESP3] {
        for (name, builder) in
            [("cluster", clustered(version.clone())), ("gateway", centralized(version.clone()))]
        {
            let client = open(builder).await;
            check(&format!("fred {name}, commands, {version:?}"), commands(&client)).await;
            check(&format!("fred {name}, transactions, {version:?}"), transactions(&client)).await;
        }
    }
    let subscriber = clustered(RespVersion::RESP3).build_subscriber_client().expect("a client");
    check("fred cluster, subscriptions", subscriptions(subscriber)).await;
    check("fred cluster, scan", scan()).await;
}

async fn commands(c: &Client) -> Checked {
    all_commands(c).await.map_err(words)?
}

async fn all_commands(c: &Client) -> Result<Checked, Error> {
    let _: () = c.del(vec!["{fred}h", "{fred}l", "{fred}z"]).await?;
    let _: () = c.set("fred:a", "1", Some(Expiration::EX(100)), Some(SetOptions::NX), false).await?;
    let _: i64 = c.hset("{fred}h", vec![("a", "1"), ("b", "2")]).await?;
    let fields: Vec<Option<String>> = c.hmget("{fred}h", vec!["a", "b", "c"]).await?;
    let _: i64 = c.rpush("{fred}l", vec!["1", "2"]).await?;
    let popped: Option<(String, String)> = c.blpop("{fred}l", 1.0).await?;
    let _: i64 = c.zadd("{fred}z", None, None, false, false, vec![(1.5, "x"), (2.0, "y")]).await?;
    let scores: Vec<(String, f64)> = c.zrange("{fred}z", 0, -1, None, false, None, true).await?;
    let wrong = c.incr::<i64, _>("{fred}h").await.err().map(|error| error.details().starts_with("WRONGTYPE"));
    let line = c.pipeline();
    for i in 0..50 {
        line.set::<(), _, _>(format!("fred:p{i}"), i, None, None, false).await?;
    }
    let done: Vec<String> = line.all().await?;
    let large: String = "x".repeat(4 << 20);
    let _: () = c.set("fred:large", large.as_str(), None, None, false).await?;
    let length: String = c.get("fred:large").await?;
    Ok(same(
        (fields, popped, scores, wrong, done.len(), length == large),
        (
            [Some("1"), Some("2"), None],
            Some(("{fred}l", "1")),
            [("x", 1.5), ("y", 2.0)],
            Some(true),
            50,
            true,
        ),
    ))
}

async fn transactions(c: &Client) -> Checked {
    let line = c.multi();
    line.set::<(), _, _>("{fred}t", 1, None, None, false).await.map_err(words)?;
    line.incr::<(), _>("{fred}t").await.map_err(words)?;
    same(line.exec::<(String, i64)>(true).await.map_err(words)?, ("OK", 2))
}

async fn subscriptions(subscriber: SubscriberClient) -> Checked {
    subscriber.init().await.map_err(words)?;
    let mut messages = subscriber.message_rx();
    let _task = subscriber.manage_subscriptions();
    subscriber.subscribe("fred:news").await.map_err(words)?;
    subscriber.psubscribe("fred:more*").await.map_err(words)?;
    let shards = ["{1}fred", "{2}fred", "{3}fred"];
    for shard in shards {
        subscriber.ssubscribe(shard).await.map_err(words)?;
    }
    let publisher = open(clustered(RespVersion::RESP3)).await;
    publisher.publish::<(), _, _>("fred:news", "1").await.map_err(words)?;
    publisher.publish::<(), _, _>("fred:more1", "2").await.map_err(words)?;
    for shard in shards {
        publisher.spublish::<(), _, _>(shard, "3").await.map_err(words)?;
    }
    for seen in 0..5 {
        let next = tokio::time::timeout(Duration::from_secs(5), messages.recv()).await;
        next.map_err(|_| format!("{seen} of 5 messages came"))?.map_err(words)?;
    }
    Ok(())
}

async fn scan() -> Checked {
    let c = open(clustered(RespVersion::RESP2)).await;
    let found: Vec<Key> =
        c.scan_cluster_buffered("fred:p*", Some(7), None).try_collect().await.map_err(words)?;
    same(found.len(), 50)
}

/// Hears of shard channels and of one channel for all. fred subscribes again for new connections only, and
/// makes none when nodes that it is connected to lead a dead node's slots: it is not asked after that.
pub async fn listener() -> Listener {
    let listener = Listener::new("fred cluster", &SHARDS);
    let heard = listener.clone();
    let subscriber = clustered(RespVersion::RESP3).build_subscriber_client().expect("a client");
    subscriber.init().await.expect("a connection");
    let mut messages = subscriber.message_rx();
    tokio::spawn(async move {
        while let Ok(message) = messages.recv().await {
            heard.hear(&message.channel, &message.value.convert::<String>().unwrap_or_default());
        }
    });
    let _task = subscriber.manage_subscriptions();
    subscriber.subscribe(CHANNEL).await.expect("a subscription");
    for shard in SHARDS {
        subscriber.ssubscribe(shard).await.expect("a subscription");
    }
    listener.kept_by(subscriber)
}

fn counters(client: Client) -> (Ask, Ask) {
    let reader = client.clone();
    let incr = ask(move |key| {
        let c = client.clone();
        async move { c.incr::<i64, _>(key).await.map_err(words) }
    });
    let get = ask(move |key| {
        let c = reader.clone();
        async move { c.get::<i64, _>(key).await.map_err(words) }
    });
    (incr, get)
}

/// Clients that count while leaders move and nodes die.
pub async fn loads() -> Vec<Arc<Load>> {
    let (incr, get) = counters(open(clustered(RespVersion::RESP3)).await);
    let (gateway_incr, gateway_get) = counters(open(centralized(RespVersion::RESP2)).await);
    vec![Load::new("fred cluster", incr, get), Load::new("fred gateway", gateway_incr, gateway_get)]
}
