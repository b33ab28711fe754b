//! What is printed of each thing that was tried.

use std::fmt::Display;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SECONDS: u64 = 30;
static FAILED: AtomicUsize = AtomicUsize::new(0);

pub type Checked = Result<(), String>;

/// Tries one thing, for half a minute at most.
pub async fn check(name: &str, what: impl Future<Output = Checked>) {
    let time = Duration::from_secs(SECONDS);
    let late = || Err(format!("nothing came of it for {SECONDS} s"));
    say(name, tokio::time::timeout(time, what).await.unwrap_or_else(|_| late()));
}

pub fn say(name: &str, checked: Checked) {
    match checked {
        Ok(()) => println!("ok {name}"),
        Err(why) => {
            FAILED.fetch_add(1, Ordering::SeqCst);
            println!("not ok {name}: {}", why.replace('\n', " "));
        }
    }
}

pub fn failed() -> bool {
    FAILED.load(Ordering::SeqCst) > 0
}

/// An error's words.
pub fn words(error: impl Display) -> String {
    error.to_string()
}

/// Compares by what `Debug` prints.
pub fn same<A: std::fmt::Debug, B: std::fmt::Debug>(actual: A, expected: B) -> Checked {
    let (actual, expected) = (format!("{actual:?}"), format!("{expected:?}"));
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{actual} instead of {expected}"))
    }
}
