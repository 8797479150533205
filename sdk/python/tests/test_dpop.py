"""Proofs of possession: made by clients, checked by verifiers."""

import asyncio
import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Annotated, Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from support import (
    AUDIENCE,
    ISSUED_AT,
    ISSUER,
    ORGANIZATION,
    Issuer,
    World,
    is_token_request,
    issued,
    refused,
)

from countersign import (
    AsyncVerifier,
    Client,
    DpopKey,
    MemoryReplayStore,
    NetworkError,
    TokenError,
    Verifier,
)
from countersign.dpop import Dpop, normalized_url

MADE = Issuer()
KEY = DpopKey()
BOUND = MADE.token(cnf={"jkt": KEY.thumbprint})
BEARER = MADE.token()
NOW = ISSUED_AT / 1000 + 10
URL = f"{AUDIENCE}/7"
BODY = b'{"amount": 120}'


def digest_of(body: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def hash_of(token: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).decode().rstrip("=")


def claims_for(**changes: Any) -> dict[str, Any]:
    claims = {
        "jti": "one",
        "htm": "POST",
        "htu": URL,
        "iat": int(NOW),
        "ath": hash_of(BOUND),
        "content_digest": digest_of(BODY),
    } | changes
    return {name: value for name, value in claims.items() if value is not ...}


def a_proof(**changes: Any) -> str:
    return KEY.sign(claims_for(**changes))


def signed(header: dict[str, Any], key: Any = None, algorithm: str = "ES256") -> str:
    return jwt.encode(claims_for(), key or KEY._key, algorithm, {"typ": "dpop+jwt"} | header)


def a_verifier(**options: Any) -> Verifier:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=MADE.jwks))
    given: dict[str, Any] = {"subjects": "agents", "revocation": "none", "now": lambda: NOW}
    given |= {"transport": transport, **options}
    return Verifier(ISSUER, AUDIENCE, ORGANIZATION, **given)


def present(proof: Any = None, **changes: Any) -> dict[str, Any]:
    """The arguments of `verify` for a good request."""
    headers: dict[str, Any] = {"Authorization": f"DPoP {BOUND}", "DPoP": proof or a_proof()}
    given = {"token_or_headers": headers, "method": "POST", "url": URL, "body": BODY}
    return given | changes


def refusal_of(verifier: Verifier, arguments: dict[str, Any]) -> TokenError:
    with pytest.raises(TokenError) as refusal:
        verifier.verify(**arguments)
    return refusal.value


# Verifiers


def test_a_good_proof() -> None:
    verified = a_verifier().verify(**present(), scopes="orders:read", max_depth=0)
    assert verified.key_thumbprint == KEY.thumbprint
    assert a_verifier().verify(BEARER).key_thumbprint is None


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP384R1()),
        ed25519.Ed25519PrivateKey.generate(),
        rsa.generate_private_key(public_exponent=65537, key_size=2048),
    ],
    ids=["P-256", "P-384", "Ed25519", "RSA"],
)
def test_all_kinds_of_keys(key: Any) -> None:
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    made = DpopKey(pem)
    token = MADE.token(cnf={"jkt": made.thumbprint})
    headers = {
        "authorization": f"dpop {token}",
        "dpop": made.sign(claims_for(ath=hash_of(token))),
    }
    verified = a_verifier().verify(**present(token_or_headers=headers))
    assert verified.key_thumbprint == made.thumbprint


