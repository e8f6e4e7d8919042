//! `GetExtendedAgentCard`.

use a2a::card::AgentCard;
use a2a::types::GetExtendedAgentCardRequest;
use a2a::{A2aError, Cause};

use super::Desk;
use crate::caller::Caller;

impl Desk {
    /// The card for this caller. Whether the caller is known, where that is asked for, was decided
    /// before the request came here, as for every other operation.
    #[expect(clippy::unused_self, reason = "an operation like the others")]
    pub(super) fn extended_card(
        &self,
        caller: &Caller,
        request: &GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2aError> {
        caller
            .cards
            .extended(&caller.agent, &caller.headers, request.tenant.as_deref())
            .ok_or_else(|| A2aError::new(Cause::ExtendedAgentCardNotConfigured))
    }
}
