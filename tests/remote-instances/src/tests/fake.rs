//! A fake engine: it records calls, and the test decides their results.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use acp_instances::{
    AgentRequest, BoxFuture, CreateSpec, Error, FirstExchange, Instances, JournalCursor, Listing, Outcome,
    Page, Receipt, RequestId, SendRequest, Sending, ServerId, Settled, Shutdown, Subscribe, SubscribeAll,
    Subscription, Summary, Update, Watch,
};
use event_log::{MemoryAccount, Reservation};
use tokio::sync::oneshot;

#[derive(Debug)]
pub(super) struct Fake {
    account: Arc<MemoryAccount>,
    /// The sent messages, each with the sender that settles it.
    pub(super) sent: Mutex<Vec<(SendRequest, oneshot::Sender<Settled>)>>,
    /// The updates of every subscription, one item at a time.
    pub(super) news: Mutex<Vec<Vec<Update>>>,
    /// True if subscriptions wait for more updates at the end, false if they end.
    pub(super) is_endless: AtomicBool,
    /// How often subscriptions were asked for updates.
    pub(super) pulls: Arc<AtomicUsize>,
    /// Every subscription holds one clone, so the number of clones shows how many subscriptions exist.
    pub(super) readers: Arc<()>,
}

impl Fake {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            account: MemoryAccount::new(1 << 20),
            sent: Mutex::default(),
            news: Mutex::default(),
            is_endless: AtomicBool::new(false),
            pulls: Arc::default(),
            readers: Arc::default(),
        })
    }

    pub(super) fn take_sent(&self) -> (SendRequest, oneshot::Sender<Settled>) {
        self.sent.lock().unwrap().remove(0)
    }

    pub(super) fn readers(&self) -> usize {
        Arc::strong_count(&self.readers) - 1
    }

    fn subscription(&self) -> Box<dyn Subscription> {
        let mut news = self.news.lock().unwrap().clone();
        news.reverse();
        let is_endless = self.is_endless.load(Ordering::SeqCst);
        let (pulls, reader) = (Arc::clone(&self.pulls), Arc::clone(&self.readers));
        Box::new(FakeSubscription { news, is_endless, pulls, _reader: reader })
    }
}

struct FakeSubscription {
    news: Vec<Vec<Update>>,
    is_endless: bool,
    pulls: Arc<AtomicUsize>,
    _reader: Arc<()>,
}

impl Subscription for FakeSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Update>, Error>>> {
        self.pulls.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {
            match self.news.pop() {
                None if self.is_endless => std::future::pending().await,
                news => news.map(Ok),
            }
        })
    }

    fn began_at(&self) -> u64 {
        41
    }
}

/// The fake's error for all calls that the tests only pass through.
pub(super) fn unsupported() -> Error {
    Error::Unsupported { what: "this".into() }
}

fn refuse<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, Error>> {
    Box::pin(std::future::ready(Err(unsupported())))
}

impl Instances for Fake {
    fn memory(&self) -> &Arc<MemoryAccount> {
        &self.account
    }

    fn reserve(&self, held: &mut Reservation, bytes: usize) -> Result<(), Error> {
        if held.grow(bytes) { Ok(()) } else { Err(Error::OutOfMemory) }
    }

    fn create(&self, _: CreateSpec) -> BoxFuture<'_, Result<Summary, Error>> {
        refuse()
    }

    fn get<'a>(&'a self, _: &'a ServerId) -> BoxFuture<'a, Result<Summary, Error>> {
        refuse()
    }

    fn list(&self, _: Page) -> BoxFuture<'_, Result<Listing, Error>> {
        refuse()
    }

    fn send(&self, request: SendRequest) -> Sending<'_> {
        let (sender, receiver) = oneshot::channel();
        self.sent.lock().unwrap().push((request, sender));
        let assigned_id = Some(RequestId::number(5));
        let outcome = Outcome::waiting(receiver);
        Sending::Done(Some(Ok(Receipt { position: Some(17), assigned_id, outcome })))
    }

    fn subscribe<'a>(
        &'a self,
        _: &'a ServerId,
        _: Subscribe,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Subscription>>, Error>> {
        Box::pin(async { Ok(Some(self.subscription())) })
    }

    fn subscribe_all(&self, _: SubscribeAll) -> BoxFuture<'_, Result<Box<dyn Subscription>, Error>> {
        Box::pin(async { Ok(self.subscription()) })
    }

    fn watch(&self, _: JournalCursor) -> BoxFuture<'_, Result<Box<dyn Watch>, Error>> {
        refuse()
    }

    fn agent_requests<'a>(&'a self, _: &'a ServerId) -> BoxFuture<'a, Result<Vec<AgentRequest>, Error>> {
        refuse()
    }

    fn first_exchange<'a>(&'a self, _: &'a ServerId) -> BoxFuture<'a, Result<FirstExchange, Error>> {
        refuse()
    }

    fn forget<'a>(&'a self, _: &'a ServerId) -> BoxFuture<'a, Result<(), Error>> {
        refuse()
    }

    fn close<'a>(&'a self, _: &'a ServerId) -> BoxFuture<'a, Result<(), Error>> {
        refuse()
    }

    fn shutdown(&self, _: Shutdown) -> BoxFuture<'_, Result<(), Error>> {
        refuse()
    }
}
