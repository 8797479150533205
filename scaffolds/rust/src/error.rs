use std::fmt;

#[derive(Debug)]
pub enum Error {
    /// A refusal by the API.
    Api {
        status: u16,
        code: String,
        message: String,
    },
    /// The API could not be reached, or did not answer as it should.
    Http(String),
    /// Something that was presented is not to be believed.
    Untrusted(String),
    /// A setting is missing.
    Setting(String),
    /// A setting has a value that makes no sense.
    Config(String),
    /// The command line makes no sense.
    Usage,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api {
                status,
                code,
                message,
            } => write!(f, "{status} {code}: {message}"),
            Self::Http(what) | Self::Untrusted(what) | Self::Config(what) => f.write_str(what),
            Self::Setting(name) => write!(
                f,
                "{name} is not set; copy .env.example to .env, fill it in and load it"
            ),
            Self::Usage => f.write_str(
                "usage:
  agent                                    show who this agent is
  agent token <access token>               check a token that was presented to this agent
  agent webhook <timestamp> <signature>    check a delivery, its body on standard input",
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<ureq::Error> for Error {
    fn from(error: ureq::Error) -> Self {
        Self::Http(format!("the API cannot be reached: {error}"))
    }
}

impl From<ureq::http::Error> for Error {
    fn from(error: ureq::http::Error) -> Self {
        Self::Http(error.to_string())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Http(format!("the answer cannot be read: {error}"))
    }
}

impl From<jsonwebtoken::errors::Error> for Error {
    fn from(error: jsonwebtoken::errors::Error) -> Self {
        Self::Untrusted(format!("the token is not genuine: {error}"))
    }
}
