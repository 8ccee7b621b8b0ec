//! Errors of a request or of the server. Each dialect formats them in its own way.

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The body is incomplete or too large.
    #[error("the body cannot be read: {0}")]
    Body(String),
    /// The body is not JSON.
    #[error("the body is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// A required field is missing or has the wrong type.
    #[error("`{0}` is missing or is not {1}")]
    Field(&'static str, &'static str),
    /// An unknown method of a Gemini model.
    #[error("there is no method `{0}`; available are generateContent, streamGenerateContent and countTokens")]
    Method(String),
    /// The listener's address is unknown.
    #[error("cannot determine the address of the listener: {0}")]
    Listener(std::io::Error),
}
