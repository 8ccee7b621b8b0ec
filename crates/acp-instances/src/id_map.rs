//! A map keyed by request id. It also finds an id whose number an agent has rounded to a double, and it knows
//! how much memory it takes.

use std::collections::HashMap;

use crate::request_id::RequestId;

/// The memory of an entry besides the entry itself: its slot in the table and the allocator's overhead.
const ENTRY_OVERHEAD: usize = 64;

/// Values keyed by request id.
#[derive(Debug)]
pub(crate) struct IdMap<V> {
    entries: HashMap<RequestId, V>,
    /// Ids that come back in another spelling from an agent that stores numbers as doubles, keyed by the bits
    /// of the double. Nearly always empty.
    rounded: HashMap<u64, Vec<RequestId>>,
    bytes: usize,
}

impl<V> Default for IdMap<V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), rounded: HashMap::new(), bytes: 0 }
    }
}

impl<V> IdMap<V> {
    pub(crate) fn insert(&mut self, id: RequestId, value: V) {
        if self.entries.insert(id.clone(), value).is_some() {
            return;
        }
        self.bytes += Self::cost(&id);
        if let Some(double) = roundable(&id) {
            self.rounded.entry(double.to_bits()).or_default().push(id);
        }
    }

    pub(crate) fn remove(&mut self, id: &RequestId) -> Option<V> {
        let value = self.entries.remove(id)?;
        self.bytes -= Self::cost(id);
        if let Some(double) = roundable(id)
            && let Some(ids) = self.rounded.get_mut(&double.to_bits())
        {
            ids.retain(|other| other != id);
            if ids.is_empty() {
                self.rounded.remove(&double.to_bits());
            }
        }
        Some(value)
    }

    /// The id in this map that a response with `id` means: the same id, or else a number that is the same
    /// double.
    pub(crate) fn matching(&self, id: &RequestId) -> Option<RequestId> {
        if self.entries.contains_key(id) {
            return Some(id.clone());
        }
        let double = id.as_double()?;
        if let Some(rounded) = self.rounded.get(&double.to_bits()).and_then(|ids| ids.first()) {
            return Some(rounded.clone());
        }
        let integer = RequestId::parse(&double.to_string())?;
        self.entries.contains_key(&integer).then_some(integer)
    }

    pub(crate) fn contains(&self, id: &RequestId) -> bool {
        self.entries.contains_key(id)
    }

    pub(crate) fn get(&self, id: &RequestId) -> Option<&V> {
        self.entries.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &RequestId) -> Option<&mut V> {
        self.entries.get_mut(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RequestId, &V)> {
        self.entries.iter()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut()
    }

    pub(crate) fn take_all(&mut self) -> HashMap<RequestId, V> {
        std::mem::take(self).entries
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The memory of all entries, without what the values point to.
    pub(crate) const fn held_bytes(&self) -> usize {
        self.bytes
    }

    fn cost(id: &RequestId) -> usize {
        size_of::<(RequestId, V)>() + ENTRY_OVERHEAD + id.held_bytes()
    }
}

/// The double closest to a number that has a fraction, or more digits than a double keeps. `None` for
/// integers of up to 15 digits, which a double represents exactly.
fn roundable(id: &RequestId) -> Option<f64> {
    let double = id.as_double()?;
    let text = id.as_json();
    let is_plain = text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (!is_plain).then_some(double)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> RequestId {
        RequestId::parse(json).unwrap()
    }

    #[test]
    fn a_rounded_number_is_found_by_its_double() {
        let mut map = IdMap::default();
        for json in ["12", "\"12\"", "12345678901234567890123", "0.1", "-7"] {
            map.insert(id(json), json);
        }
        let found = |json: &str| map.matching(&id(json)).and_then(|id| map.get(&id).copied());
        assert_eq!(found("12"), Some("12"));
        assert_eq!(found("12.0"), Some("12"));
        assert_eq!(found("12.000000000000000000001"), Some("12"));
        assert_eq!(found("\"12\""), Some("\"12\""));
        assert_eq!(found("1.2345678901234568e+22"), Some("12345678901234567890123"));
        assert_eq!(found("0.1000000000000000055511151231257827"), Some("0.1"));
        assert_eq!(found("-7e0"), Some("-7"));
        for unknown in ["13", "\"13\"", "null", "1e300", "-12"] {
            assert_eq!(found(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn removing_every_entry_frees_all_memory() {
        let mut map = IdMap::default();
        let long = format!("\"{}\"", "x".repeat(1000));
        for json in ["1", "12345678901234567890123", &long] {
            map.insert(id(json), ());
            map.insert(id(json), ());
        }
        assert!(map.held_bytes() > 1000);
        for json in ["1", "12345678901234567890123", &long] {
            assert!(map.remove(&id(json)).is_some());
        }
        assert_eq!((map.len(), map.held_bytes(), map.rounded.len()), (0, 0, 0));
    }

    #[test]
    fn a_map_lists_its_entries() {
        let mut map = IdMap::default();
        assert!(map.is_empty());
        map.insert(id("1"), 10);
        map.insert(id("\"a\""), 20);
        *map.get_mut(&id("1")).unwrap() += 1;
        map.values_mut().for_each(|value| *value += 100);
        let mut values: Vec<_> = map.values().copied().collect();
        values.sort_unstable();
        assert_eq!(values, [111, 120]);
        let mut listed: Vec<_> = map.iter().map(|(id, value)| (id.as_json(), *value)).collect();
        listed.sort_unstable();
        assert_eq!(listed, [("\"a\"", 120), ("1", 111)]);
        assert!(map.contains(&id("1")) && !map.contains(&id("2")));
        assert_eq!((map.len(), map.is_empty()), (2, false));
        assert_eq!(map.take_all().len(), 2);
        assert_eq!((map.is_empty(), map.held_bytes()), (true, 0));
    }

    #[test]
    fn an_entry_costs_its_own_size_and_what_its_id_holds() {
        let mut map = IdMap::default();
        let (entry, long) = (size_of::<(RequestId, u64)>() + 64, format!("\"{}\"", "x".repeat(1000)));
        map.insert(id("1"), 1_u64);
        assert_eq!(map.held_bytes(), entry);
        map.insert(id(&long), 2);
        map.insert(id(&long), 3);
        assert_eq!(map.held_bytes(), 2 * entry + id(&long).held_bytes());
        assert_eq!(map.remove(&id("1")), Some(1));
        assert_eq!((map.remove(&id("1")), map.held_bytes()), (None, entry + id(&long).held_bytes()));
    }

    #[test]
    fn numbers_that_are_the_same_double_are_found_one_after_the_other() {
        let mut map = IdMap::default();
        let (one, other) = ("12345678901234567890123", "12345678901234567890124");
        map.insert(id(one), 1);
        map.insert(id(other), 2);
        for json in [one, other] {
            assert_eq!(map.matching(&id("1.2345678901234568e+22")), Some(id(json)));
            map.remove(&id(json));
        }
        assert_eq!(map.matching(&id("1.2345678901234568e+22")), None);
    }

    #[test]
    fn only_numbers_that_a_double_may_round_are_kept_by_their_double() {
        for exact in ["123456789012345", "-12345678901234", "0", "\"0.1\"", "null"] {
            assert_eq!(roundable(&id(exact)), None, "{exact}");
        }
        for rounded in ["1234567890123456", "-123456789012345", "0.1", "1e500"] {
            assert!(roundable(&id(rounded)).is_some(), "{rounded}");
        }
    }
}
