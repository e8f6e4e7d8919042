//! The credentials of a folder.

use cloud::s3::StaticCredentials;
use domain::Ids;
use lambda_kit::env::Secret;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::folder::{Folder, read_json, write_json};

#[derive(Serialize, Deserialize)]
struct Keys {
    access_key: String,
    secret_key: String,
}

/// The folder's credentials, made when it has none. The file is the owner's alone.
pub(super) fn of(folder: &Folder) -> std::io::Result<StaticCredentials> {
    let path = folder.root().join("keys.json");
    let keys = if let Some(keys) = read_json(&path)? {
        keys
    } else {
        let keys = Keys { access_key: random(20), secret_key: random(40) };
        write_json(&path, &keys)?;
        keys
    };
    let Keys { access_key, secret_key } = keys;
    Ok(StaticCredentials { access_key, secret_key: Secret::new(secret_key) })
}

/// Four random ids hold more than 256 random bits; the digest spreads them.
fn random(length: usize) -> String {
    let ids = Ids::random();
    let mut digest = Sha256::new();
    for _ in 0..4 {
        digest.update(ids.uuid());
    }
    let mut text = hex::encode(digest.finalize());
    text.truncate(length);
    text
}
