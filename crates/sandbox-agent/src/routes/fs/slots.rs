//! How many archives are packed and unpacked at the same time.
//!
//! Each needs a thread for as long as its transfer takes. One that waits for its client keeps the thread, but lets another
//! one work meanwhile.

use std::sync::Arc;
use std::time::Duration;

use event_log::{MemoryAccount, Reservation};
use http_server::{Code, Problem};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many archives are worked on at the same time.
const WORKING: usize = 64;
/// How many archives are being transferred. The others wait: requests of other kinds need threads too.
const TRANSFERRED: usize = 128;
/// What packing or unpacking an archive takes: its thread, its buffers and the state of the compression.
const ARCHIVE_BYTES: usize = 2 << 20;
/// How long a request waits for its turn. Longer than a client may take nothing, by default.
const TURN_LIMIT: Duration = Duration::from_secs(120);
/// When to try again.
const RETRY_SECONDS: u32 = 10;

/// Room for archives. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    working: Arc<Semaphore>,
    transferred: Arc<Semaphore>,
    memory: Arc<MemoryAccount>,
}

impl Slots {
    pub(super) fn new(memory: &Arc<MemoryAccount>) -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        let (working, transferred) = (semaphore(WORKING), semaphore(TRANSFERRED));
        Self { working, transferred, memory: Arc::clone(memory) }
    }

    /// Waits for room to transfer an archive.
    ///
    /// # Errors
    /// 503 when there is none in time.
    pub(super) async fn take(&self) -> Result<Slot, Problem> {
        let both = async {
            let transfer = Arc::clone(&self.transferred).acquire_owned().await;
            (transfer, Arc::clone(&self.working).acquire_owned().await)
        };
        let (transfer, work) = tokio::time::timeout(TURN_LIMIT, both).await.map_err(|_| full())?;
        // The semaphores are never closed, so both permits are there.
        Ok(Slot {
            working: Arc::clone(&self.working),
            work: work.ok(),
            _transfer: transfer.ok(),
            _memory: Reservation::unrefused(&self.memory, ARCHIVE_BYTES),
        })
    }
}

fn full() -> Problem {
    let detail = format!("{TRANSFERRED} archives are being transferred, and none has ended; try again later");
    Problem::new(Code::OutOfResources, detail).retry_after(RETRY_SECONDS)
}

/// Room for one archive.
#[derive(Debug)]
pub(super) struct Slot {
    working: Arc<Semaphore>,
    work: Option<OwnedSemaphorePermit>,
    _transfer: Option<OwnedSemaphorePermit>,
    _memory: Reservation,
}

impl Slot {
    /// Lets another archive be worked on while this one waits for its client. Call it on a blocking thread.
    pub(super) fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        self.work = None;
        let result = wait();
        self.work = Handle::current().block_on(Arc::clone(&self.working).acquire_owned()).ok();
        result
    }
}
