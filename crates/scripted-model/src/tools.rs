//! Finds an agent's tool for a job among the offered ones, and fills in its arguments.
//!
//! Tools are found by name: agents agree much more on the names of tools than on their arguments.

use serde_json::{Value, json};

use crate::conversation::{Tool, ToolKind};
use crate::schema::{self, Hints, plain};

/// A tool to call, with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: Input,
}

/// The input of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// A JSON object.
    Arguments(Value),
    /// Free text, for tools without a schema.
    Text(String),
}

impl Call {
    pub(crate) fn new(tool: &Tool, input: Input) -> Self {
        Self { name: tool.name.clone(), namespace: tool.namespace.clone(), input }
    }

    /// The arguments as an object, for formats that support nothing else.
    pub(crate) fn arguments(&self) -> Value {
        match &self.input {
            Input::Arguments(arguments) => arguments.clone(),
            Input::Text(text) => json!({"input": text}),
        }
    }
}

/// What a tool should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Job {
    Shell(String),
    Write { path: String, text: String },
    Read(String),
    Ask(String),
}

const SHELL: &[&str] = &[
    "bash",
    "shell",
    "shellcommand",
    "execcommand",
    "runshellcommand",
    "runcommand",
    "runcommands",
    "execute",
    "executecommand",
    "terminal",
    "runterminalcommand",
    "runinterminal",
    "executebash",
    "exec",
    "localshell",
];
const WRITE: &[&str] = &[
    "write",
    "writefile",
    "createfile",
    "create",
    "writetofile",
    "fswrite",
    "writetextfile",
    "texteditor",
    "fileeditor",
];
const READ: &[&str] = &[
    "read",
    "readfile",
    "view",
    "viewfile",
    "fsread",
    "readtextfile",
    "readfiles",
    "texteditor",
    "fileeditor",
];
const ASK: &[&str] = &[
    "askuserquestion",
    "askuser",
    "question",
    "askquestion",
    "requestuserinput",
    "askfollowupquestion",
    "askuserquestions",
    "clarify",
];

const COMMAND: &[&str] = &["command", "cmd", "commandline", "script", "code"];
const PATH: &[&str] = &["path", "filepath", "absolutepath", "filename", "file", "targetfile", "abspath"];
const CONTENT: &[&str] = &["content", "contents", "filetext", "text", "filecontent", "newcontent"];

impl Job {
    fn names(&self) -> &'static [&'static str] {
        match self {
            Self::Shell(_) => SHELL,
            Self::Write { .. } => WRITE,
            Self::Read(_) => READ,
            Self::Ask(_) => ASK,
        }
    }

    /// The call of the agent's own tool that does this job.
    pub(crate) fn call(&self, tools: &[Tool]) -> Option<Call> {
        let tool = find(tools, self.names())?;
        let input = match tool.kind {
            ToolKind::Function => Input::Arguments(schema::fill(&tool.parameters, self)),
            ToolKind::Custom => match self {
                Self::Shell(command) => Input::Text(command.clone()),
                _ => return None,
            },
        };
        Some(Call::new(tool, input))
    }

    /// The same job as a shell command.
    pub(crate) fn through_shell(&self) -> Option<Self> {
        match self {
            Self::Write { path, text } => {
                Some(Self::Shell(format!("printf '%s\\n' {} > {}", quoted(text), quoted(path))))
            }
            Self::Read(path) => Some(Self::Shell(format!("cat {}", quoted(path)))),
            Self::Shell(_) | Self::Ask(_) => None,
        }
    }
}

impl Hints for Job {
    fn text(&self, name: &str, index: usize) -> Option<String> {
        let text = match self {
            Self::Shell(command) => match name {
                _ if COMMAND.contains(&name) => command,
                "description" | "justification" | "reason" | "explanation" | "summary" => {
                    "Run a scripted command"
                }
                // Without this, a sandbox runs the command without asking for permission.
                "sandboxpermissions" => "require_escalated",
                _ => return None,
            },
            Self::Write { path, text } => match name {
                _ if PATH.contains(&name) => path,
                _ if CONTENT.contains(&name) => text,
                "command" | "action" | "operation" => "create",
                _ => return None,
            },
            Self::Read(path) => match name {
                _ if PATH.contains(&name) => path,
                "command" | "action" | "operation" => "view",
                _ => return None,
            },
            Self::Ask(question) => match name {
                "question" | "prompt" | "message" | "text" | "query" => question,
                "header" | "title" => "Question",
                "id" => "answer",
                "label" | "description" | "value" | "options" | "choices" if index == 0 => "Yes",
                "label" | "description" | "value" | "options" | "choices" => "No",
                _ => return None,
            },
        };
        Some(text.to_owned())
    }

    fn list(&self, name: &str) -> Option<Vec<String>> {
        match self {
            Self::Shell(command) if COMMAND.contains(&name) => {
                Some(vec!["bash".to_owned(), "-lc".to_owned(), command.clone()])
            }
            Self::Shell(command) if name == "commands" => Some(vec![command.clone()]),
            Self::Read(path) if name == "paths" => Some(vec![path.clone()]),
            _ => None,
        }
    }