def test_the_thumbprint_is_that_of_the_standard() -> None:
    """The example of RFC 7638."""
    from countersign.dpop import thumbprint

    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECP"
        "ebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY3"
        "68QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4"
        "lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
    )
    key = {"kty": "RSA", "n": modulus, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"}
    assert thumbprint(key) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


OTHER = DpopKey()
LARGE = {"kty": "RSA", "e": "AQAB", "n": "w" * 800}
MUTATIONS = {
    "no jti": a_proof(jti=...),
    "empty jti": a_proof(jti=""),
    "long jti": a_proof(jti="x" * 257),
    "jti of another type": a_proof(jti=["x"]),
    "other method": a_proof(htm="GET"),
    "lower case method": a_proof(htm="post"),
    "no method": a_proof(htm=...),
    "other path": a_proof(htu=f"{AUDIENCE}/8"),
    "other host": a_proof(htu="https://evil.example/orders/7"),
    "other scheme": a_proof(htu=URL.replace("https", "http")),
    "other port": a_proof(htu="https://api.example.com:8443/orders/7"),
    "with query": a_proof(htu=f"{URL}?x=1"),
    "with user": a_proof(htu=URL.replace("//", "//user@")),
    "with backslashes": a_proof(htu=URL.replace("/", "\\")),
    "without slashes": a_proof(htu=URL.replace("//", "")),
    "full-width letters": a_proof(htu=URL.replace("api", "\uff41pi")),
    "with a blank": a_proof(htu=f"{URL} "),
    "no address": a_proof(htu=...),
    "not an address": a_proof(htu="orders"),
    "address of another type": a_proof(htu={"x": URL}),
    "too old": a_proof(iat=int(NOW) - 301),
    "of the future": a_proof(iat=int(NOW) + 302),
    "no time": a_proof(iat=...),
    "time as text": a_proof(iat=str(int(NOW))),
    "time is true": a_proof(iat=True),
    "time is infinite": a_proof(iat=float("inf")),
    "time is larger than a float": a_proof(iat=10**400),
    "expiry is larger than a float": a_proof(iat=int(NOW), nbf=10**400, exp=10**400),
    "expired": a_proof(exp=int(NOW) - 1),
    "not valid yet": a_proof(nbf=int(NOW) + 600),
    "no hash": a_proof(ath=...),
    "hash of another token": a_proof(ath=hash_of(BEARER)),
    "other digest": a_proof(content_digest=digest_of(BODY + b" ")),
    "digest of another kind": a_proof(content_digest="sha-512=:eA==:"),
    "digest of another type": a_proof(content_digest=5),
    "other key": OTHER.sign(claims_for()),
    "key of another": signed({"jwk": OTHER.jwk}, OTHER._key),
    "signature of another": signed({"jwk": KEY.jwk}, OTHER._key),
    "no key": signed({}),
    "key is no object": signed({"jwk": [KEY.jwk]}),
    "private key": signed({"jwk": KEY.jwk | {"d": "eA"}}),
    "key lacks a member": signed({"jwk": {"kty": "EC", "crv": "P-256", "x": KEY.jwk["x"]}}),
    "other curve": signed({"jwk": KEY.jwk | {"crv": "P-384"}}),
    "other type": signed({"jwk": KEY.jwk, "typ": "JWT"}),
    "critical": signed({"jwk": KEY.jwk, "crit": ["x"], "x": 1}),
    "symmetric": signed({"jwk": {"kty": "oct", "k": "eA"}}, b"x" * 32, "HS256"),
    "none": jwt.encode(claims_for(), "", "none", {"typ": "dpop+jwt", "jwk": KEY.jwk}),
    "large key": signed({"jwk": LARGE}),
    "not a token": "x",
    "empty": " ",
    "too long": a_proof(x="y" * 9000),
    "two in one header": f"{a_proof()}, {a_proof(jti='two')}",
    "two headers": [a_proof(), a_proof(jti="two")],
    "access token": BOUND,
}


@pytest.mark.parametrize("proof", MUTATIONS.values(), ids=MUTATIONS)
def test_a_proof_that_is_not_good(proof: Any) -> None:
    verifier = a_verifier()
    error = refusal_of(verifier, present(proof))
    assert (error.status, error.code) == (401, "invalid_dpop_proof")
    challenge = error.www_authenticate
    assert challenge.startswith('DPoP error="invalid_dpop_proof", error_description="')
    assert 'algs="ES256 ' in challenge
    if proof not in (MUTATIONS["other digest"], MUTATIONS["digest of another kind"]):
        verifier.verify(**present()), "the id was not used up"


def test_paths_with_all_characters_that_an_address_may_have() -> None:
    url = f"{AUDIENCE}/@me/a:b/(c),d=1;e'*!$&+"
    a_verifier().verify(**present(a_proof(htu=url), url=url))


def test_a_large_key_is_refused_even_if_the_token_is_bound_to_it() -> None:
    from countersign.dpop import thumbprint

    token = MADE.token(cnf={"jkt": thumbprint(LARGE)})
    header = {"typ": "dpop+jwt", "alg": "RS256", "jwk": LARGE}
    encoded = base64.urlsafe_b64encode(json.dumps(header).encode()).decode().rstrip("=")
    forged = ".".join([encoded, *a_proof().split(".")[1:]])
    arguments = present(token_or_headers={"Authorization": f"DPoP {token}", "DPoP": forged})
    assert "too large" in str(refusal_of(a_verifier(), arguments))


def test_without_a_proof() -> None:
    error = refusal_of(a_verifier(), present(token_or_headers={"Authorization": f"DPoP {BOUND}"}))
    assert (error.status, error.code) == (401, "invalid_dpop_proof")


def test_a_bound_token_is_no_bearer_token_and_the_other_way_round() -> None:
    verifier = a_verifier()
    bound = present(token_or_headers={"Authorization": f"Bearer {BOUND}", "DPoP": a_proof()})
    for arguments in (bound, {"token_or_headers": bound["token_or_headers"]}):
        error = refusal_of(verifier, arguments)
        assert (error.status, error.code) == (401, "invalid_token")
        assert error.www_authenticate.startswith('DPoP error="invalid_token"')
    assert refusal_of(verifier, {"token_or_headers": BOUND}).code == "invalid_token"
    headers = {"Authorization": f"DPoP {BEARER}", "DPoP": a_proof(ath=hash_of(BEARER))}
    error = refusal_of(verifier, present(token_or_headers=headers))
    assert (error.status, error.code) == (401, "invalid_token")
    assert error.www_authenticate.startswith('DPoP error="invalid_token"')


@pytest.mark.parametrize(
    "confirmation",
    [None, {}, "x", {"jkt": ""}, {"jkt": 5}, {"x5t#S256": "x"}, {"jkt": "x", "x5t#S256": "x"}],
    ids=str,
)
def test_a_token_that_is_bound_in_another_way_is_refused(confirmation: Any) -> None:
    error = refusal_of(a_verifier(), {"token_or_headers": MADE.token(cnf=confirmation)})
    assert (error.status, error.code) == (401, "invalid_token")
    assert "cannot be checked" in str(error)


def test_a_verifier_that_does_not_get_the_request_takes_no_proofs() -> None:
    """As before, the header names no scheme that it knows."""
    arguments = {"token_or_headers": present()["token_or_headers"]}
    error = refusal_of(a_verifier(), arguments)
    assert (error.status, error.www_authenticate) == (401, "Bearer")
    with pytest.raises(ValueError, match="method and url"):
        a_verifier().verify(**present(url=None))
    with pytest.raises(ValueError, match="method and url"):
        a_verifier().verify(**present(method=None))


def test_a_proof_can_be_used_once() -> None:
    verifier = a_verifier()
    verifier.verify(**present())
    assert "used already" in str(refusal_of(verifier, present()))
    verifier.verify(**present(a_proof(jti="two")))
    # The ids of another key are others.
    token = MADE.token(cnf={"jkt": OTHER.thumbprint})
    proof = OTHER.sign(claims_for(ath=hash_of(token)))
    headers = {"Authorization": f"DPoP {token}", "DPoP": proof}
    verifier.verify(**present(token_or_headers=headers))


def test_a_refused_token_is_told_with_the_scheme_of_its_request() -> None:
    error = refusal_of(a_verifier(), present() | {"scopes": "orders:delete"})
    assert (error.status, error.code) == (403, "insufficient_scope")
    assert error.www_authenticate.startswith('DPoP error="insufficient_scope"')
    verified = a_verifier().verify(**present())
    with pytest.raises(TokenError) as refusal:
        verified.require_detail("payment")
    assert refusal.value.www_authenticate.startswith("DPoP error=")


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "/orders/7",
        "/orders/7?page=2",
        "http://10.0.0.7:8080/orders/7",
        "https://evil.example/orders/7#x",
    ],
)
def test_the_origin_is_that_of_the_audience(url: str) -> None:
    """The header Host is the choice of the sender, and a proxy changes the scheme."""
    a_verifier().verify(**present(url=url))
    proof = a_proof(htu="https://evil.example/orders/7")
    assert refusal_of(a_verifier(), present(proof, url=url)).code == "invalid_dpop_proof"
    places = ["https://api.example.com", "https://gateway.example.com/v1/"]
    other = a_proof(htu="https://gateway.example.com/v1/orders/7")
    for given in (places, places[1]):
        a_verifier(public_url=given).verify(**present(other, url=url))
    a_verifier(public_url=places).verify(**present(url=url))
    refusal_of(a_verifier(public_url=places[1]), present(url=url))


