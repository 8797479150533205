//! Checks access tokens that others present to this agent.

use std::sync::{Mutex, PoisonError};

use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;

use crate::error::Error;
use crate::outside::Outside;

/// A made-up key id must not make us ask for the keys each time.
const COOL_DOWN_SECONDS: u64 = 30;

#[derive(Debug, Deserialize)]
pub struct Claims {
    pub client_id: String,
    #[serde(default)]
    pub scope: String,
}

struct Keys {
    set: JwkSet,
    fetched_at: u64,
}

pub struct Verifier<'a, O> {
    outside: &'a O,
    issuer: String,
    validation: Validation,
    keys: Mutex<Option<Keys>>,
}

impl<'a, O: Outside> Verifier<'a, O> {
    /// Takes who issues the tokens, the API's address, and whom they must be meant for.
    pub fn new(outside: &'a O, issuer: &str, audience: &str) -> Self {
        let mut validation = Validation::new(Algorithm::RS256);
        validation.leeway = 5;
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        Self {
            outside,
            issuer: issuer.to_owned(),
            validation,
            keys: Mutex::new(None),
        }
    }

    /// The claims of a genuine token.
    pub fn verify(&self, token: &str) -> Result<Claims, Error> {
        let header = decode_header(token)?;
        let kind = header.typ.unwrap_or_default().to_ascii_lowercase();
        if kind != "at+jwt" && kind != "application/at+jwt" {
            return Err(Error::Untrusted("this is not an access token".to_owned()));
        }
        let key = self.key(&header.kid.unwrap_or_default())?;
        Ok(decode::<Claims>(token, &DecodingKey::from_jwk(&key)?, &self.validation)?.claims)
    }

    fn key(&self, kid: &str) -> Result<Jwk, Error> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.outside.now();
        let known = keys.as_ref().and_then(|keys| keys.set.find(kid));
        if let Some(key) = known {
            return Ok(key.clone());
        }
        if keys
            .as_ref()
            .is_none_or(|keys| now >= keys.fetched_at + COOL_DOWN_SECONDS)
        {
            let set = self.fetch()?;
            let found = set.find(kid).cloned();
            *keys = Some(Keys {
                set,
                fetched_at: now,
            });
            if let Some(key) = found {
                return Ok(key);
            }
        }
        Err(Error::Untrusted(
            "the token is signed with an unknown key".to_owned(),
        ))
    }

    fn fetch(&self) -> Result<JwkSet, Error> {
        let url = format!("{}/.well-known/jwks.json", self.issuer);
        let response = self
            .outside
            .send(&ureq::http::Request::get(url).body(None)?)?;
        if !response.status().is_success() {
            return Err(Error::Http(format!(
                "the keys cannot be fetched: {}",
                response.status()
            )));
        }
        Ok(serde_json::from_slice(response.body())?)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashMap;
    use std::time::Duration;

    use super::*;
    use crate::outside::{Request, Response};

    /// Signed once, with a key that nobody has any more; the good one is good until the year 2100.
    #[derive(Deserialize)]
    struct Examples {
        issuer: String,
        audience: String,
        jwks: serde_json::Value,
        genuine: String,
        refused: HashMap<String, String>,
    }

    struct Stage {
        jwks: Vec<u8>,
        fetches: Cell<u32>,
    }

    impl Outside for Stage {
        fn send(&self, request: &Request) -> Result<Response, Error> {
            assert_eq!(request.uri().path(), "/.well-known/jwks.json");
            self.fetches.set(self.fetches.get() + 1);
            Ok(Response::new(self.jwks.clone()))
        }
        fn now(&self) -> u64 {
            0
        }
        fn sleep(&self, _: Duration) {}
    }

    #[test]
    fn only_genuine_tokens_pass() {
        let examples: Examples = serde_json::from_str(include_str!("example_tokens.json")).unwrap();
        let jwks = examples.jwks.to_string().into_bytes();
        let stage = Stage {
            jwks,
            fetches: Cell::new(0),
        };
        let verifier = Verifier::new(&stage, &examples.issuer, &examples.audience);
        for _ in 0..3 {
            assert_eq!(verifier.verify(&examples.genuine).unwrap().client_id, "a");
        }
        for (what, token) in &examples.refused {
            assert!(verifier.verify(token).is_err(), "{what}");
        }
        assert_eq!(stage.fetches.get(), 1, "made-up keys are looked for once");
    }
}
