//! Random choices that are the same for the same seed.

/// A stream of random numbers (SplitMix64): small, fast, and the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A separate stream of numbers for one part of a run.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from the range.
    pub(crate) fn number(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    pub(crate) fn size(&mut self, range: std::ops::Range<usize>) -> usize {
        range.start + usize::try_from(self.next() % (range.end - range.start) as u64).unwrap()
    }

    /// True once in `count` times.
    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.number(0..count) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.size(0..from.len())]
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    /// A random choice. The probability of each choice is proportional to its weight.
    pub(crate) fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let mut drawn = self.number(0..choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            match drawn.checked_sub(*weight) {
                Some(rest) => drawn = rest,
                None => return *choice,
            }
        }
        unreachable!("what is drawn is less than the sum")
    }
}

#[test]
fn the_same_seed_repeats_the_same_choices() {
    let draw = |seed| {
        let mut random = Random::new(seed);
        let mut other = random.fork();
        (0..50).map(|_| random.number(3..9) + other.weighted(&[(1, 10), (5, 20)])).collect::<Vec<_>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}
