//! Checks access tokens that others present to this agent.

use std::sync::{Mutex, PoisonError};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};

use crate::error::Error;
use crate::outside::Outside;
use crate::verified_token::{Subject, VerifiedToken, is_id};

/// A made-up key id must not make us ask for the keys each time.
const COOL_DOWN_SECONDS: u64 = 30;
/// A key that is no longer published is refused after this time at the latest.
const KEYS_MAX_AGE_SECONDS: u64 = 600;
const CLOCK_TOLERANCE_SECONDS: u64 = 5;

#[derive(Default)]
struct Keys {
    set: Option<JwkSet>,
    fetched_at: u64,
    attempted_at: Option<u64>,
}

/// On whose behalf the agents that present a token may act.
#[derive(Clone, Copy)]
#[allow(dead_code)] // The example uses one of them.
pub enum Subjects {
    /// Agents that act for themselves or for other agents.
    Agents,
    /// Agents that act for a person.
    People,
    Any,
}

pub struct Verifier<'a, O> {
    outside: &'a O,
    issuer: String,
    /// None: any is accepted.
    organization_id: Option<String>,
    subjects: Subjects,
    validation: Validation,
    keys: Mutex<Keys>,
}

impl<'a, O: Outside> Verifier<'a, O> {
    /// Takes the issuer of the tokens, which is the API's address, whom they must be meant for, the organization
    /// whose tokens are accepted, and on whose behalf the agents may act.
    pub fn new(
        outside: &'a O,
        issuer: &str,
        audience: &str,
        organization_id: &str,
        subjects: Subjects,
    ) -> Result<Self, Error> {
        if !is_id(organization_id) {
            return Err(Error::Config(
                "organization_id must be a UUID; or use accept_any_organization".to_owned(),
            ));
        }
        Ok(Self {
            organization_id: Some(organization_id.to_owned()),
            ..Self::accept_any_organization(outside, issuer, audience, subjects)
        })
    }

    /// Accepts tokens of every organization on the instance: compare `VerifiedToken::organization_id` yourself.
    pub fn accept_any_organization(
        outside: &'a O,
        issuer: &str,
        audience: &str,
        subjects: Subjects,
    ) -> Self {
        let mut validation = Validation::new(Algorithm::RS256);
        validation.leeway = CLOCK_TOLERANCE_SECONDS;
        validation.validate_nbf = true;
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        Self {
            outside,
            issuer: issuer.to_owned(),
            organization_id: None,
            subjects,
            validation,
            keys: Mutex::default(),
        }
    }

    /// What a genuine token says.
    pub fn verify(&self, token: &str) -> Result<VerifiedToken, Error> {
        let header = decode_header(token)?;
        let kind = header.typ.unwrap_or_default().to_ascii_lowercase();
        if kind != "at+jwt" && kind != "application/at+jwt" {
            return Err(Error::Untrusted("this is not an access token".to_owned()));
        }
        if header.crit.is_some() {
            return Err(Error::Untrusted(
                "the token demands an extension that is not known here".to_owned(),
            ));
        }
        let key = self.key(&header.kid.unwrap_or_default())?;
        let mut validation = self.validation.clone();
        validation.algorithms = vec![algorithm_of(&key)?];
        let claims = decode(token, &DecodingKey::from_jwk(&key)?, &validation)?.claims;
        let verified = VerifiedToken::read(claims)?;
        match &self.organization_id {
            Some(expected) if *expected != verified.organization_id => {
                return Err(Error::Untrusted(format!(
                    "the token is of organization {}, not {expected}",
                    verified.organization_id
                )));
            }
            _ => {}
        }
        match (self.subjects, &verified.subject) {
            (Subjects::Agents, Subject::Person(_)) => Err(Error::Untrusted(
                "the subject of the token is a person; only agents are accepted".to_owned(),
            )),
            (Subjects::People, Subject::Agent(_)) => Err(Error::Untrusted(
                "the subject of the token is an agent; only people are accepted".to_owned(),
            )),
            _ => Ok(verified),
        }
    }