@pytest.mark.parametrize(
    "url", ["//evil.example/orders/7", "/orders/7/", "/orders//7", "/\x00", "/"]
)
def test_other_paths(url: str) -> None:
    assert refusal_of(a_verifier(), present(url=url)).code == "invalid_dpop_proof"


def test_an_audience_that_is_no_address_needs_one() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=MADE.jwks))
    token = MADE.token(cnf={"jkt": KEY.thumbprint}, aud="urn:orders")
    headers = {"Authorization": f"DPoP {token}", "DPoP": a_proof(ath=hash_of(token))}

    def verifier(**options: Any) -> Verifier:
        return Verifier(
            ISSUER,
            "urn:orders",
            ORGANIZATION,
            subjects="agents",
            revocation="none",
            transport=transport,
            now=lambda: NOW,
            **options,
        )

    error = refusal_of(verifier(), present(token_or_headers=headers))
    assert error.www_authenticate == "Bearer", "no proof can be checked"
    made = verifier(public_url="https://api.example.com")
    made.verify(**present(token_or_headers=headers, url="/orders/7"))
    with pytest.raises(ValueError, match="needs public_url"):
        verifier(dpop="require")
    places: list[Any] = ["orders", "http://api.example.com", []]
    for public_url in places:
        with pytest.raises(ValueError, match="public_url"):
            verifier(public_url=public_url)


