use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use agent::MediaKind;
use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::{CallContext, ModelError, ModelEvent, ModelRequest};

/// A model's answer as it is said. Dropping it cancels the call.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// Something that answers conversations.
#[async_trait]
pub trait ModelProvider: Send + Sync + fmt::Debug {
    /// Makes one attempt. Ends with [`ModelEvent::Stop`] or with an error.
    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<ModelStream, ModelError>;

    /// What `model` can take.
    fn profile(&self, model: &str) -> ModelProfile;
}

/// What the request to a model must be fitted to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelProfile {
    /// The kinds of media that it can look at; others are shown as a line of text.
    pub media: Vec<MediaKind>,
}

/// The providers of a deployment, by the name that agent definitions use.
#[derive(Debug, Clone, Default)]
pub struct Providers(BTreeMap<String, Arc<dyn ModelProvider>>);

/// An agent names a provider that this deployment does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no model provider is called {0:?} here")]
pub struct UnknownProvider(pub String);

impl Providers {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider, or replaces the one of that name.
    #[must_use]
    pub fn with(mut self, name: &str, provider: Arc<dyn ModelProvider>) -> Self {
        self.0.insert(name.to_owned(), provider);
        self
    }

    /// The provider of that name. Never another one in its stead.
    pub fn find(&self, name: &str) -> Result<Arc<dyn ModelProvider>, UnknownProvider> {
        self.0.get(name).cloned().ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}
