//! The rules for what a reader may receive: every event once and in order, or a gap. No I/O; the rules have unit
//! tests.

use std::collections::HashMap;

use serde_json::Value;

/// One server-sent event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Vec<u8>,
    pub(crate) comment: String,
}

/// What a reader follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// The messages of one instance. Their ids are sequence numbers.
    Messages,
    /// Both directions of one instance. The ids are order numbers, and a comment has the sequence number.
    Journal,
    /// All instances. The ids are order numbers, and each payload has its instance and sequence number.
    Many,
}

/// A numbered event: the instance, where the stream shows it, and the sequence number.
pub(crate) type Number = (Option<String>, u64);

/// A reader's position over all of its connections.
#[derive(Debug)]
pub(crate) struct Position {
    view: View,
    /// The id to resume from.
    cursor: u64,
    /// The sequence numbers received last, by instance.
    last: HashMap<Option<String>, u64>,
    /// Retained requests may come now: those after the first number and before the second one.
    retained: Option<(u64, u64)>,
    /// The last index of each burst of an agent.
    bursts: HashMap<u64, u64>,
    /// The last event was an exit. Only then may the server end the stream of an instance; if the process was started
    /// again meanwhile, the stream goes on.
    has_exited: bool,
}

impl Position {
    pub(crate) fn new(view: View) -> Self {
        let retained = Some((0, u64::MAX));
        Self { view, cursor: 0, last: HashMap::new(), retained, bursts: HashMap::new(), has_exited: false }
    }

    /// The value of `Last-Event-ID`; empty before the first event.
    pub(crate) fn cursor(&self) -> String {
        match (self.cursor, self.view) {
            (0, _) => String::new(),
            (number, View::Messages) => number.to_string(),
            (number, View::Journal | View::Many) => format!("j{number}"),
        }
    }

    /// Records that the server has ended the stream. `Err` if it must not end there.
    pub(crate) fn end(&self) -> Result<(), String> {
        let is_allowed = self.has_exited && self.view != View::Many;
        is_allowed.then_some(()).ok_or_else(|| "the stream ended without `exit`".to_owned())
    }

    /// Records that a new connection resumes where the previous one was cut.
    pub(crate) fn resume(&mut self) {
        self.retained = (self.cursor == 0).then_some((0, u64::MAX));
        self.has_exited = false;
    }

    /// Receives an event. Returns its number if it has one; `Err` says which rule it breaks.
    pub(crate) fn receive(&mut self, event: &Event) -> Result<Option<Number>, String> {
        self.has_exited = event.name == "exit";
        match self.view {
            View::Messages => self.receive_message(event),
            View::Journal => self.receive_ordered(event, |event| Ok((None, comment_number(&event.comment)))),
            View::Many => self.receive_ordered(event, wrapped_number),
        }
    }

    fn receive_message(&mut self, event: &Event) -> Result<Option<Number>, String> {
        let last = self.last.get(&None).copied();
        if event.name == "gap" {
            let (after, next) = gap_of(event)?;
            if last.is_some_and(|last| last != after) || next <= after {
                return Err(format!("a gap from {after} to {next}, but the reader is at {last:?}"));
            }
            self.bursts.clear();
            self.retained = Some((after, next));
            self.last.insert(None, next - 1);
            self.cursor = next - 1;
            return Ok(None);
        }
        let Some(id) = &event.id else {
            if event.name == "unparsed" {
                self.bursts.clear();
            }
            return Ok(None);
        };
        let number: u64 = id.parse().map_err(|_| format!("`{id}` is not a number"))?;
        if let Some((after, next)) = self.retained {
            if is_agent_request(&event.data) && number > after && number < next {
                // At the start, the oldest event may as well be the first of the log.
                self.retained = Some((number, next));
                if next == u64::MAX {
                    self.last.insert(None, number);
                    self.cursor = number;
                }
                return Ok(Some((None, number)));
            }
            self.retained = None;
            if next == u64::MAX {
                if number <= after {
                    return Err(format!("event {number} after event {after}"));
                }
                self.last.remove(&None);
            }
        }
        if let Some(last) = self.last.get(&None)
            && number != last + 1
        {
            return Err(format!("event {number} after event {last}, without a gap"));
        }
        self.last.insert(None, number);
        self.cursor = number;
        self.receive_burst(&event.data)?;
        Ok(Some((None, number)))
    }

