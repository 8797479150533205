//! Calls the API with an access token that is fetched when first needed, kept, and renewed before it expires.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};
use ureq::http::{HeaderMap, Method, StatusCode};

use crate::error::Error;
use crate::outside::{Outside, Request, Response};

/// A token this close to its end is renewed before it is used.
const RENEWAL_MARGIN_SECONDS: u64 = 60;
/// A rate window lasts a minute. A longer Retry-After means that the quota of the day is used up.
const LONGEST_WAIT_SECONDS: u64 = 65;
const ATTEMPTS: u32 = 4;

struct Token {
    value: String,
    expires_at: u64,
}

#[derive(Deserialize)]
struct Issued {
    access_token: String,
    expires_in: u64,
}

#[derive(Default, Deserialize)]
struct Failure {
    code: Option<String>,
    message: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

pub struct Client<'a, O> {
    outside: &'a O,
    api_url: String,
    client_id: String,
    client_secret: String,
    token: Mutex<Option<Token>>,
}

impl<'a, O: Outside> Client<'a, O> {
    pub fn new(outside: &'a O, api_url: &str, client_id: &str, client_secret: &str) -> Self {
        Self {
            outside,
            api_url: api_url.to_owned(),
            client_id: client_id.to_owned(),
            client_secret: client_secret.to_owned(),
            token: Mutex::new(None),
        }
    }

    /// A token that is good for another minute at least. Threads that need a new one at the same time wait for one
    /// request.
    pub fn token(&self) -> Result<String, Error> {
        let mut kept = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.outside.now();
        if let Some(token) = &*kept
            && token.expires_at > now + RENEWAL_MARGIN_SECONDS
        {
            return Ok(token.value.clone());
        }
        let issued = self.request_token()?;
        *kept = Some(Token {
            value: issued.access_token.clone(),
            expires_at: now + issued.expires_in,
        });
        Ok(issued.access_token)
    }

    /// The path is relative to /api/v1. A refused token is replaced once, and a full rate window is waited out.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let token = self.token()?;
        let mut response = self.send(&self.authorized(path, &token)?)?;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.forget(&token);
            response = self.send(&self.authorized(path, &self.token()?)?)?;
        }
        answer_of(&response)
    }

    fn authorized(&self, path: &str, token: &str) -> Result<Request, Error> {
        Ok(self
            .to(Method::GET, path)
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .body(None)?)
    }

    fn to(&self, method: Method, path: &str) -> ureq::http::request::Builder {
        ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/api/v1{path}", self.api_url))
    }

    fn forget(&self, refused: &str) {
        let mut kept = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take_if(|token| token.value == refused);
    }

    fn request_token(&self) -> Result<Issued, Error> {
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}",
            percent_encoded(&self.client_id),
            percent_encoded(&self.client_secret)
        );
        let request = self
            .to(Method::POST, "/token")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Some(form))?;
        answer_of(&self.send(&request)?)
    }

    fn send(&self, request: &Request) -> Result<Response, Error> {
        for _ in 1..ATTEMPTS {
            let response = self.outside.send(request)?;
            if response.status() != StatusCode::TOO_MANY_REQUESTS {
                return Ok(response);
            }
            let wait = self.wait_after(response.headers());
            if wait > LONGEST_WAIT_SECONDS {
                return Ok(response);
            }
            self.outside.sleep(Duration::from_secs(wait));
        }
        self.outside.send(request)
    }

    fn wait_after(&self, headers: &HeaderMap) -> u64 {
        let number = |name| headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
        let until_reset =
            || number("x-ratelimit-reset").map(|reset| reset.saturating_sub(self.outside.now()));
        number("retry-after")
            .or_else(until_reset)
            .unwrap_or(1)
            .max(1)
    }
}

fn answer_of<T: DeserializeOwned>(response: &Response) -> Result<T, Error> {
    if response.status().is_success() {
        return Ok(serde_json::from_slice(response.body())?);
    }
    // What is no JSON is not from the API itself: a proxy, perhaps.
    let failure: Failure = serde_json::from_slice(response.body()).unwrap_or_default();
    Err(Error::Api {
        status: response.status().as_u16(),
        code: failure
            .code
            .or(failure.error)
            .unwrap_or_else(|| "UNKNOWN".to_owned()),
        message: failure
            .message
            .or(failure.error_description)
            .unwrap_or_else(|| "no explanation was given".to_owned()),
    })
}

