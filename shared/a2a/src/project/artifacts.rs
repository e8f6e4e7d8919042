//! What a task's artifact updates add up to.

use std::collections::HashMap;

use domain::{ArtifactContent, ArtifactId, ArtifactUpdate, PublicationId};

use super::{Held, Resolved, Unprojectable, content};
use crate::types::Artifact;

/// The artifacts of one task, in the order in which each came first.
///
/// Made of updates in the order of the log. An update that does not append replaces what its
/// artifact held; one that appends adds to it, and makes the artifact where there is none yet. Text
/// that follows text goes on with it, unless it is said to be of another type or file: chunks are
/// how it travelled, not what it is. Name, description and extensions stay until others come.
/// Nothing is dropped that comes after a last chunk.
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
    description: Option<String>,
    extensions: Vec<String>,
    contents: Vec<Held>,
}

impl Artifacts {
    /// Takes the next update.
    pub fn apply(&mut self, update: ArtifactUpdate) {
        let held = Held::of(&update);
        let ArtifactUpdate { artifact, name, append, last_chunk: _, content: _, about } = update;
        let place = *self.places.entry(artifact.clone()).or_insert(self.merged.len());
        let Some(merged) = self.merged.get_mut(place) else {
            self.merged.push(Merged {
                id: artifact,
                name,
                description: about.description,
                extensions: about.extensions,
                contents: vec![held],
            });
            return;
        };
        merged.name = name.or(merged.name.take());
        merged.description = about.description.or(merged.description.take());
        if !about.extensions.is_empty() {
            merged.extensions = about.extensions;
        }
        if !append {
            merged.contents.clear();
        }
        match merged.contents.last_mut() {
            Some(last) if last.takes(&held) => last.append(held),
            _ => merged.contents.push(held),
        }
    }

    /// What must be resolved before this can be shown.
    pub fn publications(&self) -> impl Iterator<Item = PublicationId> + '_ {
        let contents = self.merged.iter().flat_map(|merged| &merged.contents);
        contents.filter_map(|held| match held.content {
            ArtifactContent::Published { publication } => Some(publication),
            ArtifactContent::Text { .. }
            | ArtifactContent::Data { .. }
            | ArtifactContent::Link { .. } => None,
        })
    }

    pub(super) fn into_wire(self, resolved: &Resolved) -> Result<Vec<Artifact>, Unprojectable> {
        let artifacts = self.merged.into_iter().map(|merged| {
            let parts = merged.contents.into_iter().map(|one| content(one, resolved));
            Ok(Artifact {
                artifact_id: merged.id.0,
                name: merged.name,
                description: merged.description,
                parts: parts.collect::<Result<_, Unprojectable>>()?,
                metadata: None,
                extensions: merged.extensions,
            })
        });
        artifacts.collect()
    }
}

impl Held {
    /// Whether `next` is only the rest of this.
    fn takes(&self, next: &Self) -> bool {
        let text = |held: &Self| matches!(held.content, ArtifactContent::Text { .. });
        let same = |mine: &Option<String>, other: &Option<String>| other.is_none() || mine == other;
        text(self)
            && text(next)
            && same(&self.media_type, &next.media_type)
            && same(&self.filename, &next.filename)
    }

    fn append(&mut self, next: Self) {
        if let (ArtifactContent::Text { text }, ArtifactContent::Text { text: more }) =
            (&mut self.content, next.content)
        {
            text.push_str(&more);
        }
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
