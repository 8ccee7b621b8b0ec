//! Permission requests: the user's policy, and the agent's option that matches it.

use clap::ValueEnum;
use serde_json::{Value, json};

/// How permission requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Allow {
    /// Allow each request once
    Once,
    /// Allow, and let the agent remember the decision
    Always,
    /// Ask on the terminal
    Ask,
    /// Reject
    Reject,
}

/// One option that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PermissionOption {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// The kind of an option. Agents may have other kinds; only a user can choose those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    Other,
}

/// The options of a `session/request_permission`.
pub(super) fn options(params: &Value) -> Vec<PermissionOption> {
    let listed = params["options"].as_array().into_iter().flatten();
    listed
        .filter_map(|option| {
            let id = option["optionId"].as_str()?.to_owned();
            let name = option["name"].as_str().unwrap_or(&id).to_owned();
            let kind = match option["kind"].as_str() {
                Some("allow_once") => Kind::AllowOnce,
                Some("allow_always") => Kind::AllowAlways,
                Some("reject_once") => Kind::RejectOnce,
                Some("reject_always") => Kind::RejectAlways,
                _ => Kind::Other,
            };
            Some(PermissionOption { id, name, kind })
        })
        .collect()
}

/// The option that matches a policy; `None` if the agent offers no such option. `once` never selects an `always`
/// option, which would allow more than the user did.
pub(super) fn choose(allow: Allow, options: &[PermissionOption]) -> Option<&PermissionOption> {
    let kinds: &[Kind] = match allow {
        Allow::Once => &[Kind::AllowOnce],
        Allow::Always => &[Kind::AllowAlways, Kind::AllowOnce],
        Allow::Reject | Allow::Ask => &[Kind::RejectOnce, Kind::RejectAlways],
    };
    kinds.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind))
}

/// The option that a user typed: its number, id or name, or y, n or a.
pub(super) fn parse_choice<'a>(text: &str, options: &'a [PermissionOption]) -> Option<&'a PermissionOption> {
    let text = text.trim();
    if let Some(index) = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1)) {
        return options.get(index);
    }
    let named = |option: &&PermissionOption| {
        option.id.eq_ignore_ascii_case(text) || option.name.eq_ignore_ascii_case(text)
    };
    options.iter().find(named).or_else(|| match text.to_ascii_lowercase().as_str() {
        "y" | "yes" => choose(Allow::Once, options),
        "a" | "always" => options.iter().find(|option| option.kind == Kind::AllowAlways),
        "n" | "no" => choose(Allow::Reject, options),
        _ => None,
    })
}

/// The result of the permission request. Without an option it is `cancelled`.
pub(super) fn outcome(option: Option<&PermissionOption>) -> Value {
    match option {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option.id}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(kinds: &[&str]) -> Vec<PermissionOption> {
        let listed: Vec<Value> = kinds
            .iter()
            .map(|kind| json!({"optionId": format!("id-{kind}"), "name": *kind, "kind": *kind}))
            .collect();
        options(&json!({ "options": listed }))
    }

    #[test]
    fn a_policy_selects_the_matching_option_and_never_a_broader_one() {
        let all = offered(&["allow_always", "allow_once", "reject_always", "reject_once"]);
        let chosen = |allow, options| choose(allow, options).map(|option| option.id.as_str());
        assert_eq!(chosen(Allow::Once, &all), Some("id-allow_once"));
        assert_eq!(chosen(Allow::Always, &all), Some("id-allow_always"));
        assert_eq!(chosen(Allow::Reject, &all), Some("id-reject_once"));
        assert_eq!(choose(Allow::Once, &offered(&["allow_always", "reject_once"])), None);
        assert_eq!(chosen(Allow::Always, &offered(&["allow_once"])), Some("id-allow_once"));
        assert_eq!(choose(Allow::Reject, &offered(&["allow_once", "new_kind"])), None);
        assert_eq!(outcome(None), json!({"outcome": {"outcome": "cancelled"}}));
    }

    #[test]
    fn a_user_chooses_by_number_name_or_letter() {
        let all = offered(&["allow_once", "allow_always", "reject_once"]);
        let chosen = |text| parse_choice(text, &all).map(|option| option.id.as_str());
        assert_eq!(chosen(" 2 "), Some("id-allow_always"));
        assert_eq!(chosen("ID-reject_once"), Some("id-reject_once"));
        assert_eq!(chosen("y"), Some("id-allow_once"));
        assert_eq!(chosen("a"), Some("id-allow_always"));
        assert_eq!(chosen("No"), Some("id-reject_once"));
        for unclear in ["", "0", "4", "perhaps"] {
            assert_eq!(chosen(unclear), None, "{unclear}");
        }
    }
}
