//! Which of the known routes a path belongs to, for metrics and for the log.
//!
//! The router knows this too, but reports it only to its handlers, through the request's extension map. An entry in
//! that map for every request would cost more than comparing a few prefixes here. All unknown paths count as one
//! route.

/// The known routes.
#[derive(Debug, Default)]
pub struct RouteTable(Vec<Template>);

/// The index of a route in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteIndex(usize);

#[derive(Debug)]
struct Template {
    text: &'static str,
    /// The text before the first parameter.
    prefix: &'static str,
    tail: Tail,
}

#[derive(Debug)]
enum Tail {
    /// The route has no parameter.
    Empty,
    /// One segment is a parameter, followed by this text.
    Segment { suffix: &'static str },
    /// Everything after the prefix is a parameter.
    Wildcard,
}

impl RouteTable {
    /// The name for all paths that match no route.
    pub const UNKNOWN: &'static str = "unknown";

    /// A table of routes in the router's notation: `{name}` is one segment, `{*name}` everything that follows. The
    /// first match is taken, so the most frequent routes should come first.
    #[must_use]
    pub fn new(templates: impl IntoIterator<Item = &'static str>) -> Self {
        let mut routes: Vec<Template> = Vec::new();
        for text in templates {
            if !routes.iter().any(|known| known.text == text) {
                routes.push(Template::parse(text));
            }
        }
        // A wildcard may match paths of other routes, so wildcards are tried last.
        routes.sort_by_key(|route| matches!(route.tail, Tail::Wildcard));
        Self(routes)
    }

    /// The route of a path.
    #[must_use]
    pub fn find(&self, path: &str) -> RouteIndex {
        RouteIndex(self.0.iter().position(|route| route.matches(path)).unwrap_or(self.0.len()))
    }

    /// The route in the router's notation.
    #[must_use]
    pub fn name(&self, index: RouteIndex) -> &'static str {
        self.0.get(index.0).map_or(Self::UNKNOWN, |route| route.text)
    }

    /// The number of routes, including the one for unknown paths.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len() + 1
    }

    /// Always false: there is always the route for unknown paths.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The name of every route, in the order of their indices.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|route| route.text).chain([Self::UNKNOWN])
    }
}

impl RouteIndex {
    /// The index as a number below [`RouteTable::len`].
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }
}

impl Template {
    fn parse(text: &'static str) -> Self {
        let Some((prefix, parameter)) = text.split_once('{') else {
            return Self { text, prefix: text, tail: Tail::Empty };
        };
        let tail = match parameter.split_once('}') {
            Some((name, suffix)) if !name.starts_with('*') => Tail::Segment { suffix },
            _ => Tail::Wildcard,
        };
        Self { text, prefix, tail }
    }

    fn matches(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix(self.prefix) else { return false };
        match self.tail {
            Tail::Empty => rest.is_empty(),
            Tail::Segment { suffix } => {
                let end = rest.find('/').unwrap_or(rest.len());
                end > 0 && &rest[end..] == suffix
            }
            Tail::Wildcard => !rest.is_empty(),
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
