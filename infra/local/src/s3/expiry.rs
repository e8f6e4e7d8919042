//! Carrying out lifecycle rules.

use std::io;

use domain::Timestamp;

use super::folder::Folder;

/// Removes every object that a rule of its bucket ends, and counts them.
pub(super) fn expire(folder: &Folder, now: Timestamp) -> io::Result<usize> {
    let mut removed = 0;
    for bucket in folder.buckets()? {
        let rules = folder.rules(&bucket)?;
        if rules.is_empty() {
            continue;
        }
        for record in folder.records(&bucket)? {
            // Asked again under the lock: the object may have been replaced or retagged.
            let over = folder.remove(&bucket, &record.key, |record| {
                rules.iter().any(|rule| rule.ends(record, now))
            })?;
            removed += usize::from(over);
        }
    }
    Ok(removed)
}
