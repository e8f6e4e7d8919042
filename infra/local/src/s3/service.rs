//! The operations of S3 that the folder serves.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use s3s::dto::{self, ETag, StreamingBlob};
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};

use super::convert::{encode, rule, rule_out, tag_set, tags_of_header, tags_of_set, time};
use super::folder::{Folder, Written};
use super::listing::{self, Wanted};
use super::record::{About, Record};
use super::upload::{Sums, gather, verified};

#[derive(Debug, Clone)]
pub(super) struct Service {
    folder: Arc<Folder>,
}

impl Service {
    pub(super) fn new(folder: Arc<Folder>) -> Self {
        Self { folder }
    }

    /// Does `work` with the folder on a thread that may wait for the disk.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folder) -> io::Result<T> + Send + 'static,
    ) -> S3Result<T> {
        let folder = Arc::clone(&self.folder);
        let done = tokio::task::spawn_blocking(move || work(&folder)).await;
        match done.map_err(io::Error::other).flatten() {
            Ok(value) => Ok(value),
            Err(error) => {
                tracing::error!("work on the object folder: {error}");
                Err(s3_error!(InternalError))
            }
        }
    }

    fn in_bucket(&self, bucket: &str) -> S3Result<()> {
        if self.folder.has_bucket(bucket) { Ok(()) } else { Err(s3_error!(NoSuchBucket)) }
    }

    async fn record(&self, bucket: String, key: String) -> S3Result<Record> {
        self.in_bucket(&bucket)?;
        let record = self.with(move |folder| folder.record(&bucket, &key)).await?;
        record.ok_or_else(|| s3_error!(NoSuchKey))
    }

    async fn change(
        &self,
        bucket: String,
        key: String,
        change: impl FnOnce(&mut About) + Send + 'static,
    ) -> S3Result<()> {
        self.in_bucket(&bucket)?;
        let found = self.with(move |folder| folder.change(&bucket, &key, change)).await?;
        if found { Ok(()) } else { Err(s3_error!(NoSuchKey)) }
    }
}

#[async_trait]
impl S3 for Service {
    async fn create_bucket(
        &self,
        request: S3Request<dto::CreateBucketInput>,
    ) -> S3Result<S3Response<dto::CreateBucketOutput>> {
        let bucket = request.input.bucket;
        if self.folder.has_bucket(&bucket) {
            return Err(s3_error!(BucketAlreadyOwnedByYou));
        }
        let location = Some(format!("/{bucket}"));
        self.with(move |folder| folder.make_bucket(&bucket)).await?;
        Ok(S3Response::new(dto::CreateBucketOutput { location }))
    }

    async fn head_bucket(
        &self,
        request: S3Request<dto::HeadBucketInput>,
    ) -> S3Result<S3Response<dto::HeadBucketOutput>> {
        self.in_bucket(&request.input.bucket)?;
        Ok(S3Response::new(dto::HeadBucketOutput::default()))
    }

    async fn list_buckets(
        &self,
        _: S3Request<dto::ListBucketsInput>,
    ) -> S3Result<S3Response<dto::ListBucketsOutput>> {
        let names = self.with(Folder::buckets).await?;
        let bucket = |name| dto::Bucket { name: Some(name), ..Default::default() };
        let buckets = Some(names.into_iter().map(bucket).collect());
        Ok(S3Response::new(dto::ListBucketsOutput { buckets, ..Default::default() }))
    }

    async fn put_object(
        &self,
        request: S3Request<dto::PutObjectInput>,
    ) -> S3Result<S3Response<dto::PutObjectOutput>> {
        let S3Request { mut input, trailing_headers, .. } = request;
        self.in_bucket(&input.bucket)?;
        if input.if_match.is_some() || input.sse_customer_key.is_some() {
            return Err(s3_error!(NotImplemented));
        }
        let only_first = match &input.if_none_match {
            None => false,
            Some(condition) if condition.is_any() => true,
            Some(_) => return Err(s3_error!(NotImplemented)),
        };
        let tags = input.tagging.as_deref().map(tags_of_header).transpose()?.unwrap_or_default();
        let bytes = gather(input.body.take()).await?;
        let trailers = trailing_headers.and_then(|trailers| trailers.take()).unwrap_or_default();
        let sums = verified(&bytes, &input, &trailers)?;

        let dto::PutObjectInput { bucket, key, metadata, content_type, .. } = input;
        let about = About {
            content_type,
            content_disposition: input.content_disposition,
            content_encoding: input.content_encoding,
            content_language: input.content_language,
            cache_control: input.cache_control,
            metadata: metadata.unwrap_or_default().into_iter().collect(),
            tags,
        };
        let Sums { md5, sha256 } = sums.clone();
        let size = bytes.len() as u64;
        let written = self.with(move |folder| {
            let body = folder.body(&bucket, &bytes)?;
            folder.write(&bucket, body, only_first, |body, stored_at| Record {
                key,
                body,
                size,
                md5,
                sha256,
                stored_at,
                about,
            })
        });
        match written.await? {
            Written::Taken => Err(s3_error!(PreconditionFailed)),
            Written::Done => Ok(S3Response::new(dto::PutObjectOutput {
                e_tag: Some(ETag::Strong(sums.md5)),
                checksum_sha256: Some(sums.sha256),
                ..Default::default()
            })),
        }
    }

