//! Parses the script in a prompt: one line that starts with a keyword; the last such line counts.
//!
//! Agents add text of their own to the user's prompt (reminders, the date, the working directory). Text in known
//! tags is removed first.

use std::time::Duration;

use http::StatusCode;

/// The help text for users.
pub const HELP: &str = "\
say TEXT             answers with TEXT, word by word
shell COMMAND        calls the agent's shell tool, then quotes its result
write PATH TEXT      writes a file with the agent's tool for it, or through its shell; \\n in TEXT is a line break
read PATH            reads a file with the agent's tool for it, or through its shell
call TOOL JSON       calls any tool that the agent offers, with these arguments
ask QUESTION         asks the user with the agent's tool for it: Yes or No
think TEXT           thinks TEXT aloud before it answers
slow SECONDS         a word every 100 ms for that long
long WORDS           that many words, as fast as they can be sent
fail STATUS [TIMES]  fails with that HTTP status, at every try or at the first TIMES tries
cut [TIMES]          breaks the connection in the middle of the answer, likewise
help                 this list
anything else        is quoted back";

const MAX_SLOW_SECONDS: u64 = 3600;
const MAX_WORDS: usize = 200_000;

/// Substrings of the names of tags that agents put around text that is not the user's.
const NOISE: &[&str] = &[
    "reminder",
    "context",
    "environment",
    "instruction",
    "info",
    "memory",
    "aborted",
    "interrupt",
    "caveat",
    "datetime",
    "permission",
    "skill",
    "workspace",
    "mode",
];

/// A parsed script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Script {
    Say(String),
    Shell(String),
    Write {
        path: String,
        text: String,
    },
    Read(String),
    Call {
        tool: String,
        arguments: String,
    },
    Ask(String),
    Think(String),
    Slow(Duration),
    Long(usize),
    /// Fails this many times; `None` means always.
    Fail {
        status: StatusCode,
        times: Option<u32>,
    },
    /// Cuts the answer off this many times; `None` means always.
    Cut {
        times: Option<u32>,
    },
    Help,
    /// There is no script: the prompt is quoted back.
    Echo(String),
}

impl Script {
    /// Parses a prompt that contains only the user's own text.
    pub(crate) fn of(prompt: &str) -> Self {
        prompt.lines().rev().find_map(line).unwrap_or_else(|| Self::Echo(prompt.trim().to_owned()))
    }

    /// The keyword, for the journal.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Say(_) => "say",
            Self::Shell(_) => "shell",
            Self::Write { .. } => "write",
            Self::Read(_) => "read",
            Self::Call { .. } => "call",
            Self::Ask(_) => "ask",
            Self::Think(_) => "think",
            Self::Slow(_) => "slow",
            Self::Long(_) => "long",
            Self::Fail { .. } => "fail",
            Self::Cut { .. } => "cut",
            Self::Help => "help",
            Self::Echo(_) => "echo",
        }
    }
}

