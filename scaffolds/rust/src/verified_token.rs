//! The content of a genuine access token.

use serde_json::{Map, Value};

use crate::error::Error;

const MAX_ACTORS: usize = 10;

/// On whose behalf an agent acts: `sub` and `sub_profile`.
#[derive(Debug, PartialEq)]
pub enum Subject {
    Agent(String),
    Person(String),
}

impl Subject {
    pub fn id(&self) -> &str {
        match self {
            Self::Agent(id) | Self::Person(id) => id,
        }
    }
}

/// A genuine access token. It is delegated when it has a `chain_id`.
#[derive(Debug)]
pub struct VerifiedToken {
    /// The agent that acts, which the token was issued to: `client_id`.
    pub agent_id: String,
    /// The person or the agent on whose behalf it acts. The agent itself unless the token is delegated.
    pub subject: Subject,
    /// The agents that act (`act`): the one that acts now first, the subject's own delegatee last. The agent alone
    /// unless the token is delegated. Actors that another issuer named have an `iss`, and are only in `claims`.
    pub actors: Vec<String>,
    /// The delegation: `chain_id`.
    pub chain_id: Option<String>,
    pub scopes: Vec<String>,
    /// What exactly a person approved. Empty: the scopes alone say it.
    pub authorization_details: Vec<Map<String, Value>>,
    pub organization_id: String,
    #[allow(dead_code)] // The example does not read it.
    pub claims: Map<String, Value>,
}

impl VerifiedToken {
    pub(crate) fn read(claims: Map<String, Value>) -> Result<Self, Error> {
        let agent_id = read_id(&claims, "client_id")?;
        let subject = read_subject(&claims)?;
        let actors = read_actors(&claims, &agent_id, &subject)?;
        let chain_id = if claims.contains_key("act") {
            Some(read_id(&claims, "chain_id")?)
        } else {
            None
        };
        Ok(Self {
            agent_id,
            subject,
            actors,
            chain_id,
            scopes: read_scopes(&claims)?,
            authorization_details: read_details(&claims)?,
            organization_id: read_id(&claims, "organization_id")?,
            claims,
        })
    }

    /// The first of the `authorization_details` that has this type. Compare its values with the call.
    #[allow(dead_code)] // The example does not need one.
    pub fn require_detail(&self, kind: &str) -> Result<&Map<String, Value>, Error> {
        let mut details = self.authorization_details.iter();
        details
            .find(|detail| detail.get("type").is_some_and(|it| it == kind))
            .ok_or_else(|| {
                untrusted(&format!(
                    "the token has no authorization_details of the type {kind}"
                ))
            })
    }
}

/// Only tokens of people have `sub_profile`.
fn read_subject(claims: &Map<String, Value>) -> Result<Subject, Error> {
    let id = read_id(claims, "sub")?;
    match claims.get("sub_profile") {
        None => Ok(Subject::Agent(id)),
        Some(profile) if profile == "person" => Ok(Subject::Person(id)),
        Some(_) => Err(untrusted("sub_profile must be person")),
    }
}

fn read_actors(
    claims: &Map<String, Value>,
    agent_id: &str,
    subject: &Subject,
) -> Result<Vec<String>, Error> {
    let mut actors = Vec::new();
    let mut next = claims.get("act");
    while let Some(act) = next {
        let is_asserted = act.get("iss").is_some();
        if is_asserted && !actors.is_empty() {
            check_asserted(act)?;
            break;
        }
        let Some(actor) = act
            .get("sub")
            .and_then(Value::as_str)
            .filter(|sub| !is_asserted && is_id(sub))
            // Tokens of agents do not say that the actor is one.
            .filter(|_| act.get("sub_profile").is_none_or(|it| it == "ai_agent"))
        else {
            return Err(untrusted("act must name an agent in sub"));
        };
        if actors.len() == MAX_ACTORS {
            return Err(untrusted(&format!(
                "act names more than {MAX_ACTORS} agents"
            )));
        }
        actors.push(actor.to_owned());
        next = act.get("act");
    }
    match (actors.first(), subject) {
        (None, Subject::Person(_)) => Err(untrusted("sub is a person, but act is missing")),
        (None, _) if claims.contains_key("chain_id") => Err(untrusted("chain_id without act")),
        (None, Subject::Agent(id)) if id != agent_id => {
            Err(untrusted("sub and client_id differ, but act is missing"))
        }
        (None, _) => Ok(vec![agent_id.to_owned()]),
        (Some(actor), _) if actor != agent_id => {
            Err(untrusted("act names another agent than client_id"))
        }
        (_, Subject::Person(id)) if actors.contains(id) => {
            Err(untrusted("sub is a person, but act names it as an agent"))
        }
        _ => Ok(actors),
    }
}

/// The actors of another issuer, which an identity assertion named. Earlier actors are so, too.
fn check_asserted(outermost: &Value) -> Result<(), Error> {
    let mut next = Some(outermost);
    let mut count = 0;
    while let Some(act) = next {
        let is_text = |name| matches!(act.get(name), Some(Value::String(text)) if !text.is_empty());
        if !is_text("iss") || !is_text("sub") {
            return Err(untrusted(
                "act of another issuer must name an actor in iss and sub",
            ));
        }
        if count == MAX_ACTORS {
            return Err(untrusted(&format!(
                "act names more than {MAX_ACTORS} actors of other issuers"
            )));
        }
        count += 1;
        next = act.get("act");
    }
    Ok(())
}

fn read_scopes(claims: &Map<String, Value>) -> Result<Vec<String>, Error> {
    match claims.get("scope") {
        None => Ok(Vec::new()),
        Some(Value::String(scope)) => Ok(scope.split_whitespace().map(str::to_owned).collect()),
        Some(_) => Err(untrusted("scope must be a string")),
    }
}

fn read_details(claims: &Map<String, Value>) -> Result<Vec<Map<String, Value>>, Error> {
    let details = match claims.get("authorization_details") {
        None => Some(Vec::new()),
        Some(value) => value.as_array().and_then(|list| {
            let objects = list.iter().map(|each| each.as_object().cloned());
            objects.collect::<Option<Vec<_>>>()
        }),
    };
    details
        .filter(|all| {
            all.iter()
                .all(|it| it.get("type").is_some_and(Value::is_string))
        })
        .ok_or_else(|| untrusted("authorization_details must be a list of objects with a type"))
}

fn read_id(claims: &Map<String, Value>, claim: &str) -> Result<String, Error> {
    match claims.get(claim) {
        Some(Value::String(value)) if is_id(value) => Ok(value.clone()),
        _ => Err(untrusted(&format!("{claim} must be a UUID"))),
    }
}

pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

fn untrusted(why: &str) -> Error {
    Error::Untrusted(why.to_owned())
}