def test_an_api_decides_which_kinds_of_tokens_it_takes() -> None:
    strict = a_verifier(dpop="require")
    strict.verify(**present())
    for headers in (BEARER, {"Authorization": f"Bearer {BEARER}"}):
        error = refusal_of(strict, present(token_or_headers=headers))
        assert (error.status, error.code) == (401, "invalid_token")
        assert error.www_authenticate.startswith('DPoP error="invalid_token"')
    missing = refusal_of(strict, present(token_or_headers={}))
    assert missing.www_authenticate.startswith('DPoP algs="ES256 ')
    without = a_verifier(dpop="refuse")
    assert without.verify(BEARER)
    assert refusal_of(without, present()).www_authenticate == "Bearer"
    assert refusal_of(without, {"token_or_headers": BOUND}).code == "invalid_token"
    with pytest.raises(ValueError, match="dpop must be"):
        a_verifier(dpop="yes")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("https://a.example", "https://A.example:443/", True),
        ("https://a.example/%7euser", "https://a.example/~user", True),
        ("https://a.example/%2f", "https://a.example/%2F", True),
        ("https://a.example/%2F", "https://a.example//", False),
        ("https://a.example/a", "https://a.example/A", False),
        ("http://[::1]:80/", "http://[::1]/", True),
    ],
)
def test_addresses_are_normalized(one: str, other: str, is_same: bool) -> None:
    assert (normalized_url(one) == normalized_url(other)) == is_same


