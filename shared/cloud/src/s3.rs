//! [`Objects`] on Amazon S3, or on whatever speaks its protocol.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::Region;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{
    Builder, Credentials, RequestChecksumCalculation, ResponseChecksumValidation,
};
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::{Bytes, BytesMut};
use lambda_kit::env::{Reader, Secret};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::Cause;
use crate::aws::{self, Fault, Kind};
use crate::objects::{
    Doing, Error, MAX_PRESIGN_LIFE, Objects, Presence, PresignOptions, Put, PutOptions, SignedUrl,
    Tag,
};

/// The prefix that all keys begin with when the settings name none.
pub const DEFAULT_PREFIX: &str = "cognition";

/// Where the objects are.
#[derive(Clone)]
pub struct S3Settings {
    pub bucket: String,
    /// What all keys begin with. Slashes at its ends mean nothing; an empty one is left out.
    pub prefix: String,
    /// An S3-compatible service instead of AWS.
    pub endpoint_url: Option<String>,
    /// Without it, the region that the environment names.
    pub region: Option<String>,
    /// The bucket in the path instead of the host name.
    pub force_path_style: bool,
    /// Without it, the credentials that the environment gives; on Lambda, those of the role.
    pub credentials: Option<StaticCredentials>,
}

/// Credentials that do not expire, for a local endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticCredentials {
    pub access_key: String,
    pub secret_key: Secret,
}

impl S3Settings {
    /// Reads `COGNITION_S3_BUCKET` (required), `COGNITION_S3_PREFIX` (`cognition`),
    /// `COGNITION_S3_ENDPOINT_URL`, `COGNITION_S3_REGION` and `COGNITION_S3_FORCE_PATH_STYLE`
    /// (false). An empty prefix is written `/`, since an empty value means the default.
    pub fn read(read: &mut Reader<'_>) -> Option<Self> {
        let bucket = read.required("COGNITION_S3_BUCKET");
        let prefix = read.or("COGNITION_S3_PREFIX", DEFAULT_PREFIX.to_owned());
        let endpoint_url =
            read.parsed("COGNITION_S3_ENDPOINT_URL", "an http or https address", |text| {
                is_address(text).then(|| text.to_owned())
            });
        let region = read.optional("COGNITION_S3_REGION");
        let force_path_style = read.or("COGNITION_S3_FORCE_PATH_STYLE", false);
        let bucket = bucket?;
        Some(Self { bucket, prefix, endpoint_url, region, force_path_style, credentials: None })
    }
}

impl fmt::Debug for S3Settings {
    /// Prints nothing: a bucket's name reaches no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("S3Settings")
    }
}

/// The bucket of this deployment.
#[derive(Clone)]
pub struct S3Objects {
    client: Client,
    bucket: String,
    /// Empty, or with a slash at its end.
    prefix: String,
}

impl fmt::Debug for S3Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("S3Objects")
    }
}

impl S3Objects {
    /// Makes the client. Sends nothing to the bucket; a wrong setting shows at the first call.
    pub async fn connect(settings: S3Settings) -> Self {
        let mut loader = aws::loader();
        if let Some(region) = settings.region {
            loader = loader.region(Region::new(region));
        }
        if let Some(StaticCredentials { access_key, secret_key }) = settings.credentials {
            let secret = secret_key.expose();
            let credentials = Credentials::new(access_key, secret, None, None, "settings");
            loader = loader.credentials_provider(credentials);
        }
        let direct = settings.endpoint_url.as_deref().is_some_and(is_on_this_machine);
        if direct {
            // A proxy that the environment names leads away from this machine.
            loader = loader.http_client(aws_smithy_http_client::Builder::new().build_http());
        }
        let mut config = Builder::from(&loader.load().await)
            .force_path_style(settings.force_path_style)
            // A put carries its SHA-256, and readers compare the digest that they know.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired);
        if let Some(endpoint) = settings.endpoint_url {
            config = config.endpoint_url(endpoint);
        }
        let prefix = match settings.prefix.trim_matches('/') {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        Self { client: Client::from_conf(config.build()), bucket: settings.bucket, prefix }
    }

    /// Makes the bucket, where an endpoint starts empty. On AWS it comes with the infrastructure.
    pub async fn create_bucket(&self) -> Result<(), Error> {
        match self.client.create_bucket().bucket(&self.bucket).send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(failed(Doing::CreateBucket, Fault::read(&error))),
        }
    }

    /// The tags of an object, in order: what a lifecycle rule sees.
    pub async fn tags(&self, key: &str) -> Result<Vec<Tag>, Error> {
        let request = self.client.get_object_tagging().bucket(&self.bucket).key(self.full(key));
        let answer =
            request.send().await.map_err(|error| failed(Doing::ReadTags, Fault::read(&error)))?;
        let mut tags: Vec<Tag> =
            answer.tag_set.into_iter().map(|tag| Tag { key: tag.key, value: tag.value }).collect();
        tags.sort();
        Ok(tags)
    }

