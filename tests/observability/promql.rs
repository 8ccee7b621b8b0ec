//! Parses an expression of Prometheus' query language to find out which metrics and labels it uses.

use std::iter::Peekable;
use std::str::Chars;

/// The functions and aggregations that the dashboard and the rules use. Any other name before a parenthesis
/// is an error.
const FUNCTIONS: [&str; 5] = ["histogram_quantile", "increase", "min_over_time", "rate", "sum"];
const OPERATORS: [&str; 3] = ["and", "or", "unless"];

/// The metrics and labels that an expression uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expression {
    pub(crate) selectors: Vec<Selector>,
    /// The labels that an aggregation keeps.
    pub(crate) groupings: Vec<String>,
}

/// A metric with the labels that select its series.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    pub(crate) matchers: Vec<Matcher>,
}

/// A label and the values that it may have; empty if they come from a variable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Matcher {
    pub(crate) label: String,
    pub(crate) values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Mark(char),
}

impl Expression {
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        let tokens = tokens(text);
        let (mut expression, mut rest) = (Self::default(), tokens.as_slice());
        while let [token, after @ ..] = rest {
            rest = after;
            let Token::Name(name) = token else { continue };
            let list_end = |mark: char| after.iter().position(|token| *token == Token::Mark(mark)).unwrap();
            match after.first() {
                _ if OPERATORS.contains(&name.as_str()) => {}
                Some(Token::Mark('(')) if name == "by" => {
                    let end = list_end(')');
                    expression.groupings.extend(after[..end].iter().filter_map(Token::name));
                    rest = &after[end..];
                }
                Some(Token::Mark('(')) => assert!(FUNCTIONS.contains(&name.as_str()), "{name} in {text}"),
                Some(Token::Name(next)) if next == "by" => {}
                Some(Token::Mark('{')) => {
                    let end = list_end('}');
                    let metric = name.clone();
                    expression.selectors.push(Selector { metric, matchers: matchers(&after[1..end]) });
                    rest = &after[end..];
                }
                _ => expression.selectors.push(Selector { metric: name.clone(), matchers: Vec::new() }),
            }
        }
        expression
    }
}

impl Token {
    fn name(&self) -> Option<String> {
        match self {
            Self::Name(name) => Some(name.clone()),
            Self::Text(_) | Self::Mark(_) => None,
        }
    }
}

fn matchers(tokens: &[Token]) -> Vec<Matcher> {
    let parts = tokens.split(|token| *token == Token::Mark(','));
    parts
        .map(|part| {
            let (Some(Token::Name(label)), Some(Token::Text(value))) = (part.first(), part.last()) else {
                panic!("not a matcher: {part:?}")
            };
            let values = value.split('|').filter(|value| !value.contains('$')).map(str::to_owned).collect();
            Matcher { label: label.clone(), values }
        })
        .collect()
}

fn tokens(text: &str) -> Vec<Token> {
    let (mut tokens, mut rest) = (Vec::new(), text.chars().peekable());
    while let Some(character) = rest.next() {
        match character {
            '"' => tokens.push(Token::Text(rest.by_ref().take_while(|next| *next != '"').collect())),
            // Skip the time range of a rate.
            '[' => rest.by_ref().take_while(|next| *next != ']').for_each(drop),
            '0'..='9' => drop(word(character, &mut rest)),
            'a'..='z' | 'A'..='Z' | '_' => tokens.push(Token::Name(word(character, &mut rest))),
            ' ' => {}
            other => tokens.push(Token::Mark(other)),
        }
    }
    tokens
}

fn word(first: char, rest: &mut Peekable<Chars<'_>>) -> String {
    let mut word = first.to_string();
    while let Some(next) = rest.next_if(|next| next.is_ascii_alphanumeric() || ['_', ':', '.'].contains(next))
    {
        word.push(next);
    }
    word
}

#[test]
fn metrics_labels_and_groupings_are_found() {
    let text = r#"histogram_quantile(0.95, sum by (agent, le) (rate(a_bucket{x=~"b|c", y="$z"}[$__rate_interval]))) > 8e9 and d"#;
    let selector = |metric: &str, matchers| Selector { metric: metric.to_owned(), matchers };
    let matcher = |label: &str, values: &[&str]| Matcher {
        label: label.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let expected = Expression {
        selectors: vec![
            selector("a_bucket", vec![matcher("x", &["b", "c"]), matcher("y", &[])]),
            selector("d", vec![]),
        ],
        groupings: vec!["agent".to_owned(), "le".to_owned()],
    };
    assert_eq!(Expression::parse(text), expected);
    assert!(std::panic::catch_unwind(|| Expression::parse("rat(x[5m])")).is_err());
}