# The digest of the body


def test_a_digest_can_be_demanded() -> None:
    bare = a_proof(content_digest=...)
    a_verifier().verify(**present(bare))
    strict = a_verifier(require_content_digest=True)
    error = refusal_of(strict, present(bare))
    assert error.code == "invalid_dpop_proof"
    assert "content_digest" in str(error)
    strict.verify(**present(a_proof(jti="two")))
    strict.verify(**present(a_proof(jti="three", content_digest=...), body=b""))
    with pytest.raises(ValueError, match="body"):
        strict.verify(**present(body=None))
    several = f"sha-512=:eA==:, {digest_of(BODY)}"
    strict.verify(**present(a_proof(jti="four", content_digest=several)))


def test_the_body_is_read_for_good_proofs_with_a_digest_only() -> None:
    reads: list[int] = []

    def read() -> bytes:
        reads.append(1)
        return BODY

    verifier = a_verifier()
    refusal_of(verifier, present(a_proof(htm="GET"), body=read))
    verifier.verify(**present(a_proof(content_digest=...), body=read))
    verifier.verify({"Authorization": f"Bearer {BEARER}"}, method="POST", url=URL, body=read)
    assert reads == []
    verifier.verify(**present(a_proof(jti="two"), body=read))
    assert reads == [1]
    # Without the body, nothing is compared.
    verifier.verify(**present(a_proof(jti="three", content_digest=digest_of(b"x")), body=None))


# Used proofs


def test_the_store_never_accepts_a_proof_twice() -> None:
    now = 1_000.0
    store = MemoryReplayStore(3, now=lambda: now)
    assert [store.add(name, 1_300) for name in "aab"] == [True, False, True]
    assert store.add("c", 1_301)
    assert store.add("d", 1_302), "the oldest ones leave"
    assert store._count == 2
    assert not store.add("a", 1_300)
    assert not store.add("new", 1_300), "as old as those that left"
    assert not store.add("c", 1_301)
    now = 1_302.0
    assert store.add("e", 1_400)
    assert store._count == 2, "expired ones leave"
    assert not store.add("d", 1_302)
    with pytest.raises(ValueError, match="max_proofs"):
        MemoryReplayStore(0)


def test_the_store_accepts_no_proof_again_when_the_clock_is_set_back() -> None:
    now = 1_000.0
    store = MemoryReplayStore(now=lambda: now)
    assert store.add("one", 1_000.5)
    now = 1_001.0
    assert store.add("two", 1_300.0)
    now = 900.0
    assert not store.add("one", 1_000.5)
    assert store.add("three", 1_001.5)


class OtherStore:
    def __init__(self, result: Any) -> None:
        self.result = result
        self.seen: list[tuple[str, float]] = []

    def __len__(self) -> int:
        return 0

    def add(self, proof_id: str, expires_at: float) -> Any:
        self.seen.append((proof_id, expires_at))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def test_another_store() -> None:
    store = OtherStore(True)
    a_verifier(replay_store=store).verify(**present())
    [(proof_id, expires_at)] = store.seen
    assert (len(proof_id), expires_at) == (43, int(NOW) + 300)
    assert refusal_of(a_verifier(replay_store=OtherStore(False)), present()).status == 401
    for result in (ConnectionError(), "yes", None):
        error = refusal_of(a_verifier(replay_store=OtherStore(result)), present())
        assert (error.status, error.code) == (503, "temporarily_unavailable")


