//! A map of few keys that only grows and is read without a lock. Bounds nothing: whoever fills it does.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustc_hash::FxHashMap;

/// Values are found once they were made; making one copies the map, which is small and soon complete.
#[derive(Debug)]
pub(super) struct Resolved<K, V>(ArcSwap<FxHashMap<K, Arc<V>>>);

impl<K, V> Default for Resolved<K, V> {
    fn default() -> Self {
        Resolved(ArcSwap::default())
    }
}

impl<K: Clone + Eq + Hash, V> Resolved<K, V> {
    /// Looks at the value of `key`, made where it is the first time.
    pub(super) fn with<Q, T>(
        &self,
        key: &Q,
        make: impl Fn() -> V,
        look: impl FnOnce(&Arc<V>) -> T,
    ) -> T
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(value) = self.0.load().get(key) {
            return look(value);
        }
        let made = Arc::new(make());
        self.0.rcu(|map| {
            let mut map = FxHashMap::clone(map);
            // Another thread may have been quicker: its value counts.
            map.entry(key.to_owned()).or_insert_with(|| made.clone());
            map
        });
        look(&self.0.load()[key])
    }

    pub(super) fn len(&self) -> usize {
        self.0.load().len()
    }

    pub(super) fn contains<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.0.load().contains_key(key)
    }

    /// All there are, in order.
    pub(super) fn list(&self) -> Vec<(K, Arc<V>)>
    where
        K: Ord,
    {
        let map = self.0.load();
        let mut list: Vec<_> =
            map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        list.sort_by(|a, b| a.0.cmp(&b.0));
        list
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn whoever_comes_at_once_finds_the_same_value() {
        let map = Resolved::<String, AtomicU64>::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..1_000 {
                        let key = format!("k{}", n % 7);
                        map.with(key.as_str(), AtomicU64::default, |value| {
                            value.fetch_add(1, Relaxed);
                        });
                    }
                });
            }
        });
        let list = map.list();
        assert_eq!((list.len(), list[0].0.as_str()), (7, "k0"));
        assert_eq!(list.iter().map(|(_, value)| value.load(Relaxed)).sum::<u64>(), 4_000);
    }
}
