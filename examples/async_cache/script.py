"""The lines of the script: a cache that is right, two drafts that are not, and the tests."""

RIGHT = """\
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

enum Slot<V> {
    Loading(Vec<Waker>),
    Ready(V),
}

/// A cache for values that take time to load.
pub struct Cache<K: Eq + Hash + Clone, V> {
    slots: Mutex<HashMap<K, Slot<V>>>,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    pub fn new() -> Self {
        Cache { slots: Mutex::new(HashMap::new()) }
    }

    /// Return the value of a key. The first one that asks loads it, the others wait.
    pub async fn get<F: Future<Output = V>>(&self, key: K, load: impl FnOnce() -> F) -> V {
        if let Some(value) = poll_fn(|context| self.claim(&key, context)).await {
            return value;
        }
        let mut claim = Claim { cache: self, key, value: None };
        let value = load().await;
        claim.value = Some(value.clone());
        value
    }

    fn claim(&self, key: &K, context: &mut Context) -> Poll<Option<V>> {
        let mut slots = self.slots.lock().unwrap();
        match slots.get_mut(key) {
            Some(Slot::Ready(value)) => return Poll::Ready(Some(value.clone())),
            Some(Slot::Loading(waiting)) => waiting.push(context.waker().clone()),
            None => {
                slots.insert(key.clone(), Slot::Loading(Vec::new()));
                return Poll::Ready(None);
            }
        }
        Poll::Pending
    }
}

/// The right to load a key. If it is dropped without a value, another one may load.
struct Claim<'a, K: Eq + Hash + Clone, V> {
    cache: &'a Cache<K, V>,
    key: K,
    value: Option<V>,
}

impl<K: Eq + Hash + Clone, V> Drop for Claim<'_, K, V> {
    fn drop(&mut self) {
        let mut slots = self.cache.slots.lock().unwrap();
        let before = slots.remove(&self.key);
        if let Some(value) = self.value.take() {
            slots.insert(self.key.clone(), Slot::Ready(value));
        }
        drop(slots);
        if let Some(Slot::Loading(waiting)) = before {
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}
"""
MOVED = RIGHT.replace("Some(value.clone());\n        value\n", "Some(value);\n        value\n")
"""Does not compile: the value is used after it was moved."""
NAIVE = """\
use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Mutex;

pub struct Cache<K, V> {
    values: Mutex<HashMap<K, V>>,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    pub fn new() -> Self {
        Cache { values: Mutex::new(HashMap::new()) }
    }

    pub async fn get<F: Future<Output = V>>(&self, key: K, load: impl FnOnce() -> F) -> V {
        let found = self.values.lock().unwrap().get(&key).cloned();
        if let Some(value) = found {
            return value;
        }
        let value = load().await;
        self.values.lock().unwrap().insert(key, value.clone());
        value
    }
}
"""
"""Loads a key twice if two ask for it at the same time."""
TESTS = """\
use super::*;
use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

async fn slow(loads: &Cell<u32>) -> u32 {
    loads.set(loads.get() + 1);
    let mut asked = false;
    poll_fn(|_| if std::mem::replace(&mut asked, true) { Poll::Ready(7) } else { Poll::Pending }).await
}

#[test]
fn two_that_ask_at_the_same_time_load_once() {
    let (cache, loads) = (Cache::new(), Cell::new(0));
    let mut context = Context::from_waker(Waker::noop());
    let mut first = Box::pin(cache.get("a", || slow(&loads)));
    let mut second = Box::pin(cache.get("a", || slow(&loads)));
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert_eq!(first.as_mut().poll(&mut context), Poll::Ready(7));
    assert_eq!(second.as_mut().poll(&mut context), Poll::Ready(7));
    assert_eq!(loads.get(), 1);
}

#[test]
fn a_load_that_was_dropped_is_begun_again() {
    let (cache, loads) = (Cache::new(), Cell::new(0));
    let mut context = Context::from_waker(Waker::noop());
    let mut first = Box::pin(cache.get("a", || slow(&loads)));
    assert!(first.as_mut().poll(&mut context).is_pending());
    drop(first);
    let mut second = Box::pin(cache.get("a", || slow(&loads)));
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert_eq!(second.as_mut().poll(&mut context), Poll::Ready(7));
    assert_eq!(loads.get(), 2);
}
"""