def test_asyncio_verifies_too() -> None:
    async def answer(is_new: bool) -> bool:
        return is_new

    async def body() -> bytes:
        return BODY

    async def run() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, json=MADE.jwks))

        def verifier(**options: Any) -> AsyncVerifier:
            return AsyncVerifier(
                ISSUER,
                AUDIENCE,
                ORGANIZATION,
                subjects="agents",
                revocation="none",
                transport=transport,
                now=lambda: NOW,
                **options,
            )

        made = verifier()
        for read in (body, lambda: BODY, BODY):
            proof = a_proof(jti=str(read))
            verified = await made.verify(**present(proof, body=read))
            assert verified.key_thumbprint == KEY.thumbprint
        bad: list[Any] = [a_proof(jti=str(BODY)), *MUTATIONS.values()]
        for each in bad:
            with pytest.raises(TokenError) as refusal:
                await made.verify(**present(each, body=body))
            assert refusal.value.code == "invalid_dpop_proof"
        await verifier(replay_store=OtherStore(answer(True))).verify(**present())
        for result, status in ((answer(False), 401), (OSError(), 503), ("yes", 503)):
            with pytest.raises(TokenError) as refusal:
                await verifier(replay_store=OtherStore(result)).verify(**present())
            assert refusal.value.status == status

    asyncio.run(run())


# Clients


def bound(token: str = "one") -> httpx.Response:
    return issued(token, token_type="DPoP")


def read_proof(request: httpx.Request, key: DpopKey) -> dict[str, Any]:
    [proof] = request.headers.get_list("DPoP")
    header = jwt.get_unverified_header(proof)
    assert (header["typ"], header["jwk"]) == ("dpop+jwt", key.jwk)
    claims: dict[str, Any] = jwt.decode(
        proof, jwt.PyJWK(key.jwk), options={"verify_aud": False, "verify_iat": False}
    )
    assert claims["htm"] == request.method
    assert claims["htu"] == str(request.url.copy_with(query=None))
    return claims


def test_a_proof_does_not_name_the_password_of_an_address() -> None:
    proof = Dpop(KEY).proof("GET", "https://user:password@api.example.com/7?a=1#b")
    claims = jwt.decode(proof, options={"verify_signature": False})
    assert claims["htu"] == "https://api.example.com/7"


def test_a_client_binds_its_tokens() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return bound() if is_token_request(request) else httpx.Response(200, json={})

    world = World(answer, dpop=KEY)
    world.client.get("/agents", limit=2)
    asyncio.run(world.async_client.get("/agents", limit=2))
    proofs = [read_proof(request, KEY) for request in world.seen]
    assert len({each["jti"] for each in proofs}) == 4
    for token, call in (world.seen[:2], world.seen[2:]):
        assert "Authorization" not in token.headers
        assert not {"ath", "content_digest", "nonce"} & read_proof(token, KEY).keys()
        assert call.headers["Authorization"] == "DPoP one"
        assert read_proof(call, KEY)["ath"] == hash_of("one")
    assert world.client.dpop is not None and world.client.dpop.key is KEY


def test_a_client_makes_a_key_of_its_own() -> None:
    one, other = (World(lambda _: bound(), dpop=True).client for _ in range(2))
    assert one.dpop is not None and other.dpop is not None
    assert one.dpop.key.thumbprint != other.dpop.key.thumbprint
    assert one.redeem("x").dpop is one.dpop
    assert World(lambda _: issued()).client.dpop is None
    with pytest.raises(TypeError, match="dpop must be"):
        Client(ISSUER, "agent", "secret", dpop="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a key for DPoP"):
        DpopKey(
            ec.generate_private_key(ec.SECP256K1())
            .private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            .decode()
        )


@pytest.mark.parametrize(("dpop", "kind"), [(True, "Bearer"), (False, "DPoP")])
def test_a_token_of_the_other_kind_is_not_taken(dpop: bool, kind: str) -> None:
    world = World(lambda _: issued(token_type=kind), dpop=dpop)
    with pytest.raises(NetworkError, match="token_type must be"):
        world.client.token()


def nonce_demanded(status: int, nonce: str) -> httpx.Response:
    headers = {"DPoP-Nonce": nonce}
    if status == 400:
        body = {"error": "use_dpop_nonce", "error_description": "no"}
        return httpx.Response(400, json=body, headers=headers)
    headers["WWW-Authenticate"] = 'DPoP error="use_dpop_nonce", algs="ES256"'
    return httpx.Response(401, json={"code": "UNAUTHORIZED", "message": "no"}, headers=headers)


