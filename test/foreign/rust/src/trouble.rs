//! What happens to the cluster while clients work: leaders are transferred, nodes are killed.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

pub const NODES: [&str; 3] = ["datanode1", "datanode2", "datanode3"];
const CALM: Duration = Duration::from_secs(60);

pub fn place(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// Hands the leader of one partition after the other to another node.
pub fn transfer_leaders(time: Duration) {
    let end = Instant::now() + time;
    for turn in 0.. {
        for partition in 0..partitions().len() {
            if Instant::now() > end {
                return;
            }
            let path = format!("/v1/namespaces/default/partitions/{partition}/transfer-leader");
            let body = format!("{{\"to\":\"{}\"}}", NODES[(partition + turn) % 3]);
            // refused where that node leads already
            let _ = ask("POST", &path, &body);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// `kill -9`, and returns when the supervisor has it back and all is as it should be.
pub fn kill(node: &str) {
    let dead = process_of(node).expect("the node runs");
    let killed = Command::new("kill").args(["-9", &dead.to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()), "{node} can't be killed");
    wait_until(|| process_of(node).is_some_and(|id| id != dead));
    wait_until(is_calm);
}

fn wait_until(holds: impl Fn() -> bool) {
    let end = Instant::now() + CALM;
    while !holds() {
        assert!(Instant::now() < end, "the cluster does not come to rest");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Every node is there, every partition led by the first of its replicas.
fn is_calm() -> bool {
    let nodes = ask("GET", "/v1/nodes", "").unwrap_or_default();
    let alive = |node: &Value| node["alive"] == true;
    let led = |one: &Value| one["settled"] == true && one["leader"]["node"] == one["wanted"][0]["node"];
    let partitions = partitions();
    !partitions.is_empty()
        && partitions.iter().all(led)
        && nodes["nodes"].as_array().is_some_and(|nodes| nodes.iter().all(alive))
}

fn partitions() -> Vec<Value> {
    let answer = ask("GET", "/v1/namespaces/default/partitions", "").unwrap_or_default();
    answer["partitions"].as_array().cloned().unwrap_or_default()
}

/// Its process id, and none while it has no process.
fn process_of(node: &str) -> Option<u64> {
    let path = format!("{}/run/{node}.json", place("KVORUM_DIRECTORY"));
    let text = std::fs::read_to_string(path).ok()?;
    serde_json::from_str::<Value>(&text).ok()?["pid"].as_u64()
}

/// HTTP/1.0, so that what is answered ends with the connection.
fn ask(method: &str, path: &str, body: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(place("KVORUM_HTTP")).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let about = format!("content-type: application/json\r\ncontent-length: {}", body.len());
    write!(stream, "{method} {path} HTTP/1.0\r\n{about}\r\n\r\n{body}").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
}