    fn full(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

#[async_trait]
impl Objects for S3Objects {
    async fn put_new(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<Put, Error> {
        let answer = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(self.full(key))
            .if_none_match("*")
            .content_type(options.content_type)
            .set_tagging(options.tag.as_ref().map(tagging))
            .checksum_sha256(BASE64.encode(options.sha256))
            .body(ByteStream::from(bytes))
            .send()
            .await;
        let Err(error) = answer else { return Ok(Put::Stored) };
        let fault = Fault::read(&error);
        if fault.status == Some(412) {
            return Ok(Put::AlreadyThere);
        }
        if error.code().is_some_and(is_mismatch) {
            return Err(Error::Mismatch { doing: Doing::Put, cause: fault.cause });
        }
        Err(failed(Doing::Put, fault))
    }

    async fn get(&self, key: &str, max_bytes: u64) -> Result<Option<Bytes>, Error> {
        let request = self.client.get_object().bucket(&self.bucket).key(self.full(key));
        let object = match request.send().await {
            Ok(object) => object,
            Err(error) if error.code() == Some("NoSuchKey") => return Ok(None),
            Err(error) => return Err(failed(Doing::Get, Fault::read(&error))),
        };
        let size = object.content_length.and_then(|size| u64::try_from(size).ok());
        if size.is_some_and(|size| size > max_bytes) {
            return Err(Error::TooLarge { doing: Doing::Get });
        }
        read_at_most(object.body, max_bytes, size).await.map(Some)
    }

    async fn head(&self, key: &str) -> Result<Presence, Error> {
        let request = self.client.head_object().bucket(&self.bucket).key(self.full(key));
        let fault = match request.send().await {
            Ok(object) => {
                let size = object.content_length.and_then(|size| u64::try_from(size).ok());
                return size.map(|size| Presence::Here { size }).ok_or(Error::Unavailable {
                    doing: Doing::Head,
                    cause: Cause::new("the answer has no size"),
                });
            }
            Err(error) => Fault::read(&error),
        };
        if fault.status != Some(404) {
            return Err(failed(Doing::Head, fault));
        }
        // An answer to HEAD has no body, so this may as well be a bucket that is gone.
        match self.client.head_bucket().bucket(&self.bucket).send().await {
            Ok(_) => Ok(Presence::Missing),
            Err(error) => Err(failed(Doing::Head, Fault::read(&error))),
        }
    }

    async fn presign_get(&self, key: &str, options: PresignOptions) -> Result<SignedUrl, Error> {
        let refused = |cause| Error::Refused { doing: Doing::Presign, cause: Cause::new(cause) };
        if options.life > MAX_PRESIGN_LIFE || options.life < Duration::from_secs(1) {
            return Err(refused("an address lives from one second to seven days"));
        }
        let life = PresigningConfig::expires_in(options.life)
            .map_err(|_| refused("an address lives from one second to seven days"))?;
        let request = self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(self.full(key))
            .response_content_type(options.content_type)
            .response_content_disposition(options.content_disposition);
        match request.presigned(life).await {
            Ok(signed) => Ok(SignedUrl::new(signed.uri())),
            Err(error) => Err(failed(Doing::Presign, Fault::read(&error))),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, Error> {
        let answer = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(self.full(prefix))
            .set_start_after(after.map(|key| self.full(key)))
            .send()
            .await
            .map_err(|error| failed(Doing::List, Fault::read(&error)))?;
        let keys = answer.contents.unwrap_or_default().into_iter().filter_map(|object| object.key);
        Ok(keys.filter_map(|key| key.strip_prefix(&self.prefix).map(str::to_owned)).collect())
    }

    async fn delete(&self, key: &str) -> Result<(), Error> {
        let request = self.client.delete_object().bucket(&self.bucket).key(self.full(key));
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(failed(Doing::Delete, Fault::read(&error))),
        }
    }
}

/// Gathers the body, and stops at the first byte too many whatever its length was said to be.
async fn read_at_most(
    mut body: ByteStream,
    max_bytes: u64,
    size: Option<u64>,
) -> Result<Bytes, Error> {
    let room = size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
    let mut bytes = BytesMut::with_capacity(room);
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Error::Unavailable {
            doing: Doing::Get,
            cause: Cause::new("the answer was cut short"),
        })?;
        if (bytes.len() + chunk.len()) as u64 > max_bytes {
            return Err(Error::TooLarge { doing: Doing::Get });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

/// The tag as the header carries it: one pair of a query string.
fn tagging(tag: &Tag) -> String {
    let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
    format!("{}={}", encode(&tag.key), encode(&tag.value))
}

fn is_mismatch(code: &str) -> bool {
    matches!(code, "BadDigest" | "InvalidDigest" | "XAmzContentChecksumMismatch")
}

fn failed(doing: Doing, Fault { kind, cause, .. }: Fault) -> Error {
    match kind {
        Kind::Denied => Error::Denied { doing, cause },
        Kind::Unavailable => Error::Unavailable { doing, cause },
        Kind::Refused => Error::Refused { doing, cause },
    }
}

fn is_address(text: &str) -> bool {
    let uri = text.parse::<http::Uri>().ok();
    uri.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")))
}

/// Whether the address is plain HTTP to a loopback address.
fn is_on_this_machine(endpoint: &str) -> bool {
    let Ok(uri) = endpoint.parse::<http::Uri>() else { return false };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let loopback = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    uri.scheme_str() == Some("http") && (host == "localhost" || loopback)
}

#[cfg(test)]
mod tests;
