//! The folder: where objects lie, and how they appear and vanish.
//!
//! ```text
//! lock                           held by the process that serves the folder
//! keys.json                      the credentials
//! buckets/<bucket>/rules.json    the lifecycle rules
//!                 /objects/<sha256 of the key>.json    one Record
//!                 /bodies/<random>                     the bytes of one Record
//! ```
//!
//! **The rename of the record is the one moment that counts.** A body without a record is what a crash
//! has left; it is removed when the folder is opened.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::{Clock, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::record::{About, Record, Rule};

/// What a conditional write found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Done,
    /// Something is there already, and the write was to be the first.
    Taken,
}

#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    clock: Arc<dyn Clock>,
    /// Held while a record is replaced or removed, since that is two steps: the record and its body.
    changes: Mutex<()>,
    /// Held open, so that the lock is ours until the process ends in whatever way.
    _lock: File,
}

/// A body that is written and belongs to no object yet. Removed with this value unless it is kept.
#[derive(Debug)]
pub(super) struct Body(NamedTempFile);

impl Folder {
    pub(super) fn open(root: &Path, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        fs::create_dir_all(root.join("buckets"))?;
        let lock = File::create(root.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => anyhow::bail!("another process serves this folder"),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let folder = Self { root: root.to_owned(), clock, changes: Mutex::new(()), _lock: lock };
        folder.remove_leftovers()?;
        Ok(folder)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the bodies that no record names, and records that never got their name.
    fn remove_leftovers(&self) -> io::Result<()> {
        for bucket in self.buckets()? {
            let records = self.records(&bucket)?;
            let bodies: HashSet<&str> = records.iter().map(|r| r.body.as_str()).collect();
            for entry in fs::read_dir(self.bucket(&bucket).join("bodies"))? {
                let entry = entry?;
                if entry.file_name().to_str().is_none_or(|name| !bodies.contains(name)) {
                    fs::remove_file(entry.path())?;
                }
            }
            for entry in fs::read_dir(self.bucket(&bucket).join("objects"))? {
                let entry = entry?;
                if !is_record(&entry.path()) {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// The names of the buckets, in order.
    pub(super) fn buckets(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.root.join("buckets"))?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string().ok()));
        let mut names: Vec<String> =
            names.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        names.sort();
        Ok(names)
    }

    /// Makes the bucket; true also when it is there.
    pub(super) fn make_bucket(&self, bucket: &str) -> io::Result<()> {
        if !s3s::path::check_bucket_name(bucket) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a bucket's name"));
        }
        fs::create_dir_all(self.bucket(bucket).join("bodies"))?;
        fs::create_dir_all(self.bucket(bucket).join("objects"))
    }

    pub(super) fn has_bucket(&self, bucket: &str) -> bool {
        self.bucket(bucket).join("objects").is_dir()
    }

    /// `s3s` lets through only names that are one plain path segment.
    fn bucket(&self, bucket: &str) -> PathBuf {
        self.root.join("buckets").join(bucket)
    }

    /// The key's digest names the file, so a key may be as long as S3 permits and never be a path.
    fn record_path(&self, bucket: &str, key: &str) -> PathBuf {
        let name = format!("{}.json", hex::encode(Sha256::digest(key)));
        self.bucket(bucket).join("objects").join(name)
    }

    pub(super) fn record(&self, bucket: &str, key: &str) -> io::Result<Option<Record>> {
        read_json(&self.record_path(bucket, key))
    }

    /// All records of the bucket, in the order of their keys.
    pub(super) fn records(&self, bucket: &str) -> io::Result<Vec<Record>> {
        let mut records: Vec<Record> = Vec::new();
        for entry in fs::read_dir(self.bucket(bucket).join("objects"))? {
            let path = entry?.path();
            // One that is gone by now was deleted after the folder was listed.
            records.extend(if is_record(&path) { read_json(&path)? } else { None });
        }
        records.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(records)
    }

    /// The object and its bytes as of one moment.
    pub(super) fn read(&self, bucket: &str, key: &str) -> io::Result<Option<(Record, Vec<u8>)>> {
        loop {
            let Some(record) = self.record(bucket, key)? else { return Ok(None) };
            match fs::read(self.bucket(bucket).join("bodies").join(&record.body)) {
                Ok(bytes) => return Ok(Some((record, bytes))),
                // Replaced or deleted since; the record tells.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if self.record(bucket, key)?.is_some_and(|again| again.body == record.body) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes bytes that belong to no object yet.
    pub(super) fn body(&self, bucket: &str, bytes: &[u8]) -> io::Result<Body> {
        let mut file = tempfile::Builder::new()
            .prefix("")
            .rand_bytes(20)
            .tempfile_in(self.bucket(bucket).join("bodies"))?;
        file.write_all(bytes)?;
        Ok(Body(file))
    }

    /// Makes the object appear with the body, or replaces the one that is there unless the write
    /// is to be the first.
    pub(super) fn write(
        &self,
        bucket: &str,
        body: Body,
        only_first: bool,
        record: impl FnOnce(String, Timestamp) -> Record,
    ) -> io::Result<Written> {
        let (_, path) = body.0.keep().map_err(|error| error.error)?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let record = record(name.to_owned(), self.clock.now());
        let place = self.record_path(bucket, &record.key);
        let changes = self.changes();
        let before: Option<Record> = read_json(&place)?;
        if only_first && before.is_some() {
            drop(changes);
            fs::remove_file(path)?;
            return Ok(Written::Taken);
        }
        write_json(&place, &record)?;
        if let Some(before) = before {
            fs::remove_file(self.bucket(bucket).join("bodies").join(before.body))?;
        }
        Ok(Written::Done)
    }

    /// Changes what is known of the object. False when there is none.
    pub(super) fn change(
        &self,
        bucket: &str,
        key: &str,
        change: impl FnOnce(&mut About),
    ) -> io::Result<bool> {
        let place = self.record_path(bucket, key);
        let _changes = self.changes();
        let Some(mut record) = read_json::<Record>(&place)? else { return Ok(false) };
        change(&mut record.about);
        write_json(&place, &record)?;
        Ok(true)
    }

    /// Removes the object if it is there and `condition` holds of it.
    pub(super) fn remove(
        &self,
        bucket: &str,
        key: &str,
        condition: impl FnOnce(&Record) -> bool,
    ) -> io::Result<bool> {
        let place = self.record_path(bucket, key);
        let _changes = self.changes();
        let record: Option<Record> = read_json(&place)?;
        let Some(record) = record.filter(condition) else { return Ok(false) };
        fs::remove_file(&place)?;
        fs::remove_file(self.bucket(bucket).join("bodies").join(record.body))?;
        Ok(true)
    }

    pub(super) fn rules(&self, bucket: &str) -> io::Result<Vec<Rule>> {
        Ok(read_json(&self.bucket(bucket).join("rules.json"))?.unwrap_or_default())
    }

    pub(super) fn set_rules(&self, bucket: &str, rules: &[Rule]) -> io::Result<()> {
        write_json(&self.bucket(bucket).join("rules.json"), rules)
    }

    fn changes(&self) -> MutexGuard<'_, ()> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// `None` when the file is not there.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes beside the place and renames, so that the file is the old one or the new one.
pub(super) fn write_json<T: Serialize + ?Sized>(path: &Path, value: &T) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut file, value)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
