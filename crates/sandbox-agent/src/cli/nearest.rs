//! Suggestions for misspelt names.

/// The name that is nearest to a word, if one is near enough to be a typing error.
pub(super) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let max_distance = word.chars().count().div_ceil(3);
    let scored = names.into_iter().map(|name| {
        let lower = name.to_lowercase();
        let begins = word.len() >= 2 && (lower.starts_with(&word) || word.starts_with(&lower));
        (if begins { 1 } else { distance(&word, &lower) }, name)
    });
    scored
        .filter(|(distance, _)| *distance <= max_distance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The edit distance: how many letters have to be changed, inserted, deleted or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let substitution = usize::from(from[i - 1] != to[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + substitution);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_gets_a_suggestion_and_another_word_does_not() {
        let names = ["claude", "codex", "gemini", "mock", "opencode"];
        let near = |word: &str| nearest(word, names);
        assert_eq!(near("cluade"), Some("claude"));
        assert_eq!(near("Moc"), Some("mock"));
        assert_eq!(near("claude-code"), Some("claude"));
        assert_eq!(near("gemni"), Some("gemini"));
        assert_eq!((near("banana"), near("")), (None, None));
        assert_eq!(distance("ab", "ba"), 1);
    }
}
