//! Lists for people: rows in aligned columns below headings. Programs use `--json`.

use super::error::CliError;
use super::output::print_line;
use super::style::printable;

/// The space between two columns.
const GAP: &str = "  ";

/// Prints rows below their headings. An empty list prints nothing.
pub(super) fn print<const COLUMNS: usize>(
    headings: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> Result<(), CliError> {
    lines(headings, rows).into_iter().try_for_each(print_line)
}

fn lines<const COLUMNS: usize>(headings: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let rows: Vec<[String; COLUMNS]> = std::iter::once(headings.map(str::to_owned))
        .chain(rows.iter().map(|row| row.each_ref().map(|cell| printable(cell))))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_below_their_headings() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [row(["longer", "", "x"]), row(["ä", "two\nlines", ""])];
        let expected = ["NAME    NOTE       END", "longer             x", "ä       two?lines"];
        assert_eq!(lines(["NAME", "NOTE", "END"], &rows), expected);
        assert!(lines(["NAME"], &[]).is_empty());
    }
}
