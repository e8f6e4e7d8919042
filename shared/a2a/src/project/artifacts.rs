//! What a task's artifact updates add up to.

use std::collections::HashMap;

use domain::{ArtifactContent, ArtifactId, ArtifactUpdate, PublicationId};

use super::{Resolved, Unprojectable, content};
use crate::types::Artifact;

/// The artifacts of one task, in the order in which each came first.
///
/// Made of updates in the order of the log. An update that does not append replaces what its
/// artifact held; one that appends adds to it, and makes the artifact where there is none yet. Text
/// that follows text goes on with it: chunks are how it travelled, not what it is. Nothing is
/// dropped that comes after a last chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artifacts {
    merged: Vec<Merged>,
    /// Where each artifact is in `merged`.
    places: HashMap<ArtifactId, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Merged {
    id: ArtifactId,
    name: Option<String>,
    contents: Vec<ArtifactContent>,
}

impl Artifacts {
    /// Takes the next update.
    pub fn apply(&mut self, update: ArtifactUpdate) {
        let ArtifactUpdate { artifact, name, append, last_chunk: _, content } = update;
        let place = *self.places.entry(artifact.clone()).or_insert(self.merged.len());
        let Some(merged) = self.merged.get_mut(place) else {
            self.merged.push(Merged { id: artifact, name, contents: vec![content] });
            return;
        };
        merged.name = name.or(merged.name.take());
        match (merged.contents.last_mut(), content) {
            (Some(ArtifactContent::Text { text }), ArtifactContent::Text { text: more })
                if append =>
            {
                text.push_str(&more);
            }
            (_, content) if append => merged.contents.push(content),
            (_, content) => merged.contents = vec![content],
        }
    }

    /// What must be resolved before this can be shown.
    pub fn publications(&self) -> impl Iterator<Item = PublicationId> + '_ {
        let contents = self.merged.iter().flat_map(|merged| &merged.contents);
        contents.filter_map(|content| match content {
            ArtifactContent::Published { publication } => Some(*publication),
            ArtifactContent::Text { .. } | ArtifactContent::Data { .. } => None,
        })
    }

    pub(super) fn into_wire(self, resolved: &Resolved) -> Result<Vec<Artifact>, Unprojectable> {
        let artifacts = self.merged.into_iter().map(|merged| {
            let parts = merged.contents.into_iter().map(|one| content(one, resolved));
            Ok(Artifact {
                artifact_id: merged.id.0,
                name: merged.name,
                description: None,
                parts: parts.collect::<Result<_, Unprojectable>>()?,
                metadata: None,
                extensions: Vec::new(),
            })
        });
        artifacts.collect()
    }
}

impl Extend<ArtifactUpdate> for Artifacts {
    fn extend<T: IntoIterator<Item = ArtifactUpdate>>(&mut self, updates: T) {
        updates.into_iter().for_each(|update| self.apply(update));
    }
}

impl FromIterator<ArtifactUpdate> for Artifacts {
    fn from_iter<T: IntoIterator<Item = ArtifactUpdate>>(updates: T) -> Self {
        let mut artifacts = Self::default();
        artifacts.extend(updates);
        artifacts
    }
}
