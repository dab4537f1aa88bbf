//! Calls by route: how many are under way, and how long those took that were answered. A call costs a look into a map of
//! routes, and no lock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use super::families::{Families, Labels};
use super::latency::{CALL_BUCKETS_S, Latency};
use super::resolved::Resolved;

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Templates of the router, so there are as many as it has lines.
    routes: Resolved<String, RouteCalls>,
}

#[derive(Debug, Default)]
pub(super) struct RouteCalls {
    under_way: Arc<AtomicI64>,
    /// By method and status; both are our own words.
    answered: Resolved<(&'static str, u16), Latency>,
}

impl Calls {
    /// The count of calls of `route` under way.
    pub(super) fn under_way(&self, route: &str) -> Arc<AtomicI64> {
        self.routes.with(route, RouteCalls::default, |calls| calls.under_way.clone())
    }

    pub(super) fn answered(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        self.routes.with(route, RouteCalls::default, |calls| {
            let latency = || Latency::new(CALL_BUCKETS_S);
            calls.answered.with(&(method, status), latency, |latency| latency.note(took));
        });
    }

    pub(super) fn write(&self, families: &mut Families<'_>) -> fmt::Result {
        let routes = self.routes.list();
        let name =
            ("jari_call_duration_seconds", "From the head of a request to the head of its answer");
        let answered = routes.iter().flat_map(|(route, calls)| {
            calls.answered.list().into_iter().map(|((method, status), latency)| {
                let labels: Labels = vec![
                    ("method", method.into()),
                    ("route", route.clone().into()),
                    ("status", status.to_string().into()),
                ];
                (labels, latency.snapshot())
            })
        });
        families.histograms(name, answered)?;
        let under_way = routes.iter().map(|(route, calls)| {
            let count = calls.under_way.load(Relaxed);
            (vec![("route", route.clone().into())], count as f64)
        });
        families.gauges(("jari_calls_in_flight", "Requests being worked on"), under_way)
    }
}
