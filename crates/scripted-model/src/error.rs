//! What can be wrong with a request, or with the server. Each dialect gives these its own shape.

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The body did not arrive whole, or is too large.
    #[error("the body cannot be read: {0}")]
    Body(String),
    /// Not JSON.
    #[error("the body is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// A field that the wire format requires is not there, or is of another kind.
    #[error("`{0}` is missing or is not {1}")]
    Field(&'static str, &'static str),
    /// No such method of a Gemini model.
    #[error("there is no method `{0}`; there are generateContent, streamGenerateContent and countTokens")]
    Method(String),
    /// The server's own address is not known.
    #[error("cannot tell the address of the listener: {0}")]
    Listener(std::io::Error),
}
