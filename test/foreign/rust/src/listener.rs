//! What a client that has subscribed has heard.

use std::any::Any;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// On every node.
pub const CHANNEL: &str = "news";
/// On the leaders of their slots, which are three partitions.
pub const SHARDS: [&str; 3] = ["{1}shard", "{2}shard", "{3}shard"];

#[derive(Clone)]
pub struct Listener {
    pub name: &'static str,
    shards: &'static [&'static str],
    heard: Arc<Mutex<HashSet<(String, String)>>>,
    /// Its client, which ends when it is dropped.
    client: Option<Arc<dyn Any + Send + Sync>>,
}

impl Listener {
    pub fn new(name: &'static str, shards: &'static [&'static str]) -> Self {
        Self { name, shards, heard: Default::default(), client: None }
    }

    pub fn kept_by(mut self, client: impl Any + Send + Sync) -> Self {
        self.client = Some(Arc::new(client));
        self
    }

    pub fn hear(&self, channel: &str, text: &str) {
        self.heard.lock().unwrap().insert((channel.to_owned(), text.to_owned()));
    }

    /// A channel on which it has not heard `text`.
    pub fn missing(&self, text: &str) -> Option<&'static str> {
        let heard = self.heard.lock().unwrap();
        let missing = |channel: &&str| !heard.contains(&(channel.to_string(), text.to_owned()));
        [CHANNEL].into_iter().chain(self.shards.iter().copied()).find(missing)
    }
}