/// Parses one line; `None` if it is not a script.
fn line(line: &str) -> Option<Script> {
    let line = unwrapped(line);
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let text = || (!rest.is_empty()).then(|| rest.to_owned());
    // Keywords are lower case: capitals start sentences, and agents write many of those around a prompt.
    let script = match word.trim_end_matches(':') {
        "say" => Script::Say(text()?),
        "shell" => Script::Shell(text()?),
        "write" => {
            let (path, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            if !is_path(path) {
                return None;
            }
            Script::Write { path: path.to_owned(), text: text.trim().replace("\\n", "\n") }
        }
        "read" if is_path(rest) => Script::Read(rest.to_owned()),
        "call" => {
            let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
            if tool.is_empty() {
                return None;
            }
            Script::Call { tool: tool.to_owned(), arguments: arguments.trim().to_owned() }
        }
        "ask" => Script::Ask(text()?),
        "think" => Script::Think(text()?),
        "slow" => Script::Slow(Duration::from_secs(number::<u64>(rest)?.min(MAX_SLOW_SECONDS))),
        "long" => Script::Long(number::<usize>(rest)?.min(MAX_WORDS)),
        "fail" => fail(rest)?,
        "cut" if rest.is_empty() => Script::Cut { times: None },
        "cut" => Script::Cut { times: Some(rest.parse().ok()?) },
        "help" if rest.is_empty() => Script::Help,
        _ => return None,
    };
    Some(script)
}

/// Distinguishes the prose `write it down` from the script `write notes.txt`.
fn is_path(text: &str) -> bool {
    text.contains(['/', '.'])
}

fn fail(rest: &str) -> Option<Script> {
    let mut words = rest.split_whitespace();
    let status = StatusCode::from_u16(number(words.next()?)?).ok()?;
    if !status.is_client_error() && !status.is_server_error() {
        return None;
    }
    Some(Script::Fail { status, times: words.next().and_then(|word| word.parse().ok()) })
}

fn number<N: std::str::FromStr>(rest: &str) -> Option<N> {
    rest.split_whitespace().next()?.parse().ok()
}

/// Removes the one tag that an agent may put around a prompt.
fn unwrapped(line: &str) -> &str {
    let line = line.trim();
    let Some((tag, inside)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
        return line;
    };
    let name = tag.split_whitespace().next().unwrap_or_default();
    inside.trim().strip_suffix(&format!("</{name}>")).unwrap_or(inside).trim()
}

/// Removes the agent's tagged additions from a message.
pub(crate) fn user_text(message: &str) -> String {
    let mut words = String::new();
    let mut rest = message;
    while let Some(start) = rest.find('<') {
        let (before, tagged) = rest.split_at(start);
        words.push_str(before);
        match noise_end(tagged) {
            Some(end) => rest = &tagged[end..],
            None => {
                words.push('<');
                rest = &tagged[1..];
            }
        }
    }
    words.push_str(rest);
    words.trim().to_owned()
}

/// The end of the tagged addition that `text` starts with.
fn noise_end(text: &str) -> Option<usize> {
    let name_end =
        text[1..].find(|character: char| !(character.is_alphanumeric() || "-_".contains(character)))?;
    let name = &text[1..=name_end];
    let lower = name.to_ascii_lowercase();
    if !NOISE.iter().any(|noise| lower.contains(noise)) {
        return None;
    }
    let closing = format!("</{name}>");
    text.find(&closing).map(|start| start + closing.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_a_keyword_is_the_script() {
        let prompt = "Hello there.\nsay one\nshell ls -la\nThank you.";
        assert_eq!(Script::of(prompt), Script::Shell("ls -la".to_owned()));
    }

    #[test]
    fn a_keyword_within_a_sentence_is_not_a_script() {
        assert_eq!(Script::of("please say one"), Script::Echo("please say one".to_owned()));
    }

    #[test]
    fn a_keyword_may_have_a_colon() {
        assert_eq!(Script::of("say: one two"), Script::Say("one two".to_owned()));
    }

    #[test]
    fn sentences_of_the_agent_are_not_scripts() {
        for line in ["Say nothing.", "Write the title in English.", "write the title", "read this first"] {
            assert_eq!(Script::of(line), Script::Echo(line.to_owned()));
        }
    }

    #[test]
    fn a_prompt_in_a_tag_of_the_agent_is_still_read() {
        assert_eq!(Script::of("<user_query>say one</user_query>"), Script::Say("one".to_owned()));
    }

    #[test]
    fn a_file_is_a_path_and_its_text() {
        let written = Script::Write { path: "/tmp/a".to_owned(), text: "one\ntwo".to_owned() };
        assert_eq!(Script::of("write /tmp/a one\\ntwo"), written);
    }

    #[test]
    fn fail_accepts_only_error_statuses() {
        let status = StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(Script::of("fail 429"), Script::Fail { status, times: None });
        assert_eq!(Script::of("fail 429 2"), Script::Fail { status, times: Some(2) });
        assert_eq!(Script::of("fail 200"), Script::Echo("fail 200".to_owned()));
        assert_eq!(Script::of("fail badly"), Script::Echo("fail badly".to_owned()));
    }

    #[test]
    fn numbers_are_bounded() {
        assert_eq!(Script::of("slow 99999"), Script::Slow(Duration::from_secs(MAX_SLOW_SECONDS)));
        assert_eq!(Script::of("long 99999999"), Script::Long(MAX_WORDS));
    }

    #[test]
    fn tagged_additions_of_agents_are_removed() {
        let message = "<system-reminder>\nsay a\n</system-reminder>\nsay b < c\n<environment_details>say d</environment_details>";
        assert_eq!(user_text(message), "say b < c");
    }

    #[test]
    fn tags_of_the_user_stay() {
        assert_eq!(user_text("say <b>bold</b> é<"), "say <b>bold</b> é<");
    }
}
