//! `GetExtendedAgentCard`.

use a2a::card::AgentCard;
use a2a::types::GetExtendedAgentCardRequest;
use a2a::{A2aError, Cause};

use super::Desk;
use crate::caller::Caller;

impl Desk {
    #[expect(clippy::unused_self, reason = "an operation like the others")]
    pub(super) fn extended_card(
        &self,
        _caller: &Caller,
        _request: &GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2aError> {
        Err(A2aError::new(Cause::ExtendedAgentCardNotConfigured))
    }
}
