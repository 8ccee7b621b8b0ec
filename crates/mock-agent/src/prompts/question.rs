//! Requests to the user: Sandbox Agent's questions, and ACP's elicitation.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    BooleanPropertySchema, CreateElicitationRequest, ElicitationAction, ElicitationFormMode,
    ElicitationSchema, ElicitationSessionScope, NumberPropertySchema, StringPropertySchema,
};
use futures_util::future::try_join_all;

use super::permission::MAX_AT_ONCE;
use super::required_number;
use crate::extension::{QuestionAnswer, RequestQuestion};
use crate::turn::{DONE, Outcome, Stop, Turn};

/// `question`
pub(super) async fn one(turn: &Turn, _: &str) -> Outcome {
    let answer = ask(turn, 1).await?;
    turn.say(format!("Question {answer}.")).await?;
    Ok(DONE)
}

/// `questions N`
pub(super) async fn many(turn: &Turn, rest: &str) -> Outcome {
    let count = required_number(rest, 0, MAX_AT_ONCE)?;
    let answers = try_join_all((1..=count).map(|index| ask(turn, index))).await?;
    for (index, answer) in answers.into_iter().enumerate() {
        turn.say(format!("Question {} {answer}.\n", index + 1)).await?;
    }
    turn.say(format!("All {count} questions are answered.")).await?;
    Ok(DONE)
}

async fn ask(turn: &Turn, index: u64) -> Result<String, Stop> {
    let request = RequestQuestion {
        session_id: turn.session.id(),
        question_id: format!("mock-question-{}-{index}", turn.number),
        prompt: "Which option?".to_owned(),
        options: vec![
            ("option-a".to_owned(), "Option A".to_owned()),
            ("option-b".to_owned(), "Option B".to_owned()),
        ],
    };
    Ok(match turn.ask(request).await? {
        Ok(QuestionAnswer::Answered { answers }) => {
            let chosen: Vec<String> = answers.iter().map(|chosen| chosen.join(" and ")).collect();
            format!("answered: {}", chosen.join("; "))
        }
        Ok(QuestionAnswer::Rejected) => "rejected".to_owned(),
        Err(error) => client_error(&error),
    })
}

/// `elicit`
pub(super) async fn elicit(turn: &Turn, _: &str) -> Outcome {
    let capabilities = turn.agent.client_capabilities();
    if !capabilities.elicitation.is_some_and(|elicitation| elicitation.supports_form()) {
        return Err(Stop::Say("This client cannot show forms (no elicitation.form capability).".to_owned()));
    }
    let colours = ["red", "green", "blue"].map(str::to_owned).to_vec();
    let schema = ElicitationSchema::new()
        .title("A form".to_owned())
        .property("name", StringPropertySchema::new().title("Name".to_owned()).min_length(1), REQUIRED)
        .property("count", NumberPropertySchema::new().title("Count".to_owned()).minimum(0.0), REQUIRED)
        .property(
            "sure",
            BooleanPropertySchema::new().title("Sure".to_owned()).default_value(false),
            OPTIONAL,
        )
        .property(
            "colour",
            StringPropertySchema::new().title("Colour".to_owned()).enum_values(colours),
            OPTIONAL,
        );
    let form = ElicitationFormMode::new(ElicitationSessionScope::new(turn.session.id()), schema);
    let words = match turn.ask(CreateElicitationRequest::new(form, "Please fill in the form.")).await? {
        Ok(response) => match response.action {
            ElicitationAction::Accept(accepted) => {
                let content = serde_json::to_string(&accepted.content).map_err(Error::into_internal_error)?;
                format!("accepted: {content}")
            }
            ElicitationAction::Decline => "declined".to_owned(),
            ElicitationAction::Cancel => "dismissed".to_owned(),
            other => format!("answered with an unknown action: {other:?}"),
        },
        Err(error) => client_error(&error),
    };
    turn.say(format!("Form {words}.")).await?;
    Ok(DONE)
}

/// Readable names for a boolean argument of the SDK.
const REQUIRED: bool = true;
const OPTIONAL: bool = false;

/// Describes an error response, in words that fit after "Question" or "Form".
fn client_error(error: &Error) -> String {
    format!("not answered: the client answered with an error: {error}")
}
