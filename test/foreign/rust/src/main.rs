//! redis-rs and fred against a cluster: what users do with them, then counters while leaders move and nodes
//! die. Not tried, because kvorum has none of it: functions, client tracking and caches.

mod checks;
mod fred_rs;
mod listener;
mod load;
mod redis_rs;
mod trouble;

use checks::{failed, say, Checked};
use load::Load;
use std::sync::Arc;
use std::time::Duration;

/// Of each client and killed node: what was on its way may have been carried out, and sent again.
const MAY_REPEAT: i64 = 4;

#[tokio::main]
async fn main() {
    redis_rs::checks().await;
    fred_rs::checks().await;
    let mut loads = redis_rs::loads().await;
    loads.extend(fred_rs::loads().await);
    let listeners = [redis_rs::listener().await, fred_rs::listener().await];
    redis_rs::news("at first", &listeners).await;
    leaders_move(&loads).await;
    redis_rs::news("after leaders moved", &listeners).await;
    nodes_die(&loads).await;
    redis_rs::news("after nodes died", &listeners[..1]).await;
    Load::during(&loads, || std::thread::sleep(Duration::from_secs(2))).await;
    for load in &loads {
        say(&format!("{} goes on afterwards", load.name), unhurt(load));
    }
    std::process::exit(i32::from(failed()));
}

/// A transfer breaks no connection: nothing fails, and what was acknowledged is what was counted.
async fn leaders_move(loads: &[Arc<Load>]) {
    Load::during(loads, || trouble::transfer_leaders(Duration::from_secs(15))).await;
    for load in loads {
        let judged = load.judge(0).await;
        say(&format!("{} while leaders move", load.name), unhurt(load).and(judged.map(drop)));
    }
}

async fn nodes_die(loads: &[Arc<Load>]) {
    let mut lost = vec![0; loads.len()];
    for node in trouble::NODES {
        Load::during(loads, move || trouble::kill(node)).await;
        for (count, load) in lost.iter_mut().zip(loads) {
            *count += MAY_REPEAT + load.failures().len() as i64;
        }
    }
    for (may_repeat, load) in lost.into_iter().zip(loads) {
        let judged = load.judge(may_repeat).await;
        println!("{}: {judged:?} acknowledged, {may_repeat} may be unknown", load.name);
        say(&format!("{} while nodes die", load.name), judged.map(drop));
    }
}

fn unhurt(load: &Load) -> Checked {
    load.failures().first().map_or(Ok(()), |why| Err(why.clone()))
}