@pytest.mark.parametrize("is_async", [False, True])
def test_nonces(is_async: bool) -> None:
    def answers() -> Iterator[httpx.Response]:
        yield nonce_demanded(400, "n1")
        yield bound()
        yield nonce_demanded(401, "n2")
        yield httpx.Response(200, json={}, headers={"DPoP-Nonce": "n3"})
        yield httpx.Response(200, json={})

    made = answers()
    world = World(lambda _: next(made), dpop=KEY)

    async def run() -> None:
        await world.async_client.get("/x")
        await world.async_client.get("/x")

    if is_async:
        asyncio.run(run())
    else:
        world.client.get("/x")
        world.client.get("/x")
    proofs = [read_proof(request, KEY) for request in world.seen]
    assert [each.get("nonce") for each in proofs] == [None, "n1", "n1", "n2", "n3"]
    assert len({each["jti"] for each in proofs}) == 5
    assert world.slept == []


def test_a_server_that_always_wants_another_nonce_is_asked_twice() -> None:
    world = World(lambda _: nonce_demanded(400, "n"), dpop=True)
    with pytest.raises(Exception, match="use_dpop_nonce"):
        world.client.token()
    assert len(world.seen) == 2
    world = World(lambda _: nonce_demanded(400, "n"))
    with pytest.raises(Exception, match="use_dpop_nonce"):
        world.client.token()


@pytest.mark.parametrize("is_async", [False, True])
def test_lines(is_async: bool) -> None:
    def answers() -> Iterator[httpx.Response]:
        yield bound()
        yield nonce_demanded(401, "n1")
        yield httpx.Response(200, content=b"a\nb")

    made = answers()
    world = World(lambda _: next(made), dpop=KEY)

    async def run() -> list[str]:
        return [line async for line in world.async_client.lines("/audit/export")]

    lines = asyncio.run(run()) if is_async else list(world.client.lines("/audit/export"))
    assert lines == ["a", "b"]
    assert [read_proof(each, KEY).get("nonce") for each in world.seen] == [None, None, "n1"]


# Requests to resources


def copy_of(request: httpx.Request) -> httpx.Request:
    """A second attempt changes the headers of the first."""
    return httpx.Request(request.method, request.url, headers=request.headers)


class Service:
    """A resource with a verifier."""

    def __init__(self, **options: Any) -> None:
        self.seen: list[httpx.Request] = []
        self.verifier = a_verifier(require_content_digest=True, **options)
        self.nonce = ""

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(copy_of(request))
        if request.url.path == "/orders/moved":
            return httpx.Response(307, headers={"Location": "/orders/7"})
        if request.url.path == "/orders/left":
            return httpx.Response(307, headers={"Location": "https://evil.example/"})
        if request.url.host == "evil.example":
            return httpx.Response(200)
        if self.nonce and read_proof(request, KEY).get("nonce") != self.nonce:
            return nonce_demanded(401, self.nonce)
        try:
            self.verifier.verify(
                request.headers,
                method=request.method,
                url=str(request.url),
                body=request.read(),
            )
        except TokenError as error:
            headers = {"WWW-Authenticate": error.www_authenticate}
            return httpx.Response(error.status, headers=headers, text=str(error))
        return httpx.Response(200)


def caller(token: str = BOUND) -> World:
    made = World(lambda _: bound(token), dpop=KEY)
    assert made.client.dpop and made.async_client.dpop
    made.client.dpop._now = made.async_client.dpop._now = lambda: NOW
    return made


