//! The object store of a test: one that behaves, and one that fails on plan.
//!
//! **[`MemoryObjects`] passes the same contract as S3** ([`contract::holds`]), so a test on it is worth
//! something.

pub mod contract;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use cloud::Cause;
use cloud::objects::{
    Doing, Error, MAX_PRESIGN_LIFE, Objects, Presence, PresignOptions, Put, PutOptions, SignedUrl,
    Tag,
};
use sha2::{Digest as _, Sha256};
use tokio::task::yield_now;

/// An object store in memory, which a test can look into and tamper with.
///
/// A write yields before and after its effect, so that a future which is dropped at each of its
/// awaits also dies between the effect and the answer.
#[derive(Debug, Default)]
pub struct MemoryObjects {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Stored>,
    calls: Vec<(Doing, String)>,
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub bytes: Bytes,
    pub content_type: String,
    pub tag: Option<Tag>,
}

impl MemoryObjects {
    pub fn new() -> Self {
        Self::default()
    }

    /// What is stored under `key`.
    pub fn stored(&self, key: &str) -> Option<Stored> {
        self.state().objects.get(key).cloned()
    }

    /// All keys, in order.
    pub fn keys(&self) -> Vec<String> {
        self.state().objects.keys().cloned().collect()
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> Vec<(Doing, String)> {
        self.state().calls.clone()
    }

    /// Puts other bytes in the place of an object, as a fault of the store would. False when there
    /// is none.
    pub fn tamper(&self, key: &str, bytes: impl Into<Bytes>) -> bool {
        match self.state().objects.get_mut(key) {
            Some(object) => {
                object.bytes = bytes.into();
                true
            }
            None => false,
        }
    }

    /// Takes an object away, as a lifecycle rule would.
    pub fn remove(&self, key: &str) -> Option<Stored> {
        self.state().objects.remove(key)
    }

    /// Puts an object back that [`MemoryObjects::remove`] took away.
    pub fn restore(&self, key: impl Into<String>, object: Stored) {
        self.state().objects.insert(key.into(), object);
    }

    /// Writes the call down and gives the state for it.
    fn called(&self, doing: Doing, key: &str) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.calls.push((doing, key.to_owned()));
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Objects for MemoryObjects {
    async fn put_new(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<Put, Error> {
        yield_now().await;
        let put = {
            let mut state = self.called(Doing::Put, key);
            if Sha256::digest(&bytes)[..] != options.sha256 {
                let cause = Cause::new("the bytes have another digest");
                return Err(Error::Mismatch { doing: Doing::Put, cause });
            }
            if state.objects.contains_key(key) {
                Put::AlreadyThere
            } else {
                let PutOptions { content_type, tag, .. } = options;
                state.objects.insert(key.to_owned(), Stored { bytes, content_type, tag });
                Put::Stored
            }
        };
        yield_now().await;
        Ok(put)
    }

    async fn get(&self, key: &str, max_bytes: u64) -> Result<Option<Bytes>, Error> {
        yield_now().await;
        let bytes = self.called(Doing::Get, key).objects.get(key).map(|o| o.bytes.clone());
        if bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 > max_bytes) {
            return Err(Error::TooLarge { doing: Doing::Get });
        }
        Ok(bytes)
    }

    async fn head(&self, key: &str) -> Result<Presence, Error> {
        yield_now().await;
        let state = self.called(Doing::Head, key);
        let size = state.objects.get(key).map(|object| object.bytes.len() as u64);
        Ok(size.map_or(Presence::Missing, |size| Presence::Here { size }))
    }

    /// The address leads nowhere, tells what it was made with, and is another one each time.
    async fn presign_get(&self, key: &str, options: PresignOptions) -> Result<SignedUrl, Error> {
        let PresignOptions { life, content_type, content_disposition } = options;
        if life > MAX_PRESIGN_LIFE || life.as_secs() == 0 {
            let cause = Cause::new("an address lives from one second to seven days");
            return Err(Error::Refused { doing: Doing::Presign, cause });
        }
        let nth = self.called(Doing::Presign, key).calls.len();
        let mut url = url::Url::parse("http://objects.invalid/").map_err(|_| Error::Refused {
            doing: Doing::Presign,
            cause: Cause::new("no address"),
        })?;
        url.set_path(key);
        url.query_pairs_mut()
            .append_pair("X-Amz-Expires", &life.as_secs().to_string())
            .append_pair("response-content-type", &content_type)
            .append_pair("response-content-disposition", &content_disposition)
            .append_pair("X-Amz-Signature", &nth.to_string());
        Ok(SignedUrl::new(url))
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, Error> {
        yield_now().await;
        let state = self.called(Doing::List, prefix);
        let keys = state.objects.keys().filter(|key| key.starts_with(prefix));
        let keys = keys.filter(|key| after.is_none_or(|after| key.as_str() > after));
        Ok(keys.take(1000).cloned().collect())
    }

    async fn delete(&self, key: &str) -> Result<(), Error> {
        yield_now().await;
        self.called(Doing::Delete, key).objects.remove(key);
        yield_now().await;
        Ok(())
    }
}

/// How a planned call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// [`Error::Denied`]; nothing happens.
    Denied,
    /// [`Error::Unavailable`]; nothing happens.
    Unavailable,
    /// [`Error::Refused`]; nothing happens.
    Refused,
    /// [`Error::Mismatch`]; nothing happens.
    Mismatch,
    /// The call has its effect, and the answer is [`Error::Unavailable`].
    LostAnswer,
    /// The call succeeds; the bytes that it reads have one bit wrong. Of calls that read no bytes it
    /// changes nothing.
    Corrupted,
    /// The call succeeds and finds nothing: no bytes, no object.
    Vanished,
}

/// Passes calls on to another store, except for those that are planned to fail.
#[derive(Debug)]
pub struct FailingObjects {
    inner: Arc<dyn Objects>,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    counts: BTreeMap<&'static str, usize>,
    faults: Vec<(Doing, Option<usize>, Fault)>,
}

impl FailingObjects {
    pub fn new(inner: Arc<dyn Objects>) -> Self {
        Self { inner, plan: Mutex::default() }
    }

    /// Plans the fault for the `nth` call of this kind from the beginning, counted from 1.
    #[must_use]
    pub fn failing(self, doing: Doing, nth: usize, fault: Fault) -> Self {
        self.plan().faults.push((doing, Some(nth), fault));
        self
    }

    /// Plans the fault for every call of this kind that has no other plan.
    #[must_use]
    pub fn always_failing(self, doing: Doing, fault: Fault) -> Self {
        self.plan().faults.push((doing, None, fault));
        self
    }

    /// From now on nothing fails.
    pub fn heal(&self) {
        self.plan().faults.clear();
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the call; the fault that is planned for it.
    fn next(&self, doing: Doing) -> Option<Fault> {
        let mut plan = self.plan();
        let count = plan.counts.entry(name(doing)).or_default();
        *count += 1;
        let now = *count;
        let planned = |nth| plan.faults.iter().find(|f| f.0 == doing && f.1 == nth).map(|f| f.2);
        planned(Some(now)).or_else(|| planned(None))
    }

    /// Fails the call before it has an effect, or gives the fault that comes after it.
    fn before(&self, doing: Doing) -> Result<Option<Fault>, Error> {
        let fault = self.next(doing);
        let cause = Cause::new("planned");
        match fault {
            Some(Fault::Denied) => Err(Error::Denied { doing, cause }),
            Some(Fault::Unavailable) => Err(Error::Unavailable { doing, cause }),
            Some(Fault::Refused) => Err(Error::Refused { doing, cause }),
            Some(Fault::Mismatch) => Err(Error::Mismatch { doing, cause }),
            Some(Fault::LostAnswer | Fault::Corrupted | Fault::Vanished) | None => Ok(fault),
        }
    }
}

const fn name(doing: Doing) -> &'static str {
    match doing {
        Doing::Put => "put",
        Doing::Get => "get",
        Doing::Head => "head",
        Doing::Presign => "presign",
        Doing::List => "list",
        Doing::Delete => "delete",
        Doing::ReadTags => "read tags",
        Doing::CreateBucket => "create bucket",
    }
}

fn after<T>(doing: Doing, fault: Option<Fault>, answer: T) -> Result<T, Error> {
    if fault == Some(Fault::LostAnswer) {
        return Err(Error::Unavailable { doing, cause: Cause::new("planned, after the effect") });
    }
    Ok(answer)
}

#[async_trait]
impl Objects for FailingObjects {
    async fn put_new(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<Put, Error> {
        let fault = self.before(Doing::Put)?;
        after(Doing::Put, fault, self.inner.put_new(key, bytes, options).await?)
    }

    async fn get(&self, key: &str, max_bytes: u64) -> Result<Option<Bytes>, Error> {
        let fault = self.before(Doing::Get)?;
        let bytes = after(Doing::Get, fault, self.inner.get(key, max_bytes).await?)?;
        Ok(match fault {
            Some(Fault::Vanished) => None,
            Some(Fault::Corrupted) => bytes.map(|bytes| corrupted(&bytes)),
            _ => bytes,
        })
    }

    async fn head(&self, key: &str) -> Result<Presence, Error> {
        let fault = self.before(Doing::Head)?;
        let presence = after(Doing::Head, fault, self.inner.head(key).await?)?;
        Ok(if fault == Some(Fault::Vanished) { Presence::Missing } else { presence })
    }

    async fn presign_get(&self, key: &str, options: PresignOptions) -> Result<SignedUrl, Error> {
        let fault = self.before(Doing::Presign)?;
        after(Doing::Presign, fault, self.inner.presign_get(key, options).await?)
    }

    async fn list(&self, prefix: &str, start: Option<&str>) -> Result<Vec<String>, Error> {
        let fault = self.before(Doing::List)?;
        let keys = after(Doing::List, fault, self.inner.list(prefix, start).await?)?;
        Ok(if fault == Some(Fault::Vanished) { Vec::new() } else { keys })
    }

    async fn delete(&self, key: &str) -> Result<(), Error> {
        let fault = self.before(Doing::Delete)?;
        self.inner.delete(key).await?;
        after(Doing::Delete, fault, ())
    }
}

/// The same length with one bit wrong; of nothing, one byte.
fn corrupted(bytes: &Bytes) -> Bytes {
    let mut bytes = bytes.to_vec();
    match bytes.first_mut() {
        Some(first) => *first ^= 1,
        None => bytes.push(0),
    }
    bytes.into()
}

#[cfg(test)]
mod tests;
