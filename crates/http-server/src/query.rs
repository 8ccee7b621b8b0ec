//! Query strings, with errors that name the parameter.

use std::borrow::Cow;

use http::Uri;

use crate::{Code, Problem};

/// The decoded parameters of a query string, in order.
#[derive(Debug, Clone, Default)]
pub struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// The parameters of a request's URI.
    #[must_use]
    pub fn of(uri: &'a Uri) -> Self {
        Self(uri.query().map_or_else(Vec::new, |text| form_urlencoded::parse(text.as_bytes()).collect()))
    }

    /// The value of a parameter. A parameter that is given twice is ambiguous and rejected.
    ///
    /// # Errors
    /// 400 `invalid_parameter` when the parameter is given more than once.
    pub fn one(&self, name: &'static str) -> Result<Option<&str>, Problem> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => Err(invalid(name, format!("`{name}` is given more than once; give it once"))),
        }
    }

    /// The value of a parameter that must be present and not empty.
    ///
    /// # Errors
    /// 400 `invalid_parameter` when the parameter is missing, empty, or given more than once.
    pub fn required(&self, name: &'static str) -> Result<&str, Problem> {
        self.one(name)?
            .filter(|value| !value.is_empty())
            .ok_or_else(|| invalid(name, format!("add `?{name}=` to the URL")))
    }

    /// A switch: absent, `true` or `false` (`1` and `0` are accepted too).
    ///
    /// # Errors
    /// 400 `invalid_parameter` for anything else.
    pub fn switch(&self, name: &'static str) -> Result<bool, Problem> {
        match self.one(name)? {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1" | "") => Ok(true),
            Some(other) => Err(invalid(name, format!("`{name}` must be true or false, not `{other}`"))),
        }
    }

    /// A whole number.
    ///
    /// # Errors
    /// 400 `invalid_parameter` when the value is not a whole number.
    pub fn number(&self, name: &'static str) -> Result<Option<u64>, Problem> {
        self.one(name)?
            .map(|text| {
                text.parse()
                    .map_err(|_| invalid(name, format!("`{name}` must be a whole number, not `{text}`")))
            })
            .transpose()
    }

    /// Every value of a parameter that may be repeated.
    pub fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_ref())
    }
}

/// The problem for an invalid parameter.
#[must_use]
pub fn invalid(name: &'static str, detail: impl Into<String>) -> Problem {
    Problem::new(Code::InvalidParameter, detail).with("parameter", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query<'_> {
        Query(form_urlencoded::parse(text.as_bytes()).collect())
    }

    #[test]
    fn a_parameter_given_twice_is_rejected_by_name() {
        let parsed = query("agent=a&agent=b");
        let problem = parsed.one("agent").unwrap_err();
        assert_eq!(problem.code(), Code::InvalidParameter);
        assert!(problem.detail().contains("`agent`"));
    }

    #[test]
    fn switches_and_numbers_are_strict() {
        let parsed = query("recursive=true&limit=12&bad=maybe&path=a%20b");
        assert!(parsed.switch("recursive").unwrap());
        assert!(!parsed.switch("absent").unwrap());
        assert!(parsed.switch("bad").is_err());
        assert_eq!(parsed.number("limit").unwrap(), Some(12));
        assert!(parsed.number("bad").is_err());
        assert_eq!(parsed.required("path").unwrap(), "a b");
        assert!(parsed.required("absent").is_err());
    }
}
