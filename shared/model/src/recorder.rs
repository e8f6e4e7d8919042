use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::{CallContext, ModelError, ModelProfile, ModelProvider, ModelRequest, ModelStream};

/// Passes every call on, and remembers it for a test to look at.
#[derive(Debug)]
pub struct Recorder {
    inner: Arc<dyn ModelProvider>,
    calls: Mutex<Vec<(ModelRequest, CallContext)>>,
}

impl Recorder {
    pub fn new(inner: Arc<dyn ModelProvider>) -> Self {
        Self { inner, calls: Mutex::default() }
    }

    /// All calls so far, the oldest first.
    pub fn calls(&self) -> Vec<(ModelRequest, CallContext)> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl ModelProvider for Recorder {
    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<ModelStream, ModelError> {
        let call = (request.clone(), context);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        self.inner.stream(request, context).await
    }

    fn profile(&self, model: &str) -> ModelProfile {
        self.inner.profile(model)
    }
}
