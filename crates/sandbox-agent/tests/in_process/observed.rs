//! An engine that wraps the real one and reports how many TCP sockets the process listens on.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Arc;

use acp_instances::{
    AgentRequest, BoxFuture, CreateSpec, Error, FirstExchange, Instances, JournalCursor, Listing, Page,
    SendRequest, Sending, ServerId, Shutdown, Subscribe, SubscribeAll, Subscription, Summary, Watch,
};
use event_log::{MemoryAccount, Reservation};

/// The environment variable with the path of the report.
pub(crate) const REPORT: &str = "IN_PROCESS_TEST_REPORT";

/// Wraps an engine in the observer.
pub(crate) fn observe(instances: Arc<dyn Instances>) -> Arc<dyn Instances> {
    Arc::new(Observed(instances))
}

#[derive(Debug)]
struct Observed(Arc<dyn Instances>);

impl Instances for Observed {
    fn send(&self, request: SendRequest) -> Sending<'_> {
        let path = std::env::var_os(REPORT).unwrap();
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{}", listeners()).unwrap();
        self.0.send(request)
    }

    fn memory(&self) -> &Arc<MemoryAccount> {
        self.0.memory()
    }

    fn reserve(&self, held: &mut Reservation, bytes: usize) -> Result<(), Error> {
        self.0.reserve(held, bytes)
    }

    fn create(&self, spec: CreateSpec) -> BoxFuture<'_, Result<Summary, Error>> {
        self.0.create(spec)
    }

    fn get<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<Summary, Error>> {
        self.0.get(server_id)
    }

    fn list(&self, page: Page) -> BoxFuture<'_, Result<Listing, Error>> {
        self.0.list(page)
    }

    fn subscribe<'a>(
        &'a self,
        server_id: &'a ServerId,
        subscribe: Subscribe,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Subscription>>, Error>> {
        self.0.subscribe(server_id, subscribe)
    }

    fn subscribe_all(&self, subscribe: SubscribeAll) -> BoxFuture<'_, Result<Box<dyn Subscription>, Error>> {
        self.0.subscribe_all(subscribe)
    }

    fn watch(&self, from: JournalCursor) -> BoxFuture<'_, Result<Box<dyn Watch>, Error>> {
        self.0.watch(from)
    }

    fn agent_requests<'a>(
        &'a self,
        server_id: &'a ServerId,
    ) -> BoxFuture<'a, Result<Vec<AgentRequest>, Error>> {
        self.0.agent_requests(server_id)
    }

    fn first_exchange<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<FirstExchange, Error>> {
        self.0.first_exchange(server_id)
    }

    fn forget<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>> {
        self.0.forget(server_id)
    }

    fn close<'a>(&'a self, server_id: &'a ServerId) -> BoxFuture<'a, Result<(), Error>> {
        self.0.close(server_id)
    }

    fn shutdown(&self, how: Shutdown) -> BoxFuture<'_, Result<(), Error>> {
        self.0.shutdown(how)
    }
}

/// How many TCP sockets this process listens on.
fn listeners() -> usize {
    let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets =
        files.filter_map(|file| fs::read_link(file.path()).ok()?.into_os_string().into_string().ok());
    let sockets: HashSet<String> = targets
        .filter_map(|target| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let is_ours = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Field 3 is the state, where 0A is LISTEN; field 9 is the inode of the socket.
        fields.get(3) == Some(&"0A") && fields.get(9).is_some_and(|number| sockets.contains(*number))
    };
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines()).filter(|line| is_ours(line)).count()
}
