//! From a file in the sandbox to objects that were read back and compared.

use bytes::Bytes;
use cloud::objects::{Objects, Put, PutOptions, Tag};
use domain::{PublicationFailure, limits};
use published::{DESCRIPTOR_CONTENT_TYPE, Descriptor, Digest, Namespace};
use sandbox_protocol::client::{Client, Transport};
use sandbox_protocol::{RelativePath, Secret, runtime_token};
use store::publications::{Delivery, Requested, Verified};

use crate::policy::Policy;
use crate::trouble::Trouble;

/// A file's bytes, in memory only, and what is known of them.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) bytes: Bytes,
    pub(crate) digest: Digest,
}

/// An object that is in the store, byte for byte: made by [`store`] alone.
#[derive(Debug)]
pub(crate) struct Stored {
    key: String,
    digest: Digest,
}

/// A file whose bytes and descriptor are both stored and compared: what may be activated.
#[derive(Debug)]
pub(crate) struct Snapshot {
    file: File,
    delivery: Delivery,
    object: Stored,
    descriptor: Stored,
}

impl Snapshot {
    pub(crate) fn verified(&self) -> Verified<'_> {
        Verified {
            // At most 10 MiB.
            size: i64::try_from(self.file.bytes.len()).unwrap_or(i64::MAX),
            sha256: self.file.digest.as_hex(),
            object_key: &self.object.key,
            descriptor_key: &self.descriptor.key,
            descriptor_sha256: self.descriptor.digest.as_hex(),
            inline: match self.delivery {
                Delivery::Raw => Some(&self.file.bytes),
                Delivery::Url => None,
            },
        }
    }

    pub(crate) fn new(file: File, delivery: Delivery, object: Stored, descriptor: Stored) -> Self {
        Self { file, delivery, object, descriptor }
    }
}

/// Reads the file from the sandbox that was recorded with the publication, at most `max_bytes` of
/// it. The sandbox compares the generation and refuses an old one.
pub(crate) async fn download(
    transport: &Transport,
    runtime_key: &[u8],
    requested: &Requested,
    path: &RelativePath,
    policy: &Policy,
) -> Result<Bytes, Trouble> {
    let endpoint = requested.endpoint.as_deref().ok_or(PublicationFailure::SandboxReplaced)?;
    let token: Secret = runtime_token(runtime_key, requested.instance.as_uuid());
    let client = Client::new(transport, endpoint, token).with_generation(requested.generation);
    Ok(client.read_bounded(path, policy.max_bytes).await?.bytes)
}

/// Stores the bytes with the tag by which operators expire them.
pub(crate) async fn upload(
    objects: &dyn Objects,
    namespace: &Namespace,
    requested: &Requested,
    file: &File,
) -> Result<Unchecked, Trouble> {
    let options = PutOptions {
        content_type: requested.media_type.clone(),
        tag: Some(Tag::new(limits::CONTENT_CLASS_TAG, limits::PUBLISHED_FILE)),
        sha256: *file.digest.as_bytes(),
    };
    let key = namespace.object_key(requested.id, file.digest.as_hex());
    put(objects, key, file.bytes.clone(), file.digest.clone(), options).await
}

/// Stores the descriptor of bytes that are stored.
pub(crate) async fn describe(
    objects: &dyn Objects,
    namespace: &Namespace,
    requested: &Requested,
    file: &File,
    object: &Stored,
    delivery: Delivery,
) -> Result<Stored, Trouble> {
    let descriptor = Descriptor {
        id: requested.id.as_uuid(),
        object_key: object.key.clone(),
        checksum: file.digest.as_hex().to_owned(),
        size: file.bytes.len() as u64,
        filename: requested.filename.clone(),
        media_type: requested.media_type.clone(),
        kind: delivery.into(),
    };
    let body = Bytes::from(descriptor.to_json());
    let digest = Digest::of(&body);
    let options = PutOptions {
        content_type: DESCRIPTOR_CONTENT_TYPE.to_owned(),
        tag: None,
        sha256: *digest.as_bytes(),
    };
    let key = namespace.descriptor_key(requested.id, digest.as_hex());
    put(objects, key, body, digest, options).await?.verify(objects).await
}

/// An object that was given to the store, and nothing more is known.
#[derive(Debug)]
pub(crate) struct Unchecked {
    key: String,
    size: usize,
    digest: Digest,
}

async fn put(
    objects: &dyn Objects,
    key: String,
    bytes: Bytes,
    digest: Digest,
    options: PutOptions,
) -> Result<Unchecked, Trouble> {
    let size = bytes.len();
    match objects.put_new(&key, bytes, options).await? {
        // What is there already is of an earlier attempt, or it is not: the comparison tells.
        Put::Stored | Put::AlreadyThere => Ok(Unchecked { key, size, digest }),
    }
}

impl Unchecked {
    /// Reads the object back and compares it. The only way to [`Stored`].
    pub(crate) async fn verify(self, objects: &dyn Objects) -> Result<Stored, Trouble> {
        let Self { key, size, digest } = self;
        let found = objects.get(&key, size as u64).await?.ok_or(Trouble::Differs)?;
        if found.len() == size && Digest::of(&found) == digest {
            Ok(Stored { key, digest })
        } else {
            Err(Trouble::Differs)
        }
    }
}