    async fn get_object(
        &self,
        request: S3Request<dto::GetObjectInput>,
    ) -> S3Result<S3Response<dto::GetObjectOutput>> {
        let dto::GetObjectInput { bucket, key, range, .. } = request.input;
        self.in_bucket(&bucket)?;
        let found = self.with(move |folder| folder.read(&bucket, &key)).await?;
        let (record, bytes) = found.ok_or_else(|| s3_error!(NoSuchKey))?;
        let mut bytes = Bytes::from(bytes);
        let mut content_range = None;
        if let Some(range) = range {
            let part = range.check(record.size)?;
            content_range = Some(format!("bytes {}-{}/{}", part.start, part.end - 1, record.size));
            // The range ends within the bytes, whose number fits.
            let [start, end] = [part.start, part.end].map(|at| usize::try_from(at).unwrap_or(0));
            bytes = bytes.slice(start..end);
        }
        let Record { md5, sha256, stored_at, about, .. } = record;
        Ok(S3Response::new(dto::GetObjectOutput {
            content_length: i64::try_from(bytes.len()).ok(),
            checksum_sha256: content_range.is_none().then_some(sha256),
            content_range,
            body: Some(StreamingBlob::from(s3s::Body::from(bytes))),
            accept_ranges: Some("bytes".to_owned()),
            e_tag: Some(ETag::Strong(md5)),
            last_modified: Some(time(stored_at)),
            tag_count: i32::try_from(about.tags.len()).ok().filter(|count| *count > 0),
            content_type: about.content_type,
            content_disposition: about.content_disposition,
            content_encoding: about.content_encoding,
            content_language: about.content_language,
            cache_control: about.cache_control,
            metadata: Some(about.metadata.into_iter().collect()),
            ..Default::default()
        }))
    }

    async fn head_object(
        &self,
        request: S3Request<dto::HeadObjectInput>,
    ) -> S3Result<S3Response<dto::HeadObjectOutput>> {
        let dto::HeadObjectInput { bucket, key, .. } = request.input;
        let Record { size, md5, sha256, stored_at, about, .. } = self.record(bucket, key).await?;
        Ok(S3Response::new(dto::HeadObjectOutput {
            content_length: i64::try_from(size).ok(),
            checksum_sha256: Some(sha256),
            accept_ranges: Some("bytes".to_owned()),
            e_tag: Some(ETag::Strong(md5)),
            last_modified: Some(time(stored_at)),
            content_type: about.content_type,
            content_disposition: about.content_disposition,
            content_encoding: about.content_encoding,
            content_language: about.content_language,
            cache_control: about.cache_control,
            metadata: Some(about.metadata.into_iter().collect()),
            ..Default::default()
        }))
    }

