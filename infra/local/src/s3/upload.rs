//! The bytes of an upload: gathered within bounds, and compared with what the writer said of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use hyper::HeaderMap;
use s3s::checksum::ChecksumHasher;
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Crc64Nvme, Md5, Sha1, Sha256};
use s3s::dto::{PutObjectInput, StreamingBlob};
use s3s::{S3Result, s3_error};

/// The largest object. Objects are held in memory while they are read or written.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The digests that every object has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sums {
    /// Hex.
    pub(super) md5: String,
    /// Base64.
    pub(super) sha256: String,
}

pub(super) async fn gather(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let mut bytes = BytesMut::new();
    let Some(mut body) = body else { return Ok(bytes.freeze()) };
    loop {
        // The stream also compares the bytes with the digest that was signed.
        match body.try_next().await {
            Ok(Some(chunk)) if bytes.len() + chunk.len() > MAX_BYTES => {
                return Err(s3_error!(EntityTooLarge));
            }
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(bytes.freeze()),
            Err(_) => return Err(s3_error!(IncompleteBody)),
        }
    }
}

/// Compares the bytes with every checksum that came with them, in the head or behind the body.
pub(super) fn verified(
    bytes: &Bytes,
    input: &PutObjectInput,
    trailers: &HeaderMap,
) -> S3Result<Sums> {
    let said = |said: &Option<String>, name| {
        let trailer = || trailers.get(name).and_then(|value| value.to_str().ok());
        said.as_deref().or_else(trailer).map(str::to_owned)
    };
    let crc32 = said(&input.checksum_crc32, "x-amz-checksum-crc32");
    let crc32c = said(&input.checksum_crc32c, "x-amz-checksum-crc32c");
    let crc64nvme = said(&input.checksum_crc64nvme, "x-amz-checksum-crc64nvme");
    let sha1 = said(&input.checksum_sha1, "x-amz-checksum-sha1");
    let sha256 = said(&input.checksum_sha256, "x-amz-checksum-sha256");
    let mut hasher = ChecksumHasher {
        crc32: crc32.as_ref().map(|_| Crc32::default()),
        crc32c: crc32c.as_ref().map(|_| Crc32c::default()),
        crc64nvme: crc64nvme.as_ref().map(|_| Crc64Nvme::default()),
        sha1: sha1.as_ref().map(|_| Sha1::default()),
        sha256: Some(Sha256::new()),
    };
    hasher.update(bytes);
    let is = hasher.finalize();
    let same = is.checksum_crc32 == crc32
        && is.checksum_crc32c == crc32c
        && is.checksum_crc64nvme == crc64nvme
        && is.checksum_sha1 == sha1
        && (sha256.is_none() || is.checksum_sha256 == sha256);
    let md5 = Md5::checksum(bytes);
    let content_md5 = input.content_md5.as_deref();
    if !same || content_md5.is_some_and(|said| said != BASE64.encode(md5)) {
        return Err(s3_error!(BadDigest));
    }
    let sha256 = is.checksum_sha256.ok_or_else(|| s3_error!(InternalError))?;
    Ok(Sums { md5: hex::encode(md5), sha256 })
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    /// Base64 of the digests of `sales`, made with other tools.
    const SALES: [(&str, &str); 4] = [
        ("x-amz-checksum-crc32", "a4FwRA=="),
        ("x-amz-checksum-crc32c", "MI4DeQ=="),
        ("x-amz-checksum-sha1", "WSSMTa4nagIcspbS7g5qDJYqjX8="),
        ("x-amz-checksum-sha256", "4E6ykCDqqWHpnTFiY16f6VhcWhEhvYh4TBN4qog3GVw="),
    ];

    fn check(bytes: &'static str, trailer: (&'static str, &'static str)) -> S3Result<Sums> {
        let trailers = [(trailer.0, trailer.1)]
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        verified(
            &Bytes::from_static(bytes.as_bytes()),
            &PutObjectInput::default(),
            &HeaderMap::from_iter(trailers),
        )
    }

    #[test]
    fn each_kind_of_checksum_is_compared() {
        for sum in SALES {
            check("sales", sum).unwrap();
            let error = check("Sales", sum).unwrap_err();
            assert_eq!(error.code(), &s3s::S3ErrorCode::BadDigest, "{}", sum.0);
        }
    }

    #[test]
    fn a_checksum_in_the_head_and_a_content_md5_are_compared_too() {
        let bytes = Bytes::from_static(b"sales");
        let [.., (_, sha256)] = SALES;
        for (checksum_sha256, content_md5, good) in [
            (Some(sha256), None, true),
            (Some("AAAA"), None, false),
            (None, Some("ntCDsUNuX0DvmEsoJV7vGA=="), true),
            (None, Some("AAAA"), false),
        ] {
            let input = PutObjectInput {
                checksum_sha256: checksum_sha256.map(str::to_owned),
                content_md5: content_md5.map(str::to_owned),
                ..Default::default()
            };
            assert_eq!(verified(&bytes, &input, &HeaderMap::new()).is_ok(), good, "{input:?}");
        }
    }
}
