//! From a row to what a client gets.

use bytes::Bytes;
use cloud::objects::{self, Objects, Presence, PresignOptions, SignedUrl, attachment};
use domain::limits;
use store::publications::{Delivery, Published};

use crate::{Descriptor, Digest, MAX_DESCRIPTOR_BYTES, Namespace};

/// A published file as one reader gets it, now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    Inline {
        bytes: Bytes,
    },
    /// Good for [`limits::DOWNLOAD_URL_LIFE`], and never stored: the next reader gets another.
    Url(SignedUrl),
    /// The bytes are not in the store any more; nothing is said of why.
    Unavailable,
}

/// Why a published file cannot be handed out. Not a statement on whether it is still there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Row, descriptor and scope do not belong together, or something was changed.
    #[error("check the published file")]
    Broken(#[source] Broken),
    #[error("find the published file")]
    Objects(#[source] objects::Error),
}

/// What does not fit. Names no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("its key is not the one of this scope")]
    Key,
    #[error("the inline bytes are not those that were published")]
    Inline,
    #[error("its descriptor is gone")]
    DescriptorGone,
    #[error("its descriptor has another digest")]
    DescriptorDigest,
    #[error("its descriptor cannot be read")]
    DescriptorBody,
    #[error("its descriptor describes another file")]
    DescriptorFields,
    #[error("the object has another size")]
    Size,
}

/// Resolves an active publication for a reader whose exact scope `namespace` is made of.
///
/// A file that travels by address is compared before the object itself is looked for: the keys with
/// those computed here, the descriptor with its digest and with the row. Only a store that says that
/// the object is missing makes it [`Resolved::Unavailable`]; every doubt is an error. Inline bytes
/// need no store, and stay readable whatever becomes of it.
pub async fn resolve(
    objects: &dyn Objects,
    namespace: &Namespace,
    row: &Published,
) -> Result<Resolved, Error> {
    match row.delivery {
        Delivery::Raw => inline(row),
        Delivery::Url => {
            check_keys(namespace, row)?;
            address(objects, row).await
        }
    }
}

fn check_keys(namespace: &Namespace, row: &Published) -> Result<(), Error> {
    let object = namespace.object_key(row.id, &row.sha256);
    let descriptor = namespace.descriptor_key(row.id, &row.descriptor_sha256);
    if row.object_key == object && row.descriptor_key == descriptor {
        Ok(())
    } else {
        Err(Error::Broken(Broken::Key))
    }
}

fn inline(row: &Published) -> Result<Resolved, Error> {
    let bytes = row.inline.as_deref().ok_or(Error::Broken(Broken::Inline))?;
    if bytes.len() as u64 == row.size && Digest::of(bytes).as_hex() == row.sha256 {
        Ok(Resolved::Inline { bytes: Bytes::copy_from_slice(bytes) })
    } else {
        Err(Error::Broken(Broken::Inline))
    }
}

async fn address(objects: &dyn Objects, row: &Published) -> Result<Resolved, Error> {
    let body = objects
        .get(&row.descriptor_key, MAX_DESCRIPTOR_BYTES)
        .await
        .map_err(Error::Objects)?
        .ok_or(Error::Broken(Broken::DescriptorGone))?;
    if Digest::of(&body).as_hex() != row.descriptor_sha256 {
        return Err(Error::Broken(Broken::DescriptorDigest));
    }
    let descriptor: Descriptor =
        serde_json::from_slice(&body).map_err(|_| Error::Broken(Broken::DescriptorBody))?;
    if !descriptor.agrees_with(row) {
        return Err(Error::Broken(Broken::DescriptorFields));
    }
    match objects.head(&row.object_key).await.map_err(Error::Objects)? {
        Presence::Missing => return Ok(Resolved::Unavailable),
        Presence::Here { size } if size != row.size => return Err(Error::Broken(Broken::Size)),
        Presence::Here { .. } => {}
    }
    let options = PresignOptions {
        life: limits::DOWNLOAD_URL_LIFE,
        content_type: row.media_type.clone(),
        content_disposition: attachment(&row.filename),
    };
    objects.presign_get(&row.object_key, options).await.map(Resolved::Url).map_err(Error::Objects)
}
