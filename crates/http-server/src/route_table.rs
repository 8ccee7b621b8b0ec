//! Which of the known routes a path belongs to, for counting and for the log.
//!
//! The router knows too, but tells only its handlers. Asking it from outside would cost every request an entry in a
//! map of extensions; comparing a few prefixes costs nothing that can be measured. What is unknown is all one.

/// The routes that are told apart.
#[derive(Debug, Default)]
pub struct RouteTable(Vec<Template>);

/// A route's place in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteIndex(usize);

#[derive(Debug)]
struct Template {
    text: &'static str,
    /// What stands before the first part that varies.
    prefix: &'static str,
    rest: Rest,
}

#[derive(Debug)]
enum Rest {
    /// Nothing varies.
    Nothing,
    /// One part varies; this follows it.
    Part { then: &'static str },
    /// Everything that follows varies.
    Anything,
}

impl RouteTable {
    /// The name of all paths that no route has.
    pub const UNKNOWN: &'static str = "unknown";

    /// A table of routes as the router writes them: `{name}` is one part, `{*name}` all that follows. The first that
    /// fits is taken, so what is asked for most should come first.
    #[must_use]
    pub fn new(templates: impl IntoIterator<Item = &'static str>) -> Self {
        let mut routes: Vec<Template> = Vec::new();
        for text in templates {
            if !routes.iter().any(|known| known.text == text) {
                routes.push(Template::parse(text));
            }
        }
        // `/v1/agents/{agent}` fits no path that a literal route has, but a wildcard may: the longer prefix wins.
        routes.sort_by_key(|route| matches!(route.rest, Rest::Anything));
        Self(routes)
    }

    /// The route of a path.
    #[must_use]
    pub fn find(&self, path: &str) -> RouteIndex {
        RouteIndex(self.0.iter().position(|route| route.fits(path)).unwrap_or(self.0.len()))
    }

    /// How a route is written.
    #[must_use]
    pub fn name(&self, index: RouteIndex) -> &'static str {
        self.0.get(index.0).map_or(Self::UNKNOWN, |route| route.text)
    }

    /// How many routes are told apart, the unknown ones as one of them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len() + 1
    }

    /// Never: there is always the unknown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Every route's name, in order of their places.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|route| route.text).chain([Self::UNKNOWN])
    }
}

impl RouteIndex {
    /// The place as a number below [`RouteTable::len`].
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }
}

impl Template {
    fn parse(text: &'static str) -> Self {
        let Some((prefix, varying)) = text.split_once('{') else {
            return Self { text, prefix: text, rest: Rest::Nothing };
        };
        let rest = match varying.split_once('}') {
            Some((name, then)) if !name.starts_with('*') => Rest::Part { then },
            _ => Rest::Anything,
        };
        Self { text, prefix, rest }
    }

    fn fits(&self, path: &str) -> bool {
        let Some(behind) = path.strip_prefix(self.prefix) else { return false };
        match self.rest {
            Rest::Nothing => behind.is_empty(),
            Rest::Part { then } => {
                let part = behind.find('/').unwrap_or(behind.len());
                part > 0 && &behind[part..] == then
            }
            Rest::Anything => !behind.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_the_route_that_the_router_would_take() {
        let table = RouteTable::new([
            "/ui/{*file}",
            "/",
            "/v1/acp/{server_id}",
            "/v1/acp",
            "/v1/agents/{agent}",
            "/v1/agents/{agent}/install",
            "/v1/acp",
        ]);
        let route = |path: &str| table.name(table.find(path));
        assert_eq!(route("/"), "/");
        assert_eq!(route("/v1/acp"), "/v1/acp");
        assert_eq!(route("/v1/acp/any.thing~1"), "/v1/acp/{server_id}");
        assert_eq!(route("/v1/agents/mock/install"), "/v1/agents/{agent}/install");
        assert_eq!(route("/v1/agents/mock"), "/v1/agents/{agent}");
        assert_eq!(route("/ui/assets/deep/file.js"), "/ui/{*file}");
        for unknown in ["", "/v1", "/v1/acp/", "/v1/acp/a/b", "/v1/agents/mock/install/x", "/ui/", "/é"] {
            assert_eq!(route(unknown), RouteTable::UNKNOWN, "{unknown}");
        }
        assert_eq!(table.len(), table.names().count());
        assert_eq!(table.find("/nowhere").get(), table.len() - 1);
    }
}
