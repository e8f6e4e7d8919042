use std::error::Error;
use std::fmt;
use std::time::Duration;

use agent::retry::ErrorClass;

/// A call that gave no answer. What may be done about it follows from the class alone
/// ([`agent::retry::after_error`]).
#[derive(Debug, thiserror::Error)]
#[error("ask the model: {class}")]
pub struct ModelError {
    pub class: ErrorClass,
    /// How long the provider asks us to wait.
    pub retry_after: Option<Duration>,
    #[source]
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl ModelError {
    pub const fn new(class: ErrorClass) -> Self {
        Self { class, retry_after: None, cause: None }
    }

    /// `cause` must name neither keys nor the conversation.
    #[must_use]
    pub fn because(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    #[must_use]
    pub const fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

impl From<ErrorClass> for ModelError {
    fn from(class: ErrorClass) -> Self {
        Self::new(class)
    }
}

/// A short cause in our own words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reason(pub(crate) &'static str);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Reason {}
