//! Subscriptions and watches: how the far side feeds a channel, and how the near side reads it.

use std::sync::Arc;

use acp_instances::{BoxFuture, Error, Subscription, Update, Watch, Watched};
use event_log::MemoryAccount;
use tokio::sync::mpsc;

use crate::command::{Frame, WireSubscription, unavailable};
use crate::wire::WireUpdate;

/// A stream of the engine whose items can be sent to the near side.
pub(crate) trait Source: Send {
    /// The item sent to the near side.
    type Item: Send;

    /// Waits for the next item; `None` at the end.
    fn pull(&mut self) -> BoxFuture<'_, Option<Result<Self::Item, Error>>>;
}

impl Source for Box<dyn Subscription + '_> {
    type Item = Vec<WireUpdate>;

    fn pull(&mut self) -> BoxFuture<'_, Option<Result<Self::Item, Error>>> {
        let copy = |updates: Vec<Update>| updates.into_iter().map(WireUpdate::copy).collect();
        Box::pin(async move { self.next().await.map(|updates| updates.map(copy)) })
    }
}

impl Source for Box<dyn Watch + '_> {
    type Item = Watched;

    fn pull(&mut self) -> BoxFuture<'_, Option<Result<Watched, Error>>> {
        self.next()
    }
}

/// Feeds a stream to its reader until either is gone. An item is requested only when the reader has room.
pub(crate) async fn feed<S: Source>(mut source: S, reader: mpsc::Sender<Frame<S::Item>>) {
    while let Ok(room) = reader.reserve().await {
        let item = tokio::select! {
            item = source.pull() => item,
            () = reader.closed() => return,
        };
        match item {
            Some(item) => room.send(Frame::Item(item)),
            None => return room.send(Frame::End),
        }
    }
}

/// The near side's end of a stream.
struct Frames<T> {
    receiver: mpsc::Receiver<Frame<T>>,
    has_ended: bool,
}

impl<T> Frames<T> {
    const fn new(receiver: mpsc::Receiver<Frame<T>>) -> Self {
        Self { receiver, has_ended: false }
    }

    /// Waits for the next item; `None` at the end. If the far side is gone, that is reported once, then the stream
    /// ends.
    async fn next(&mut self) -> Option<Result<T, Error>> {
        if self.has_ended {
            return None;
        }
        let frame = self.receiver.recv().await;
        self.has_ended = !matches!(frame, Some(Frame::Item(_)));
        match frame {
            Some(Frame::Item(item)) => Some(item),
            Some(Frame::End) => None,
            None => Some(Err(unavailable())),
        }
    }
}

/// A subscription on the near side. Dropping it ends the engine's subscription.
pub(crate) struct RemoteSubscription {
    frames: Frames<Vec<WireUpdate>>,
    began_at: u64,
    /// Events are charged to this account while the door holds them.
    account: Arc<MemoryAccount>,
}

impl RemoteSubscription {
    pub(crate) fn boxed(opened: WireSubscription, account: &Arc<MemoryAccount>) -> Box<dyn Subscription> {
        let WireSubscription { began_at, frames } = opened;
        Box::new(Self { frames: Frames::new(frames), began_at, account: Arc::clone(account) })
    }
}

impl Subscription for RemoteSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Update>, Error>>> {
        Box::pin(async {
            let updates = self.frames.next().await?;
            Some(updates.and_then(|updates| {
                updates.into_iter().map(|update| update.into_update(&self.account)).collect()
            }))
        })
    }

    fn began_at(&self) -> u64 {
        self.began_at
    }
}

/// A watch on the near side. Dropping it ends the engine's watch.
pub(crate) struct RemoteWatch(Frames<Watched>);

impl RemoteWatch {
    pub(crate) fn boxed(receiver: mpsc::Receiver<Frame<Watched>>) -> Box<dyn Watch> {
        Box::new(Self(Frames::new(receiver)))
    }
}

impl Watch for RemoteWatch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Watched, Error>>> {
        Box::pin(self.0.next())
    }
}
