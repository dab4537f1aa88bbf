//! Threads that serve the connections of a listener between them, each by itself: what one connection does wakes no thread
//! but its own. Know no protocol.

use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// More than this is no faster for any site, and each has a pool of connections to it.
const WORKERS_MAX: usize = 64;

/// They end before the drop of this does, and with them whatever they still serve: it may wait by the timers of the runtime
/// in which this is dropped, and does so no more once that one ends.
#[derive(Debug)]
pub struct Workers {
    runtimes: Vec<Handle>,
    threads: Vec<JoinHandle<()>>,
    stop: CancellationToken,
}

impl Workers {
    /// One for each core.
    ///
    /// # Errors
    /// Where the system has no thread, or no means to wait for sockets, left.
    pub fn start() -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let stop = CancellationToken::new();
        let mut workers = Workers { runtimes: Vec::new(), threads: Vec::new(), stop };
        let count = cores.min(WORKERS_MAX);
        for number in 0..count {
            let stopped = workers.stop.clone();
            let (begun, beginning) = mpsc::sync_channel(1);
            let thread = thread::Builder::new().name(format!("jari-site-{number}"));
            // The runtime is made and dropped there: it must not be dropped within another.
            let thread = thread.spawn(move || {
                let runtime = match Builder::new_current_thread().enable_all().build() {
                    Ok(runtime) => runtime,
                    Err(error) => {
                        _ = begun.send(Err(error));
                        return;
                    }
                };
                _ = begun.send(Ok(runtime.handle().clone()));
                stay_on_a_core(number, count);
                runtime.block_on(stopped.cancelled());
                // A name that is just being looked up is not waited for.
                runtime.shutdown_background();
            })?;
            workers.threads.push(thread);
            workers.runtimes.push(beginning.recv().expect("it says how it began")?);
        }
        Ok(workers)
    }

    /// One at least.
    pub(crate) fn runtimes(&self) -> &[Handle] {
        &self.runtimes
    }
}

/// Puts this thread on a core of its own, where there are as many as workers: two that share one while another does something
/// else make whoever asks wait for both. Where the system shares its cores out by time, as to containers, it chooses them.
#[cfg(target_os = "linux")]
fn stay_on_a_core(number: usize, workers: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let Ok(all) = sched_getaffinity(None) else { return };
    let cores: Vec<_> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect();
    if let (true, Some(core)) = (cores.len() == workers, cores.get(number)) {
        let mut own = CpuSet::new();
        own.set(*core);
        // Anywhere else it works as well.
        _ = sched_setaffinity(None, &own);
    }
}

#[cfg(not(target_os = "linux"))]
fn stay_on_a_core(_number: usize, _workers: usize) {}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop.cancel();
        for thread in self.threads.drain(..) {
            // One that panicked has ended as well.
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn each_has_a_core_of_its_own_where_there_are_as_many() {
        use rustix::thread::sched_getaffinity;

        let all = sched_getaffinity(None).expect("it is known").count();
        let workers = Workers::start().expect("threads");
        let shared = all as usize != workers.runtimes().len();
        for runtime in workers.runtimes() {
            let own = runtime.spawn(async { sched_getaffinity(None) }).await.expect("it runs");
            assert_eq!(own.expect("it is known").count(), if shared { all } else { 1 });
        }
    }

    #[tokio::test]
    async fn each_is_a_thread_of_its_own_and_ends_with_them() {
        let workers = Workers::start().expect("threads");
        let mut seen = Vec::new();
        for runtime in workers.runtimes() {
            let name = async { thread::current().name().map(str::to_owned) };
            seen.push(runtime.spawn(name).await.expect("it runs").expect("a name"));
        }
        let want: Vec<_> = (0..seen.len()).map(|number| format!("jari-site-{number}")).collect();
        assert_eq!(seen, want);
        let (held, ended) = oneshot::channel::<()>();
        workers.runtimes()[0].spawn(async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        let threads = workers.threads.len();
        drop(workers);
        assert_eq!(threads, seen.len());
        assert!(ended.now_or_never().is_some_and(|ended| ended.is_err()), "it was dropped before");
    }
}
