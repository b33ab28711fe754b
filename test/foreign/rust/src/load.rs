//! Counters that one client increments while the cluster is in trouble, and what must be true of them.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const KEYS: usize = 32;
const LOOPS: usize = 2;
const PAUSE: Duration = Duration::from_millis(5);

type Answer = Pin<Box<dyn Future<Output = Result<i64, String>> + Send>>;
/// `INCR key`, or `GET key`, of one client.
pub type Ask = Box<dyn Fn(String) -> Answer + Send + Sync>;

/// Makes an `Ask` of an asynchronous function.
pub fn ask<F>(function: impl Fn(String) -> F + Send + Sync + 'static) -> Ask
where
    F: Future<Output = Result<i64, String>> + Send + 'static,
{
    Box::new(move |key| Box::pin(function(key)))
}

#[derive(Default)]
struct Seen {
    /// How many increments of a key were acknowledged, and the last of them.
    keys: HashMap<String, (i64, i64)>,
    failures: Vec<String>,
    wrong: Vec<String>,
}

pub struct Load {
    pub name: &'static str,
    incr: Ask,
    get: Ask,
    seen: Mutex<Seen>,
    stopped: AtomicBool,
}

impl Load {
    pub fn new(name: &'static str, incr: Ask, get: Ask) -> Arc<Self> {
        let (seen, stopped) = Default::default();
        Arc::new(Self { name, incr, get, seen, stopped })
    }

    /// Works until `job`, which blocks, is done.
    pub async fn during(all: &[Arc<Load>], job: impl FnOnce() + Send + 'static) {
        let mut loops = Vec::new();
        for load in all {
            load.stopped.store(false, Ordering::SeqCst);
            load.seen.lock().unwrap().failures.clear();
            loops.extend((0..LOOPS).map(|i| tokio::spawn(load.clone().work(i))));
        }
        tokio::task::spawn_blocking(job).await.expect("the job is done");
        all.iter().for_each(|load| load.stopped.store(true, Ordering::SeqCst));
        for one in loops {
            one.await.expect("a loop ends");
        }
    }

    async fn work(self: Arc<Self>, which: usize) {
        for n in 0.. {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            let key = format!("{}:{which}:{}", self.name, n % KEYS);
            let answer = (self.incr)(key.clone()).await;
            self.note(key, answer);
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn note(&self, key: String, answer: Result<i64, String>) {
        let mut seen = self.seen.lock().unwrap();
        match answer {
            Err(why) => seen.failures.push(why),
            Ok(value) => {
                let (count, last) = seen.keys.get(&key).copied().unwrap_or_default();
                if value <= last {
                    seen.wrong.push(format!("{key} went from {last} to {value}"));
                }
                seen.keys.insert(key, (count + 1, value));
            }
        }
    }

    pub fn failures(&self) -> Vec<String> {
        self.seen.lock().unwrap().failures.clone()
    }

    /// How much was acknowledged, if nothing of it is lost and no more than `may_repeat` too much.
    pub async fn judge(&self, may_repeat: i64) -> Result<i64, String> {
        let keys = self.seen.lock().unwrap().keys.clone();
        let (mut acknowledged, mut counted) = (0, 0);
        for (key, (count, last)) in keys {
            let value = (self.get)(key.clone()).await?;
            if value < last {
                return Err(format!("{key} was {last} and is {value}"));
            }
            acknowledged += count;
            counted += value;
        }
        let within = (acknowledged..=acknowledged + may_repeat).contains(&counted);
        match self.seen.lock().unwrap().wrong.first() {
            Some(wrong) => Err(wrong.clone()),
            None if within => Ok(acknowledged),
            None => Err(format!("{acknowledged} acknowledged, {counted} counted")),
        }
    }
}