    fn key(&self, kid: &str) -> Result<Jwk, Error> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.outside.now();
        if keys.set.is_some() && now >= keys.fetched_at + KEYS_MAX_AGE_SECONDS {
            keys.set = None;
        }
        let known = keys.set.as_ref().and_then(|set| set.find(kid));
        if let Some(key) = known {
            return Ok(key.clone());
        }
        if keys
            .attempted_at
            .is_none_or(|attempted_at| now >= attempted_at + COOL_DOWN_SECONDS)
        {
            keys.attempted_at = Some(now);
            keys.set = Some(self.fetch()?);
            keys.fetched_at = now;
        }
        let Some(set) = &keys.set else {
            return Err(Error::Http(
                "the keys could not be fetched; the token cannot be checked".to_owned(),
            ));
        };
        set.find(kid)
            .cloned()
            .ok_or_else(|| Error::Untrusted("the token is signed with an unknown key".to_owned()))
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

/// The key decides the algorithm; the token does not.
fn algorithm_of(key: &Jwk) -> Result<Algorithm, Error> {
    match &key.algorithm {
        AlgorithmParameters::RSA(_) => Ok(Algorithm::RS256),
        AlgorithmParameters::EllipticCurve(ec) if ec.curve == EllipticCurve::P256 => {
            Ok(Algorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(okp) if okp.curve == EllipticCurve::Ed25519 => {
            Ok(Algorithm::EdDSA)
        }
        _ => Err(Error::Untrusted(
            "the key is of a kind that is not known here".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use serde::Deserialize;
    use serde_json::Value;

    use super::*;
    use crate::outside::{Request, Response};

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cases {
        issuer: String,
        audience: String,
        organization_id: String,
        jwks: Value,
        accepted: Vec<Case>,
        refused: Vec<Case>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Case {
        name: String,
        accept_any_organization: bool,
        subjects: String,
        #[serde(default)]
        verified: Value,
        #[serde(default)]
        reason: String,
        token: String,
    }

    impl Cases {
        fn read() -> Self {
            serde_json::from_str(include_str!("../testdata/access-token-cases.json")).unwrap()
        }

        fn verifier<'a>(&self, stage: &'a Stage, case: &Case) -> Verifier<'a, Stage> {
            let subjects = match case.subjects.as_str() {
                "agents" => Subjects::Agents,
                "people" => Subjects::People,
                "any" => Subjects::Any,
                other => panic!("{other}"),
            };
            let (issuer, audience) = (&self.issuer, &self.audience);
            if case.accept_any_organization {
                Verifier::accept_any_organization(stage, issuer, audience, subjects)
            } else {
                Verifier::new(stage, issuer, audience, &self.organization_id, subjects).unwrap()
            }
        }

        fn stage(&self) -> Stage {
            Stage {
                jwks: RefCell::new(self.jwks.to_string().into_bytes()),
                status: Cell::new(200),
                fetches: Cell::new(0),
                now: Cell::new(0),
            }
        }
    }

    struct Stage {
        jwks: RefCell<Vec<u8>>,
        status: Cell<u16>,
        fetches: Cell<u32>,
        now: Cell<u64>,
    }

    impl Outside for Stage {
        fn send(&self, request: &Request) -> Result<Response, Error> {
            assert_eq!(request.uri().path(), "/.well-known/jwks.json");
            self.fetches.set(self.fetches.get() + 1);
            let response = ureq::http::Response::builder().status(self.status.get());
            Ok(response.body(self.jwks.borrow().clone())?)
        }
        fn now(&self) -> u64 {
            self.now.get()
        }
        fn sleep(&self, _: Duration) {}
    }

    fn assert_refused(verifier: &Verifier<Stage>, token: &str, reason: &str, name: &str) {
        let refusal = verifier.verify(token).expect_err(name).to_string();
        assert!(refusal.contains(reason), "{name}: {refusal}");
    }

    #[test]
    fn accepted() {
        let cases = Cases::read();
        let stage = cases.stage();
        for case in &cases.accepted {
            let verifier = cases.verifier(&stage, case);
            let verified = verifier.verify(&case.token).expect(&case.name);
            let found = serde_json::json!({
                "agentId": verified.agent_id,
                "subject": {
                    "type": match verified.subject {
                        Subject::Agent(_) => "agent",
                        Subject::Person(_) => "person",
                    },
                    "id": verified.subject.id(),
                },
                "actors": verified.actors,
                "chainId": verified.chain_id,
                "scopes": verified.scopes,
                "authorizationDetails": verified.authorization_details,
                "organizationId": verified.organization_id,
            });
            assert_eq!(found, case.verified, "{}", case.name);
            for detail in &verified.authorization_details {
                let kind = detail["type"].as_str().unwrap();
                assert_eq!(verified.require_detail(kind).unwrap()["type"], kind);
            }
            assert!(verified.require_detail("other").is_err());
            assert_eq!(verified.claims["iss"], *cases.issuer);
        }
    }

    #[test]
    fn refused() {
        let cases = Cases::read();
        let stage = cases.stage();
        for case in &cases.refused {
            let verifier = cases.verifier(&stage, case);
            assert_refused(&verifier, &case.token, &case.reason, &case.name);
        }
    }

    #[test]
    fn a_verifier_needs_an_organization_or_the_option() {
        let stage = Cases::read().stage();
        for organization_id in ["", "acme"] {
            assert!(Verifier::new(&stage, "i", "a", organization_id, Subjects::Any).is_err());
        }
    }

    #[test]
    fn keys_are_fetched_once() {
        let cases = Cases::read();
        let stage = cases.stage();
        let verifier = cases.verifier(&stage, &cases.accepted[0]);
        for _ in 0..3 {
            verifier.verify(&cases.accepted[0].token).unwrap();
        }
        for case in &cases.refused {
            if case.name == "unknown key id" {
                assert_refused(&verifier, &case.token, "unknown key", &case.name);
            }
        }
        assert_eq!(stage.fetches.get(), 1);
    }

    #[test]
    fn a_key_that_is_no_longer_published_is_refused_after_ten_minutes() {
        let cases = Cases::read();
        let stage = cases.stage();
        let verifier = cases.verifier(&stage, &cases.accepted[0]);
        let token = &cases.accepted[0].token;
        verifier.verify(token).unwrap();
        stage.jwks.replace(br#"{"keys":[]}"#.to_vec());
        stage.now.set(KEYS_MAX_AGE_SECONDS - 1);
        verifier.verify(token).unwrap();
        stage.now.set(KEYS_MAX_AGE_SECONDS);
        assert_refused(&verifier, token, "unknown key", "old key");
    }

    #[test]
    fn a_failed_fetch_is_not_repeated_at_once() {
        let cases = Cases::read();
        let stage = cases.stage();
        let verifier = cases.verifier(&stage, &cases.accepted[0]);
        let token = &cases.accepted[0].token;
        stage.status.set(503);
        assert_refused(&verifier, token, "503", "first");
        assert_refused(&verifier, token, "could not be fetched", "second");
        assert_eq!(stage.fetches.get(), 1);
        stage.status.set(200);
        stage.now.set(COOL_DOWN_SECONDS);
        verifier.verify(token).unwrap();
    }
}
