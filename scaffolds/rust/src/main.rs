//! Shows who this agent is, and checks what others send it.

mod access_token;
mod client;
mod error;
#[rustfmt::skip]
mod identity;
mod outside;
mod verified_token;
mod webhook;

use std::io::Read;
use std::process::ExitCode;
use std::{env, io};

use serde::Deserialize;

use crate::access_token::{Subjects, Verifier};
use crate::client::{Client, percent_encoded};
use crate::error::Error;
use crate::outside::{Internet, Outside};
use crate::verified_token::VerifiedToken;
use crate::webhook::verify_webhook;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Agent {
    agent_id: String,
    email: String,
    agent_type: String,
    version: String,
    owner: String,
    deployment_env: String,
    capabilities: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Usage) => {
            eprintln!("{}", Error::Usage);
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), Error> {
    match arguments {
        [] => who_am_i(),
        ["token", token] => check_token(token),
        ["webhook", timestamp, signature] => check_webhook(timestamp, signature),
        _ => Err(Error::Usage),
    }
}

fn who_am_i() -> Result<(), Error> {
    let internet = Internet::new();
    let api_url = api_url()?;
    let client_id = setting("CLIENT_ID")?;
    let client = Client::new(&internet, &api_url, &client_id, &setting("CLIENT_SECRET")?);
    let me: Agent = client.get(&format!("/agents/{}", percent_encoded(&client_id)))?;
    println!(
        "I am {} ({}), a {} in {}.",
        me.email, me.agent_id, me.agent_type, me.deployment_env
    );

    // A service that receives this token checks it like this. It was issued for the API, so the API is its audience.
    let verified = verify(&internet, &api_url, &client.token()?)?;
    println!(
        "My token is genuine and carries: {}.",
        or_none(&verified.scopes)
    );

    for (field, same) in [
        ("agentId", me.agent_id == identity::AGENT_ID),
        ("email", me.email == identity::EMAIL),
        ("agentType", me.agent_type == identity::AGENT_TYPE),
        ("version", me.version == identity::VERSION),
        ("owner", me.owner == identity::OWNER),
        (
            "deploymentEnv",
            me.deployment_env == identity::DEPLOYMENT_ENV,
        ),
        ("capabilities", me.capabilities == identity::CAPABILITIES),
    ] {
        if !same {
            println!("The registry says something else about {field} than src/identity.rs.");
        }
    }
    Ok(())
}

fn check_token(token: &str) -> Result<(), Error> {
    let internet = Internet::new();
    let api_url = api_url()?;
    let audience = setting("TOKEN_AUDIENCE").unwrap_or_else(|_| api_url.clone());
    let verified = verify(&internet, &audience, token)?;
    println!(
        "The token is genuine. It was issued to {} of organization {} and carries: {}.",
        verified.agent_id,
        verified.organization_id,
        or_none(&verified.scopes)
    );
    if let Some(chain_id) = verified.chain_id {
        println!(
            "It is delegated by {} in chain {chain_id}; actors: {}.",
            verified.subject.id(),
            verified.actors.join(", ")
        );
    }
    Ok(())
}

/// Accepts tokens of the agent's own organization only, unless the settings say otherwise. Tokens of agents that act
/// for a person are refused.
fn verify(internet: &Internet, audience: &str, token: &str) -> Result<VerifiedToken, Error> {
    let issuer = api_url()?;
    let verifier = match env::var("ACCEPT_ANY_ORGANIZATION").as_deref() {
        Ok("true") => {
            Verifier::accept_any_organization(internet, &issuer, audience, Subjects::Agents)
        }
        Ok("false" | "") | Err(env::VarError::NotPresent) => {
            let organization = setting("ORGANIZATION_ID")?;
            Verifier::new(internet, &issuer, audience, &organization, Subjects::Agents)?
        }
        _ => {
            return Err(Error::Config(
                "ACCEPT_ANY_ORGANIZATION must be true or false".to_owned(),
            ));
        }
    };
    verifier.verify(token)
}

fn check_webhook(timestamp: &str, signature: &str) -> Result<(), Error> {
    let mut body = Vec::new();
    io::stdin()
        .read_to_end(&mut body)
        .map_err(|error| Error::Untrusted(error.to_string()))?;
    let now = Internet::new().now();
    verify_webhook(
        &setting("WEBHOOK_SECRET")?,
        timestamp,
        signature,
        &body,
        now,
    )?;
    println!("The delivery is genuine.");
    Ok(())
}

fn api_url() -> Result<String, Error> {
    Ok(setting("API_URL")?.trim_end_matches('/').to_owned())
}

fn setting(name: &str) -> Result<String, Error> {
    env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| Error::Setting(name.to_owned()))
}

fn or_none(scopes: &[String]) -> String {
    if scopes.is_empty() {
        "no scope".to_owned()
    } else {
        scopes.join(" ")
    }
}