/// For forms and paths alike: only what needs no encoding anywhere stays as it is.
pub fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Value, json};

    use super::*;

    /// A server that answers as told, with time and waiting in the test's hands.
    struct Stage<F> {
        answer: F,
        seen: Cell<usize>,
        now: Cell<u64>,
        slept: RefCell<Vec<u64>>,
    }

    impl<F: Fn(&Request) -> Response> Stage<F> {
        fn new(answer: F) -> Self {
            let now = Cell::new(1_000_000);
            Self {
                answer,
                seen: Cell::new(0),
                now,
                slept: RefCell::default(),
            }
        }

        fn client(&self) -> Client<'_, Self> {
            Client::new(self, "http://api.test", "id", "secret")
        }
    }

    impl<F: Fn(&Request) -> Response> Outside for Stage<F> {
        fn send(&self, request: &Request) -> Result<Response, Error> {
            self.seen.set(self.seen.get() + 1);
            Ok((self.answer)(request))
        }

        fn now(&self) -> u64 {
            self.now.get()
        }

        fn sleep(&self, wait: Duration) {
            self.slept.borrow_mut().push(wait.as_secs());
            self.now.set(self.now.get() + wait.as_secs());
        }
    }

    fn answer(status: u16, body: &Value) -> Response {
        ureq::http::Response::builder()
            .status(status)
            .body(body.to_string().into_bytes())
            .unwrap()
    }

    fn issued(token: &str) -> Response {
        answer(200, &json!({ "access_token": token, "expires_in": 3600 }))
    }

    fn asks_for_token(request: &Request) -> bool {
        request.uri().path() == "/api/v1/token"
    }

    #[test]
    fn one_token_serves_many_threads() {
        struct Crowd(AtomicUsize);
        impl Outside for Crowd {
            fn send(&self, request: &Request) -> Result<Response, Error> {
                if asks_for_token(request) {
                    self.0.fetch_add(1, Ordering::SeqCst);
                    return Ok(issued("one"));
                }
                Ok(answer(200, &json!({})))
            }
            fn now(&self) -> u64 {
                0
            }
            fn sleep(&self, _: Duration) {}
        }
        let crowd = Crowd(AtomicUsize::new(0));
        let client = Client::new(&crowd, "http://api.test", "id", "secret");
        std::thread::scope(|threads| {
            for _ in 0..10 {
                threads.spawn(|| client.get::<Value>("/x").unwrap());
            }
        });
        assert_eq!(crowd.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        let count = Cell::new(0);
        let stage = Stage::new(|_| {
            count.set(count.get() + 1);
            issued(&format!("token-{}", count.get()))
        });
        let client = stage.client();
        for (later, expected) in [(0, "token-1"), (3539, "token-1"), (2, "token-2")] {
            stage.now.set(stage.now.get() + later);
            assert_eq!(client.token().unwrap(), expected);
        }
    }

    #[test]
    fn a_refused_token_is_replaced_once() {
        for accepted in ["Bearer token-2", "none"] {
            let count = Cell::new(0);
            let stage = Stage::new(|request: &Request| {
                if asks_for_token(request) {
                    count.set(count.get() + 1);
                    return issued(&format!("token-{}", count.get()));
                }
                let good = request.headers()["authorization"] == accepted;
                answer(
                    if good { 200 } else { 401 },
                    &json!({ "code": "UNAUTHORIZED" }),
                )
            });
            match stage.client().get::<Value>("/x") {
                Ok(_) => assert_ne!(accepted, "none"),
                Err(error) => {
                    assert_eq!(accepted, "none");
                    assert!(error.to_string().starts_with("401 UNAUTHORIZED"), "{error}");
                }
            }
            assert_eq!(stage.seen.get(), 4);
        }
    }

    #[test]
    fn a_full_rate_window_is_waited_out() {
        let calls = Cell::new(0);
        let stage = Stage::new(|request: &Request| {
            if asks_for_token(request) {
                return issued("one");
            }
            calls.set(calls.get() + 1);
            let mut response = answer(
                if calls.get() == 1 { 429 } else { 200 },
                &json!({ "calls": calls.get() }),
            );
            response
                .headers_mut()
                .insert("x-ratelimit-reset", 1_000_030.into());
            response
        });
        assert_eq!(
            stage.client().get::<Value>("/x").unwrap(),
            json!({ "calls": 2 })
        );
        assert_eq!(*stage.slept.borrow(), [30]);
    }

    #[test]
    fn does_not_wait_for_the_next_day() {
        let stage = Stage::new(|request: &Request| {
            if asks_for_token(request) {
                return issued("one");
            }
            let mut response = answer(429, &json!({}));
            response.headers_mut().insert("retry-after", 40_000.into());
            response
        });
        let refusal = stage.client().get::<Value>("/x").unwrap_err();
        assert!(matches!(refusal, Error::Api { status: 429, .. }));
        assert!(stage.slept.borrow().is_empty());
    }

    #[test]
    fn a_wrong_secret_is_said_to_be_one() {
        let stage = Stage::new(|_| answer(401, &json!({ "error": "invalid_client" })));
        let refusal = stage.client().token().unwrap_err();
        assert!(refusal.to_string().contains("invalid_client"), "{refusal}");
    }

    #[test]
    fn secrets_survive_the_form() {
        assert_eq!(percent_encoded("a b&c=%é"), "a%20b%26c%3D%25%C3%A9");
    }
}