    async fn delete_object(
        &self,
        request: S3Request<dto::DeleteObjectInput>,
    ) -> S3Result<S3Response<dto::DeleteObjectOutput>> {
        let dto::DeleteObjectInput { bucket, key, .. } = request.input;
        self.in_bucket(&bucket)?;
        self.with(move |folder| folder.remove(&bucket, &key, |_| true)).await?;
        Ok(S3Response::new(dto::DeleteObjectOutput::default()))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<dto::ListObjectsV2Input>,
    ) -> S3Result<S3Response<dto::ListObjectsV2Output>> {
        let input = request.input;
        self.in_bucket(&input.bucket)?;
        let bucket = input.bucket.clone();
        let records = self.with(move |folder| folder.records(&bucket)).await?;
        let most = input.max_keys.unwrap_or(1000).clamp(0, 1000);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        // The token is the last name of the page before.
        let after = text(&input.continuation_token).max(text(&input.start_after));
        let page = listing::page(
            &records,
            Wanted {
                prefix: input.prefix.as_deref().unwrap_or_default(),
                delimiter: input.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty()),
                after: &after,
                most: usize::try_from(most).unwrap_or(0),
            },
        );
        let encoded = input.encoding_type.as_ref().is_some_and(|kind| kind.as_str() == "url");
        let name = |name: &str| if encoded { encode(name) } else { name.to_owned() };
        let contents: Vec<dto::Object> = page
            .records
            .iter()
            .map(|record| dto::Object {
                key: Some(name(&record.key)),
                size: i64::try_from(record.size).ok(),
                e_tag: Some(ETag::Strong(record.md5.clone())),
                last_modified: Some(time(record.stored_at)),
                ..Default::default()
            })
            .collect();
        let common: Vec<dto::CommonPrefix> =
            page.common.iter().map(|c| dto::CommonPrefix { prefix: Some(name(c)) }).collect();
        Ok(S3Response::new(dto::ListObjectsV2Output {
            key_count: i32::try_from(contents.len() + common.len()).ok(),
            contents: Some(contents),
            common_prefixes: Some(common),
            is_truncated: Some(page.more_after.is_some()),
            next_continuation_token: page.more_after.map(str::to_owned),
            max_keys: Some(most),
            name: Some(input.bucket),
            prefix: input.prefix.as_deref().map(name),
            delimiter: input.delimiter.as_deref().map(name),
            start_after: input.start_after.as_deref().map(name),
            continuation_token: input.continuation_token,
            encoding_type: input.encoding_type,
            ..Default::default()
        }))
    }

    async fn get_object_tagging(
        &self,
        request: S3Request<dto::GetObjectTaggingInput>,
    ) -> S3Result<S3Response<dto::GetObjectTaggingOutput>> {
        let dto::GetObjectTaggingInput { bucket, key, .. } = request.input;
        let tag_set = tag_set(self.record(bucket, key).await?.about.tags);
        Ok(S3Response::new(dto::GetObjectTaggingOutput { tag_set, version_id: None }))
    }

    async fn put_object_tagging(
        &self,
        request: S3Request<dto::PutObjectTaggingInput>,
    ) -> S3Result<S3Response<dto::PutObjectTaggingOutput>> {
        let dto::PutObjectTaggingInput { bucket, key, tagging, .. } = request.input;
        let tags = tags_of_set(tagging.tag_set)?;
        self.change(bucket, key, |about| about.tags = tags).await?;
        Ok(S3Response::new(dto::PutObjectTaggingOutput::default()))
    }

    async fn delete_object_tagging(
        &self,
        request: S3Request<dto::DeleteObjectTaggingInput>,
    ) -> S3Result<S3Response<dto::DeleteObjectTaggingOutput>> {
        let dto::DeleteObjectTaggingInput { bucket, key, .. } = request.input;
        self.change(bucket, key, |about| about.tags.clear()).await?;
        Ok(S3Response::new(dto::DeleteObjectTaggingOutput::default()))
    }

    async fn put_bucket_lifecycle_configuration(
        &self,
        request: S3Request<dto::PutBucketLifecycleConfigurationInput>,
    ) -> S3Result<S3Response<dto::PutBucketLifecycleConfigurationOutput>> {
        let dto::PutBucketLifecycleConfigurationInput { bucket, lifecycle_configuration, .. } =
            request.input;
        self.in_bucket(&bucket)?;
        let rules = lifecycle_configuration.ok_or_else(|| s3_error!(MalformedXML))?.rules;
        let rules = rules.into_iter().map(rule).collect::<S3Result<Vec<_>>>()?;
        self.with(move |folder| folder.set_rules(&bucket, &rules)).await?;
        Ok(S3Response::new(dto::PutBucketLifecycleConfigurationOutput::default()))
    }

    async fn get_bucket_lifecycle_configuration(
        &self,
        request: S3Request<dto::GetBucketLifecycleConfigurationInput>,
    ) -> S3Result<S3Response<dto::GetBucketLifecycleConfigurationOutput>> {
        let bucket = request.input.bucket;
        self.in_bucket(&bucket)?;
        let rules = self.with(move |folder| folder.rules(&bucket)).await?;
        if rules.is_empty() {
            return Err(s3_error!(NoSuchLifecycleConfiguration));
        }
        let rules = Some(rules.into_iter().map(rule_out).collect());
        Ok(S3Response::new(dto::GetBucketLifecycleConfigurationOutput {
            rules,
            ..Default::default()
        }))
    }

    async fn delete_bucket_lifecycle(
        &self,
        request: S3Request<dto::DeleteBucketLifecycleInput>,
    ) -> S3Result<S3Response<dto::DeleteBucketLifecycleOutput>> {
        let bucket = request.input.bucket;
        self.in_bucket(&bucket)?;
        self.with(move |folder| folder.set_rules(&bucket, &[])).await?;
        Ok(S3Response::new(dto::DeleteBucketLifecycleOutput::default()))
    }
}
