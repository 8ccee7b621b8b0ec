//! Measures how long appends and reads take: `cargo run --release -p journal --example measure [DIRECTORY]`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use event_log::{MemoryAccount, Record, Run, Tag};
use journal::{Entry, Found, Journal, Opened, Options, Resumed, StreamId, StreamWriter, SyncMode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let base = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = base.join(format!("journal-measure-{}", std::process::id()));
    for (sync, count) in [(SyncMode::EverySecond, 200_000), (SyncMode::Full, 200)] {
        appends(&directory, sync, 200, count)?;
    }
    appends(&directory, SyncMode::EverySecond, 64 << 10, 8_000)?;
    replay(&directory)?;
    many_streams(&directory, 2_000)?;
    Ok(())
}

fn options(directory: &Path, sync: SyncMode) -> Options {
    Options { max_bytes_per_stream: 4 << 30, max_bytes: 8 << 30, sync, ..Options::new(directory) }
}

fn id(name: &str) -> StreamId {
    StreamId { name: name.into(), first_sequence: 1 }
}

fn entry(order: u64, records: u64, bytes: &[u8], account: &Arc<MemoryAccount>) -> Entry {
    let each = bytes.len() / usize::try_from(records).unwrap_or(1);
    let record = |(index, bytes)| Record {
        order: order + index,
        sequence: order + index,
        is_numbered: true,
        at_ms: u64::MAX / 2,
        tag: Tag(0),
        mark: 0,
        bytes,
    };
    let records: Vec<_> = (0..records).zip(bytes.chunks(each)).map(record).collect();
    let Some(run) = Run::from_records(&records, account) else {
        unreachable!("the records follow one another")
    };
    Entry::Records { log: 0, run, stream_offset: 0 }
}

fn append(writer: &mut StreamWriter, entry: Entry) -> std::io::Result<()> {
    if writer.wants_segment() {
        writer.start_segment(b"checkpoint")?;
    }
    writer.append(&[entry])
}

fn appends(
    directory: &Path,
    sync: SyncMode,
    bytes: usize,
    count: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let account = MemoryAccount::new(usize::MAX);
    let journal = Journal::open(options(directory, sync))?.journal;
    let mut writer = journal.create(&id("a"), b"")?;
    let data = vec![b'x'; bytes];
    let mut times = Vec::new();
    for order in 1..=count {
        let entry = entry(order, 1, &data, &account);
        let started = Instant::now();
        append(&mut writer, entry)?;
        times.push(started.elapsed());
    }
    let total: Duration = times.iter().sum();
    times.sort();
    let share = |per_mille: usize| times[times.len() * per_mille / 1000];
    let rate = bytes as f64 * count as f64 / total.as_secs_f64() / 1e6;
    println!(
        "append of {bytes} bytes, {sync:?}: mean {:?}, median {:?}, p99 {:?}, p99.9 {:?}, {rate:.0} MB/s",
        total / u32::try_from(count)?,
        share(500),
        share(990),
        share(999),
    );
    drop((writer, journal));
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

fn replay(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    const EVENTS: u64 = 1_000_000;
    let account = MemoryAccount::new(usize::MAX);
    let journal = Journal::open(options(directory, SyncMode::EverySecond))?.journal;
    let mut writer = journal.create(&id("a"), b"")?;
    let data = vec![b'x'; 20 * 200];
    for order in (1..=EVENTS).step_by(20) {
        append(&mut writer, entry(order, 20, &data, &account))?;
    }
    let info = journal.find("a").ok_or("the stream is there")?;
    println!("a stream of {EVENTS} events, {} MB", info.bytes / 1_000_000);
    let mut reader = journal.reader(&info.id)?;
    let (started, mut records, mut most) = (Instant::now(), 0, 0);
    loop {
        let found = reader.read(256 << 10, &account)?;
        most = most.max(account.used());
        if found.is_empty() {
            break;
        }
        for found in found {
            if let Found::Records { run, .. } = found {
                records += run.len() as u64;
            }
        }
    }
    assert_eq!(records, EVENTS);
    println!("read: {:?}, at most {most} bytes of memory", started.elapsed());
    let started = Instant::now();
    for order in (1..EVENTS).step_by(10_000) {
        reader.seek_after_order(order)?;
    }
    println!("seek to an order number: {:?}", started.elapsed() / 100);
    let started = Instant::now();
    for sequence in (1..EVENTS).step_by(10_000) {
        reader.order_of_sequence(sequence)?;
    }
    println!("order of a sequence number: {:?}", started.elapsed() / 100);
    drop((writer, reader, journal));
    for what in ["with", "without"] {
        if what == "without" {
            std::fs::remove_file(directory.join("catalogue.sqlite"))?;
        }
        let started = Instant::now();
        let journal = Journal::open(options(directory, SyncMode::EverySecond))?.journal;
        println!("open {what} catalogue: {:?}", started.elapsed());
        let Resumed { replay, .. } = journal.resume(&id("a"), &account)?;
        println!("resume, {} entries after the checkpoint: {:?}", replay.count(), started.elapsed());
    }
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

fn many_streams(directory: &Path, count: u64) -> Result<(), Box<dyn std::error::Error>> {
    let account = MemoryAccount::new(usize::MAX);
    let started = Instant::now();
    {
        let journal = Journal::open(options(directory, SyncMode::EverySecond))?.journal;
        for index in 0..count {
            let mut writer = journal.create(&id(&format!("instance-{index}")), &[b'l'; 100])?;
            writer.append(&[entry(1, 1, b"hello", &account)])?;
            writer.close()?;
        }
        println!("{count} streams created, written and closed: {:?}", started.elapsed());
    }
    println!("and synced: {:?}", started.elapsed());
    let started = Instant::now();
    let Opened { journal, .. } = Journal::open(options(directory, SyncMode::EverySecond))?;
    println!("opened: {:?}", started.elapsed());
    let started = Instant::now();
    journal.sync_and_retain();
    println!("a round of the background thread with nothing to do: {:?}", started.elapsed());
    let stats = journal.stats();
    println!("memory per stream: {} bytes", stats.memory_bytes / stats.streams);
    drop(journal);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
