//! A command on its way through the writer: work on the rooms now, the answer after the commit.

use jari_ports::StoreError;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::checkpointer::Written;
use crate::lines::Lines;

/// What reaches the writer.
pub(crate) enum Message {
    Run(Box<dyn Job>),
    /// From the checkpoint thread.
    Written(Written),
    /// Finish what came before, then end.
    Stop,
}

pub(crate) trait Job: Send {
    fn run(&mut self, lines: &mut Lines);
    /// Answers: with the work's outcome where the commit held, else with why it did not.
    fn settle(self: Box<Self>, commit: Result<(), &StoreError>);
}

/// The one implementation: a closure, its outcome and who waits for it.
pub(crate) struct Call<F, T> {
    work: Option<F>,
    outcome: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
    /// A place in the queue, given back with the answer.
    _permit: OwnedSemaphorePermit,
}

impl<F, T> Call<F, T>
where
    F: FnOnce(&mut Lines) -> Result<T, StoreError> + Send,
    T: Send,
{
    pub(crate) fn new(
        work: F,
        permit: OwnedSemaphorePermit,
    ) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (answer, receiver) = oneshot::channel();
        (Call { work: Some(work), outcome: None, answer, _permit: permit }, receiver)
    }
}

impl<F, T> Job for Call<F, T>
where
    F: FnOnce(&mut Lines) -> Result<T, StoreError> + Send,
    T: Send,
{
    fn run(&mut self, lines: &mut Lines) {
        if let Some(work) = self.work.take() {
            self.outcome = Some(work(lines));
        }
    }

    fn settle(self: Box<Self>, commit: Result<(), &StoreError>) {
        let answer = match commit {
            Ok(()) => self.outcome.expect("a job runs before it is settled as committed"),
            Err(error) => Err(error.clone()),
        };
        // Who asked may have gone: the work stands all the same.
        let _ = self.answer.send(answer);
    }
}
