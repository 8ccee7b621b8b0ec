//! Generates titles of sessions.
//!
//! Many agents ask the model for a title in the background and quote the user's prompt in that request. The
//! script in the prompt must not answer it: the session would be named after an error or after the script's
//! answer. Instead, the title consists of the prompt's first words.
//!
//! Such requests are recognised by the wording that agents use: claude, gemini, goose, hermes, opencode, and
//! agents derived from them. None of them offers a tool in these requests.

use crate::conversation::{Conversation, Entry};
use crate::schema::Hints;
use crate::script;

const MAX_WORDS: usize = 6;
const MAX_CHARACTERS: usize = 50;
/// The title of a session without a prompt.
const UNTITLED: &str = "New session";

/// The verbs that start a sentence which asks for a title; one of [`SUBJECTS`] follows.
const VERBS: &[&str] = &["generate", "create", "write", "provide", "summarize"];
/// The things that a title is for.
const SUBJECTS: &[&str] = &["conversation", "session", "thread", "task", "messages"];
/// Other phrases that ask for a title.
const PHRASES: &[&str] = &[
    "you are a title generator",
    "you are naming a coding session",
    "description of this session in 4 words or less",
    "only a description in four words or less",
    "primary intent or goal in this conversation",
];

/// The texts that agents put before and after the quoted prompt.
const FRAMES: &[(&str, &str)] = &[
    ("<session>", "</session>"),
    ("---BEGIN USER MESSAGES---", "---END USER MESSAGES---"),
    ("Here are the first few user messages:", "Based on the conversation so far"),
    ("\nConversation:\n", "\nSummary (max"),
];

/// A title, in a form that can fill any place for one in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Title(String);

impl Title {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Makes a title from a prompt.
    fn of(prompt: &str) -> Self {
        let mut title = String::new();
        for word in prompt.split_whitespace().take(MAX_WORDS) {
            let length = title.chars().count() + 1 + word.chars().count();
            if !title.is_empty() && length > MAX_CHARACTERS {
                break;
            }
            if !title.is_empty() {
                title.push(' ');
            }
            title.extend(word.chars().take(MAX_CHARACTERS));
        }
        let title = title.trim_end_matches(['.', ',', ':', ';', '!', '?']);
        let mut characters = title.chars();
        Self(match characters.next() {
            Some(first) => first.to_uppercase().chain(characters).collect(),
            None => UNTITLED.to_owned(),
        })
    }
}

impl Hints for Title {
    fn text(&self, name: &str, _: usize) -> Option<String> {
        let is_title = ["title", "name", "sessionname", "summary", "description"].contains(&name);
        is_title.then(|| self.0.clone())
    }

    fn list(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn length(&self, _: &str) -> usize {
        0
    }
}

/// The title that a request asks for; `None` if it asks for something else.
pub(crate) fn wanted(conversation: &Conversation) -> Option<Title> {
    // A forced tool may be the place for the title. Tools that are only offered show that this is the user's
    // own prompt.
    if !conversation.tools.is_empty() && conversation.forced_tool.is_none() {
        return None;
    }
    let users = conversation.entries.iter().filter_map(|entry| match entry {
        Entry::User(text) => Some(script::user_text(text)),
        Entry::TextWithResult(_) | Entry::Result(_) | Entry::Model => None,
    });
    let said = users.collect::<Vec<_>>().join("\n");
    let (quoted, around) = unframed(&said);
    let asks = asks_for_title(&conversation.instructions) || asks_for_title(&around);
    asks.then(|| Title::of(prompt_in(&quoted)))
}

/// Splits the agent's text into the quoted prompt and the text around it. Without a frame, both are the whole
/// text.
fn unframed(said: &str) -> (String, String) {
    for (begin, end) in FRAMES {
        if let Some((before, rest)) = said.split_once(begin)
            && let Some((quoted, after)) = rest.split_once(end)
        {
            return (quoted.to_owned(), format!("{before}\n{begin}\n{end}{after}"));
        }
    }
    (said.to_owned(), said.to_owned())
}

/// The first line that the user wrote.
fn prompt_in(quoted: &str) -> &str {
    let lines = quoted.lines().map(|line| {
        let line = line.trim();
        line.strip_prefix("User:").or_else(|| line.strip_prefix("user:")).unwrap_or(line).trim()
    });
    let mut users = lines.take_while(|line| !line.starts_with("Assistant:"));
    users.find(|line| !line.is_empty() && !asks_for_title(line)).unwrap_or_default()
}

/// True if a sentence asks for the title of a session.
fn asks_for_title(text: &str) -> bool {
    let text = text.to_lowercase();
    PHRASES.iter().any(|phrase| text.contains(phrase))
        || text.split(['.', '\n', ';']).map(str::trim_start).any(|sentence| {
            sentence.contains("title")
                && VERBS.iter().any(|verb| sentence.starts_with(verb))
                && SUBJECTS.iter().any(|subject| sentence.contains(subject))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_words_of_the_prompt() {
        for (prompt, title) in [
            ("shell ls -la", "Shell ls -la"),
            ("say one two three four five six seven", "Say one two three four five"),
            ("why does it fail?", "Why does it fail"),
            ("  äpfel\tzählen. ", "Äpfel zählen"),
            ("", UNTITLED),
            ("...", UNTITLED),
        ] {
            assert_eq!(Title::of(prompt).as_str(), title);
        }
        assert_eq!(Title::of(&"x".repeat(200)).as_str().chars().count(), MAX_CHARACTERS);
        assert_eq!(Title::of(&format!("one {}", "x".repeat(60))).as_str(), "One");
    }

    #[test]
    fn sentences_about_other_titles_do_not_ask_for_one() {
        for text in [
            "When you create a pull request, give it a title that names the task.",
            "say the title of this session",
            "Write a file.\nThe title of the session is shown.",
            "Generate tests for this session.",
        ] {
            assert!(!asks_for_title(text), "{text}");
        }
    }

    #[test]
    fn the_prompt_is_found_among_what_agents_quote() {
        for (said, prompt) in [
            ("Generate a title for this conversation:\n\nshell ls", "shell ls"),
            ("<session>\nshell ls\n</session>\n\nWrite the title in French.", "shell ls"),
            ("User: shell ls\n\nAssistant: The tool answered", "shell ls"),
            ("Assistant: hello", ""),
        ] {
            assert_eq!(prompt_in(&unframed(said).0), prompt, "{said}");
        }
    }
}