    fn length(&self, name: &str) -> usize {
        match (self, name) {
            (Self::Ask(_), "options" | "choices" | "suggestions") => 2,
            (Self::Ask(_), "questions") | (Self::Read(_) | Self::Write { .. }, "files") => 1,
            _ => 0,
        }
    }
}

/// The first tool with one of these names, preferring earlier names, and the agent's own tools over those of
/// an MCP server.
fn find<'a>(tools: &'a [Tool], names: &[&str]) -> Option<&'a Tool> {
    let own = names.iter().find_map(|name| tools.iter().find(|tool| plain(&tool.name) == *name));
    own.or_else(|| {
        names.iter().find_map(|name| tools.iter().find(|tool| plain(last_part(&tool.name)) == *name))
    })
}

/// The last part of a name: `shell` for `developer__shell` and `functions.shell`.
fn last_part(name: &str) -> &str {
    let name = name.rsplit_once("__").map_or(name, |(_, last)| last);
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// Quotes text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, parameters: Value) -> Tool {
        Tool { name: name.to_owned(), namespace: None, parameters, kind: ToolKind::Function }
    }

    fn object(properties: &Value, required: &[&str]) -> Value {
        json!({"type": "object", "properties": properties, "required": required})
    }

    fn arguments(job: &Job, tools: &[Tool]) -> Value {
        job.call(tools).expect("a call").arguments()
    }

    #[test]
    fn a_shell_is_found_under_any_of_its_names_and_takes_a_string_or_a_list() {
        let job = Job::Shell("ls".to_owned());
        let text = object(&json!({"cmd": {"type": "string"}}), &["cmd"]);
        assert_eq!(arguments(&job, &[tool("exec_command", text)]), json!({"cmd": "ls"}));
        let words = object(&json!({"command": {"type": "array", "items": {"type": "string"}}}), &["command"]);
        let call = job.call(&[tool("other", json!({})), tool("developer__shell", words)]).expect("a call");
        assert_eq!(call.name, "developer__shell");
        assert_eq!(call.arguments(), json!({"command": ["bash", "-lc", "ls"]}));
    }

    #[test]
    fn the_agents_own_shell_is_preferred_to_that_of_an_mcp_server() {
        let schema = object(&json!({"command": {"type": "string"}}), &["command"]);
        let tools = [tool("mcp__x__bash", schema.clone()), tool("shell", schema)];
        assert_eq!(Job::Shell("ls".to_owned()).call(&tools).expect("a call").name, "shell");
    }

    #[test]
    fn a_sandboxed_shell_is_asked_to_leave_its_sandbox() {
        let schema = object(
            &json!({"command": {"type": "string"}, "sandbox_permissions": {"type": "string"},
                   "justification": {"type": "string"}, "workdir": {"type": "string"}}),
            &["command"],
        );
        let expected = json!({"command": "ls", "sandbox_permissions": "require_escalated",
                              "justification": "Run a scripted command"});
        assert_eq!(arguments(&Job::Shell("ls".to_owned()), &[tool("shell_command", schema)]), expected);
    }

    #[test]
    fn a_tool_that_takes_several_files_is_given_the_one() {
        let entry = object(&json!({"path": {"type": "string"}}), &["path"]);
        let schema = object(&json!({"files": {"type": "array", "items": entry}}), &["files"]);
        let job = Job::Read("/tmp/a".to_owned());
        assert_eq!(arguments(&job, &[tool("read_files", schema)]), json!({"files": [{"path": "/tmp/a"}]}));
    }

    #[test]
    fn a_question_has_two_different_answers() {
        let option = object(
            &json!({"label": {"type": "string"}, "description": {"type": "string"}}),
            &["label", "description"],
        );
        let question = object(
            &json!({"question": {"type": "string"}, "options": {"type": "array", "items": option, "minItems": 2}}),
            &["question", "options"],
        );
        let schema = object(&json!({"questions": {"type": "array", "items": question}}), &["questions"]);
        let job = Job::Ask("Really?".to_owned());
        let expected = json!({"questions": [{"question": "Really?", "options": [
            {"label": "Yes", "description": "Yes"}, {"label": "No", "description": "No"}]}]});
        assert_eq!(arguments(&job, &[tool("AskUserQuestion", schema)]), expected);
        let strings = object(
            &json!({"question": {"type": "string"}, "choices": {"type": "array", "items": {"type": "string"}}}),
            &["question", "choices"],
        );
        let expected = json!({"question": "Really?", "choices": ["Yes", "No"]});
        assert_eq!(arguments(&job, &[tool("ask_user", strings)]), expected);
    }

    #[test]
    fn a_file_is_written_by_an_editor_or_else_by_the_shell() {
        let job = Job::Write { path: "/a".to_owned(), text: "it's".to_owned() };
        let schema = object(
            &json!({"command": {"enum": ["view", "create"]}, "path": {"type": "string"}, "file_text": {"type": "string"}}),
            &["command", "path"],
        );
        let expected = json!({"command": "create", "path": "/a", "file_text": "it's"});
        assert_eq!(arguments(&job, &[tool("text_editor", schema)]), expected);
        let shell = Job::Shell("printf '%s\\n' 'it'\\''s' > '/a'".to_owned());
        assert_eq!(job.through_shell(), Some(shell));
    }
}