@pytest.mark.parametrize("nonce", ["", "n1"])
def test_httpx_presents_proofs(nonce: str) -> None:
    service, world = Service(), caller()
    service.nonce = nonce
    transport = httpx.MockTransport(service.handle)
    with httpx.Client(auth=world.client.auth(AUDIENCE), transport=transport) as http:
        for _ in range(2):
            answer = http.post(f"{URL}?page=2", content=BODY)
            assert answer.status_code == 200, answer.text

    async def post() -> httpx.Response:
        auth = world.async_client.auth(AUDIENCE)
        async with httpx.AsyncClient(auth=auth, transport=transport) as http:
            await http.get(URL)
            return await http.post(URL, content=BODY)

    assert asyncio.run(post()).status_code == 200
    proofs = [read_proof(each, KEY) for each in service.seen]
    assert len({each["jti"] for each in proofs}) == len(proofs) == (6 if nonce else 4)
    assert proofs[0]["content_digest"] == digest_of(BODY)
    assert proofs[0]["ath"] == hash_of(BOUND)
    assert "content_digest" not in proofs[-2], "there is no body"


def test_a_refused_bound_token_is_replaced_once() -> None:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(copy_of(request))
        return refused()

    tokens = iter(["one", "two"])
    world = World(lambda _: bound(next(tokens)), dpop=KEY)
    auth = world.client.auth(AUDIENCE)
    with httpx.Client(auth=auth, transport=httpx.MockTransport(handle)) as http:
        assert http.get(URL).status_code == 401
    assert [each.headers["Authorization"] for each in seen] == ["DPoP one", "DPoP two"]
    assert [read_proof(each, KEY)["ath"] for each in seen] == [hash_of("one"), hash_of("two")]


def test_a_stream_has_no_digest() -> None:
    service = Service()
    service.verifier = a_verifier()
    transport = httpx.MockTransport(service.handle)
    with httpx.Client(auth=caller().client.auth(AUDIENCE), transport=transport) as http:
        assert http.post(URL, content=iter([BODY])).status_code == 200
    assert "content_digest" not in read_proof(service.seen[0], KEY)


# FastAPI


@pytest.mark.parametrize("is_async", [False, True])
def test_fastapi(is_async: bool) -> None:
    from fastapi import Depends, FastAPI

    from countersign import VerifiedToken
    from countersign.fastapi import require_token

    keys = httpx.MockTransport(lambda _: httpx.Response(200, json=MADE.jwks))
    options: dict[str, Any] = {
        "subjects": "agents",
        "revocation": "none",
        "transport": keys,
        "now": lambda: NOW,
        "require_content_digest": True,
    }
    kind: Any = AsyncVerifier if is_async else Verifier
    verifier = kind(ISSUER, AUDIENCE, ORGANIZATION, **options)
    app = FastAPI()
    required = require_token(verifier, "orders:read")

    @app.post("/orders/7")
    def write(
        agent: Annotated[VerifiedToken, Depends(required)], order: dict[str, int]
    ) -> dict[str, Any]:
        return {"key": agent.key_thumbprint, **order}

    async def run() -> None:
        auth = caller().async_client.auth(AUDIENCE)
        json_type = ("Content-Type", "application/json")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), auth=auth) as http:
            answer = await http.post(URL, content=BODY, headers=dict([json_type]))
            assert answer.json() == {"key": KEY.thumbprint, "amount": 120}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
            headers = [json_type, ("Authorization", f"DPoP {BOUND}"), ("DPoP", a_proof())]
            # The address within the cluster.
            url = "http://10.0.0.7:8000/orders/7"
            assert (await http.post(url, content=BODY, headers=headers)).status_code == 200
            for sent in (headers, [*headers, ("DPoP", a_proof(jti="two"))], headers[:2]):
                answer = await http.post(url, content=BODY, headers=sent)
                assert answer.status_code == 401
                assert answer.json()["detail"]["error"] == "invalid_dpop_proof"
                assert answer.headers["WWW-Authenticate"].startswith("DPoP error=")
            other = [*headers[:2], ("DPoP", a_proof(jti="three"))]
            answer = await http.post(url, content=b'{"amount": 121}', headers=other)
            assert answer.status_code == 401

    asyncio.run(run())