    fn receive_ordered(
        &mut self,
        event: &Event,
        number_of: impl Fn(&Event) -> Result<(Option<String>, Option<u64>), String>,
    ) -> Result<Option<Number>, String> {
        match event.name.as_str() {
            "gap" => {
                let json = json_of(event)?;
                match json["serverId"].as_str() {
                    Some(id) => drop(self.last.remove(&Some(id.to_owned()))),
                    None => self.last.clear(),
                }
                self.bursts.clear();
                return Ok(None);
            }
            "opened" | "closed" => {
                let id = json_of(event)?["serverId"].as_str().map(str::to_owned);
                self.last.remove(&id);
            }
            "unparsed" => self.bursts.clear(),
            _ => {}
        }
        // Events without an id have no place in the order: the list of instances, and retained requests.
        let Some(id) = &event.id else { return Ok(None) };
        let order = id.strip_prefix('j').and_then(|text| text.parse().ok());
        let order: u64 = order.ok_or_else(|| format!("`{id}` is not a cursor of a journal"))?;
        if order <= self.cursor {
            let shown = String::from_utf8_lossy(&event.data[..event.data.len().min(120)]);
            return Err(format!("{} j{order} after event j{}: {shown}", event.name, self.cursor));
        }
        self.cursor = order;
        let (instance, Some(number)) = number_of(event)? else { return Ok(None) };
        if let Some(last) = self.last.get(&instance)
            && number != last + 1
        {
            return Err(format!("event {number} of {instance:?} after event {last}, without a gap"));
        }
        self.last.insert(instance.clone(), number);
        self.receive_burst(payload(&event.data))?;
        Ok(Some((instance, number)))
    }

    /// Checks the agent's own count: events that it wrote consecutively must arrive consecutively.
    fn receive_burst(&mut self, data: &[u8]) -> Result<(), String> {
        let Some((burst, index)) = burst_of(data) else { return Ok(()) };
        match self.bursts.insert(burst, index) {
            Some(last) if index != last + 1 => {
                Err(format!("line {index} of burst {burst} after line {last}, without a gap"))
            }
            _ => Ok(()),
        }
    }
}

fn json_of(event: &Event) -> Result<Value, String> {
    serde_json::from_slice(&event.data).map_err(|error| format!("{error} in `{}`", event.name))
}

fn gap_of(event: &Event) -> Result<(u64, u64), String> {
    let json = json_of(event)?;
    let number = |name: &str| json[name].as_u64().ok_or_else(|| format!("a gap without `{name}`"));
    Ok((number("after")?, number("next")?))
}

fn is_agent_request(data: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Request<'a> {
        #[serde(borrow)]
        id: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        method: Option<&'a serde_json::value::RawValue>,
    }
    serde_json::from_slice::<Request<'_>>(data).is_ok_and(|it| it.id.is_some() && it.method.is_some())
}

/// `at T event N`: the number.
fn comment_number(comment: &str) -> Option<u64> {
    comment.rsplit_once(" event ")?.1.trim().parse().ok()
}

/// `{"serverId":"...","event":N,...}`: the instance and the number. Parsed as text, since the payload may be large.
fn wrapped_number(event: &Event) -> Result<(Option<String>, Option<u64>), String> {
    let start = String::from_utf8_lossy(&event.data[..event.data.len().min(300)]).into_owned();
    let Some(rest) = start.strip_prefix(r#"{"serverId":""#) else { return Ok((None, None)) };
    let (id, rest) = rest.split_once('"').ok_or("an event without an instance")?;
    let digits = rest.strip_prefix(r#","event":"#).and_then(|rest| rest.split(',').next());
    Ok((Some(id.to_owned()), digits.and_then(|digits| digits.parse().ok())))
}

/// The payload in the data of an event of many instances; other data unchanged.
pub(crate) fn payload(data: &[u8]) -> &[u8] {
    let start = memchr::memmem::find(&data[..data.len().min(300)], br#","data":"#);
    let start = start.filter(|_| data.starts_with(br#"{"serverId""#));
    start.map_or(data, |start| &data[start + 8..data.len() - 1])
}

/// The burst and the index of a line that the fault agent wrote for `emit`.
fn burst_of(data: &[u8]) -> Option<(u64, u64)> {
    let start = std::str::from_utf8(&data[..data.len().min(120)]).ok()?;
    let rest = start.strip_prefix(r#"{"jsonrpc":"2.0","method":"burst-"#)?;
    let (burst, rest) = rest.split_once('"')?;
    let index = rest.strip_prefix(r#","params":{"index":"#)?.split(',').next()?;
    Some((burst.parse().ok()?, index.parse().ok()?))
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
