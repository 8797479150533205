//! What the rest needs of the world: HTTP, the time, and waiting. Tests bring another one.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ureq::http;

use crate::error::Error;

pub type Request = http::Request<Option<String>>;
pub type Response = http::Response<Vec<u8>>;

pub trait Outside {
    fn send(&self, request: &Request) -> Result<Response, Error>;
    /// Seconds since 1970.
    fn now(&self) -> u64;
    fn sleep(&self, wait: Duration);
}

const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ANSWER: u64 = 1 << 20;

pub struct Internet(ureq::Agent);

impl Internet {
    pub fn new() -> Self {
        Self(
            ureq::Agent::config_builder()
                .timeout_global(Some(REQUEST_TIMEOUT))
                .http_status_as_error(false)
                .max_redirects(0)
                .build()
                .new_agent(),
        )
    }
}

impl Outside for Internet {
    fn send(&self, request: &Request) -> Result<Response, Error> {
        let (head, body) = request.clone().into_parts();
        let response = match body {
            Some(body) => self.0.run(http::Request::from_parts(head, body)),
            None => self.0.run(http::Request::from_parts(head, ())),
        }?;
        let (head, mut body) = response.into_parts();
        let text = body.with_config().limit(MAX_ANSWER).read_to_vec()?;
        Ok(http::Response::from_parts(head, text))
    }

    fn now(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    }

    fn sleep(&self, wait: Duration) {
        thread::sleep(wait);
    }
}
