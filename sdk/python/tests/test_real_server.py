"""Against a running server, whose own tests start this file and set the variables."""

import asyncio
import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import countersign
from countersign import (
    ApiError,
    ApprovalCanceled,
    ApprovalDenied,
    ApprovalError,
    AsyncClient,
    AsyncVerifier,
    AuditExportError,
    Client,
    PrivateKey,
    TokenError,
    VerifiedToken,
    Verifier,
    WebhookError,
)
from countersign.types import NewAgent

SETTINGS = os.environ.get("COUNTERSIGN_TEST_SERVER", "")
pytestmark = pytest.mark.skipif(not SETTINGS, reason="needs a server")
SERVER: dict[str, Any] = json.loads(Path(SETTINGS).read_text()) if SETTINGS else {}
ISSUER = SERVER.get("issuer", "")
ORGANIZATION = SERVER.get("organizationId", "")
README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def operator() -> Iterator[Client]:
    with Client(ISSUER, SERVER["clientId"], SERVER["clientSecret"]) as client:
        yield client


def register(operator: Client, *scopes: str) -> tuple[str, str]:
    """The id and the secret of a new agent."""
    agent = operator.post(
        "/agents",
        {
            "email": f"{uuid.uuid4()}@example.com",
            "agentType": "custom",
            "version": "1.0.0",
            "capabilities": ["demo:run"],
            "owner": "sdk",
            "deploymentEnv": "development",
            "allowedScopes": list(scopes),
        },
    )
    credential = operator.post(f"/agents/{agent['agentId']}/credentials", {})
    return agent["agentId"], credential["clientSecret"]


def new_agent(operator: Client, *scopes: str) -> Client:
    return Client(ISSUER, *register(operator, *scopes))


def new_resource(operator: Client, identifier: str, *agents: str) -> str:
    scopes = [{"name": "orders:read"}, {"name": "orders:write"}]
    resource = operator.post(
        "/resources", {"identifier": identifier, "name": "Orders", "scopes": scopes}
    )
    for agent in agents:
        path = f"/agents/{agent}/grants/{resource['resourceId']}"
        operator.put(path, {"scopes": ["orders:read"]})
    return str(resource["resourceId"])


def free_port() -> int:
    return int(SERVER["ports"].pop())


@contextmanager
def serving(app: Any, port: int) -> Iterator[None]:
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(20)


def test_token_of_the_api(operator: Client) -> None:
    agent = new_agent(operator, "agents:read", "tokens:read")
    verified = Verifier(ISSUER, ISSUER, ORGANIZATION, subjects="agents", revocation="none").verify(
        agent.token()
    )
    assert (verified.agent_id, verified.subject.id) == (agent.client_id, agent.client_id)
    assert set(verified.scopes) == {"agents:read", "tokens:read"}
    narrow = agent.token(scope="agents:read")
    assert Verifier(ISSUER, ISSUER, ORGANIZATION, subjects="agents", revocation="none").verify(
        narrow
    ).scopes == ("agents:read",)
    assert agent.get(f"/agents/{agent.client_id}")["agentId"] == agent.client_id
    with pytest.raises(ApiError) as refusal:
        agent.post("/agents", {})
    assert refusal.value.status == 403
    assert refusal.value.request_id


def test_asyncio_does_the_same(operator: Client) -> None:
    async def run() -> VerifiedToken:
        async with AsyncClient(ISSUER, *register(operator, "agents:read")) as agent:
            assert (await agent.get(f"/agents/{agent.client_id}"))["agentId"] == agent.client_id
            seen = [entry async for entry in agent.iterate("/agents", limit=2)]
            assert len(seen) >= 3
            verifier = AsyncVerifier(
                ISSUER, ISSUER, ORGANIZATION, subjects="agents", revocation="none"
            )
            return await verifier.verify(await agent.token(), scopes=["agents:read"])

    verified = asyncio.run(run())
    assert (verified.actors, verified.chain_id) == ((verified.agent_id,), None)


def new_agent_body(owner: str) -> NewAgent:
    return {
        "email": f"{uuid.uuid4()}@example.com",
        "agentType": "custom",
        "version": "1.0.0",
        "capabilities": ["demo:run"],
        "owner": owner,
        "deploymentEnv": "development",
    }


def test_typed_methods(operator: Client) -> None:
    api = operator.api
    owner = f"it's “{uuid.uuid4()}” & more/../?"
    key = str(uuid.uuid4())
    body = new_agent_body(owner)
    agent = api.create_agent(body, idempotency_key=key)
    agent_id = agent["agentId"]
    assert api.create_agent(body, idempotency_key=key)["agentId"] == agent_id
    assert api.get_agent(agent_id)["allowedScopes"] == []
    assert api.update_agent(agent_id, {"labels": {"team": "sdk"}})["labels"] == {"team": "sdk"}
    for _ in range(2):
        api.create_agent(new_agent_body(owner))
    first = api.list_agents(owner=owner, limit=2)
    assert (len(first["data"]), first["total"]) == (2, 3)
    all_of_owner = list(api.iterate_agents(owner=owner, limit=2))
    assert {each["owner"] for each in all_of_owner} == {owner}
    assert len(all_of_owner) == 3
    assert [each["agentId"] for each in api.iterate_agents(label=["team:sdk"], owner=owner)] == [
        agent_id
    ]
    secret = api.generate_credential(agent_id, {})["clientSecret"]
    issued = api.issue_token(
        {"grant_type": "client_credentials", "client_id": agent_id, "client_secret": secret}
    )
    assert api.introspect_token({"token": issued["access_token"]})["active"] is True
    assert api.revoke_token({"token": issued["access_token"]}) is not None
    assert api.introspect_token({"token": issued["access_token"]}) == {"active": False}
    assert api.health()["status"]
    assert api.jwks()["keys"]
    assert api.instance_did()["@context"]
    assert api.log_key().text().strip()
    assert api.scaffold_agent(agent_id, language="python").read().startswith(b"PK")
    events = [json.loads(line) for line in api.export_audit().lines()]
    assert len(events) > 3
    assert api.list_audit_events(agent_id=agent_id)["total"] > 0
    # `from` is a word of Python.
    assert api.get_usage(from_="2027-01-01", to="2027-01-02")["data"] == []
    api.decommission_agent(agent_id)
    assert api.get_agent(agent_id)["status"] == "decommissioned"
    with pytest.raises(ApiError) as refusal:
        api.get_agent(str(uuid.uuid4()))
    assert refusal.value.status == 404


def test_typed_methods_with_asyncio() -> None:
    async def run() -> None:
        async with AsyncClient(ISSUER, SERVER["clientId"], SERVER["clientSecret"]) as operator:
            api = operator.api
            owner = str(uuid.uuid4())
            made = await asyncio.gather(
                *(api.create_agent(new_agent_body(owner)) for _ in range(3))
            )
            found = {each["agentId"] async for each in api.iterate_agents(owner=owner, limit=2)}
            assert found == {each["agentId"] for each in made}
            changed = await api.update_agent(made[0]["agentId"], {"displayName": "Orders"})
            assert changed["displayName"] == "Orders"
            for webhook in await api.list_webhooks():
                deliveries = await api.list_webhook_deliveries(webhook["id"])
                assert deliveries["deliveries"]
                ids = {each["id"] async for each in api.iterate_webhook_deliveries(webhook["id"])}
                assert len(ids) >= deliveries["total"] > 0
            assert (await api.health())["status"]
            assert await api.export_audit().text()
            async for line in api.export_audit().lines():
                assert json.loads(line)
                break
            assert (await api.scaffold_agent(operator.client_id, language="go").read())[:2] == b"PK"
            await api.decommission_agent(made[0]["agentId"])
            with pytest.raises(ApiError, match="RESOURCE|NOT_FOUND|AGENT"):
                await api.get_agent(str(uuid.uuid4()))

    asyncio.run(run())


def test_a_wrong_secret() -> None:
    with pytest.raises(ApiError, match="invalid_client"):
        Client(ISSUER, SERVER["clientId"], "cs_wrong").token()


def test_a_private_key() -> None:
    key = SERVER["keyAgent"]
    for auth in (PrivateKey(key["pem"], key_id=key["keyId"]), key["pem"]):
        token = Client(ISSUER, key["clientId"], auth).token()
        verified = Verifier(
            ISSUER, ISSUER, ORGANIZATION, subjects="agents", revocation="none"
        ).verify(token)
        assert verified.agent_id == key["clientId"]


def test_the_token_of_a_workload() -> None:
    """Each can be used once, so each request of a token gets a new one."""
    workload = SERVER["workload"]
    tokens = list(workload["tokens"])
    agent = Client(ISSUER, workload["clientId"], tokens.pop)
    verified = Verifier(ISSUER, ISSUER, ORGANIZATION, subjects="agents", revocation="none").verify(
        agent.token()
    )
    assert verified.agent_id == workload["clientId"]
    assert agent.get(f"/agents/{agent.client_id}")["agentId"] == agent.client_id

    async def other_token() -> str:
        return str(tokens.pop())

    async def run() -> str:
        async with AsyncClient(ISSUER, workload["clientId"], other_token) as client:
            return await client.token(scope="agents:read")

    assert asyncio.run(run())
    assert tokens == []


def test_lists(operator: Client) -> None:
    agents = list(operator.iterate("/agents", limit=2))
    assert len({agent["agentId"] for agent in agents}) == len(agents) >= 3
    assert isinstance(list(operator.iterate("/webhooks")), list)
    for webhook in operator.iterate("/webhooks"):
        assert list(operator.iterate(f"/webhooks/{webhook['id']}/deliveries", limit=1))


def test_a_token_of_a_resource_and_its_revocation(operator: Client) -> None:
    agent = new_agent(operator)
    audience = f"https://{uuid.uuid4()}.example.com"
    new_resource(operator, audience, agent.client_id)
    token = agent.token(resource=audience)
    assert agent.token(resource=audience) == token
    offline = Verifier(ISSUER, audience, ORGANIZATION, subjects="agents", revocation="none")
    verified = offline.verify({"Authorization": f"Bearer {token}"}, scopes="orders:read")
    assert verified.agent_id == agent.client_id
    with pytest.raises(TokenError) as refusal:
        offline.verify(token, scopes="orders:write")
    assert refusal.value.status == 403
    with pytest.raises(TokenError):
        Verifier(ISSUER, ISSUER, ORGANIZATION, subjects="agents", revocation="none").verify(token)

    introspecting = Verifier(
        ISSUER,
        audience,
        ORGANIZATION,
        subjects="agents",
        revocation="introspect",
        introspect_with=new_agent(operator, "tokens:read"),
        introspection_cache_seconds=0,
    )
    assert introspecting.verify(token).agent_id == agent.client_id
    operator.request("POST", "/token/revoke", data={"token": token})
    assert offline.verify(token), "nothing tells the verifier"
    with pytest.raises(TokenError, match="revoked") as refusal:
        introspecting.verify(token)
    assert refusal.value.status == 401

    closed = Verifier(
        ISSUER,
        audience,
        ORGANIZATION,
        subjects="agents",
        revocation="introspect",
        introspect_with=new_agent(operator),
    )
    with pytest.raises(TokenError) as refusal:
        closed.verify(agent.token(resource=audience, scope="orders:read"))
    assert refusal.value.status == 503, "its client lacks tokens:read"


def test_a_revoked_token_of_the_api_is_replaced(operator: Client) -> None:
    agent = new_agent(operator, "agents:read")
    first = agent.token()
    operator.request("POST", "/token/revoke", data={"token": first})
    assert agent.get(f"/agents/{agent.client_id}")["agentId"] == agent.client_id
    assert agent.token() != first


def test_delegations(operator: Client) -> None:
    first = new_agent(operator, "agents:read")
    second, third = new_agent(operator), new_agent(operator)
    delegation = first.delegate(
        second.client_id,
        "agents:read",
        expires_in=600,
        purpose="test",
        allow_redelegation=True,
    )
    acting = second.redeem(delegation.token)
    assert acting.get(f"/agents/{first.client_id}")["agentId"] == first.client_id
    verifier = Verifier(ISSUER, ISSUER, ORGANIZATION, subjects="agents", revocation="none")
    verified = verifier.verify(acting.token(), max_depth=1)
    assert (verified.agent_id, verified.subject.id) == (second.client_id, first.client_id)
    assert verified.chain_id == delegation.chain_id
    assert second.token() != acting.token()

    passed_on = acting.delegate(third.client_id, ["agents:read"])
    deep = third.redeem(passed_on.token).token()
    assert verifier.verify(deep).actors == (third.client_id, second.client_id)
    with pytest.raises(TokenError, match="delegated 2 times"):
        verifier.verify(deep, max_depth=1)

    first.delete(f"/delegations/{delegation.chain_id}")
    with pytest.raises(ApiError, match="DELEGATION_REVOKED|invalid_grant"):
        acting.get(f"/agents/{first.client_id}")


def test_a_delegation_of_a_resource(operator: Client) -> None:
    first, second, third = (new_agent(operator) for _ in range(3))
    audience = f"https://{uuid.uuid4()}.example.com"
    new_resource(operator, audience, first.client_id)
    delegation = first.delegate(
        second.client_id, ["orders:read"], resource=audience, allow_redelegation=True
    )
    acting = second.redeem(delegation.token)
    verifier = Verifier(ISSUER, audience, ORGANIZATION, subjects="agents", revocation="none")
    verified = verifier.verify(acting.token(resource=audience), scopes="orders:read")
    assert (verified.agent_id, verified.subject.id) == (second.client_id, first.client_id)
    passed_on = acting.delegate(third.client_id, ["orders:read"])
    deep = third.redeem(passed_on.token).token(resource=audience)
    assert verifier.verify(deep).actors == (third.client_id, second.client_id)


def test_a_real_delivery() -> None:
    body, headers = SERVER["delivery"]["body"].encode(), SERVER["delivery"]["headers"]
    now = int(headers["x-service-timestamp"])
    secrets = ["whsec_other", SERVER["delivery"]["secret"]]
    delivery = countersign.verify_webhook(body, headers, secrets, now=now)
    assert delivery.json()["type"] == delivery.event_type == "agent.created"
    with pytest.raises(WebhookError):
        countersign.verify_webhook(body + b" ", headers, secrets, now=now)
    with pytest.raises(WebhookError):
        countersign.verify_webhook(body, headers, "whsec_other", now=now)


def test_a_real_audit_export(operator: Client) -> None:
    jwks = httpx.get(f"{ISSUER}/.well-known/jwks.json").json()
    lines = list(operator.lines("/audit/export", organizationId=ORGANIZATION))
    checkpoint = operator.get("/audit/checkpoints", limit=1, organizationId=ORGANIZATION)["data"][0]
    export = countersign.verify_audit_export(lines, checkpoint, jwks=jwks)
    assert (export.organization_id, export.chains) == (ORGANIZATION, 1)
    assert export.events > 10
    log = countersign.LogTrust(httpx.get(f"{ISSUER}/log/key").text)
    assert countersign.verify_audit_export(lines, jwks=jwks, log=log) == export
    changed = [line.replace("agent.created", "agent.deleted") for line in lines]
    with pytest.raises(AuditExportError) as finding:
        countersign.verify_audit_export(changed, jwks=jwks)
    assert finding.value.code == "EVENT_CHANGED"

    async def verify() -> countersign.AuditExport:
        async with AsyncClient(ISSUER, SERVER["clientId"], SERVER["clientSecret"]) as client:
            live = client.lines("/audit/export", organizationId=ORGANIZATION)
            return await countersign.async_verify_audit_export(
                live, json.dumps(checkpoint), jwks=jwks
            )

    assert asyncio.run(verify()).organization_id == ORGANIZATION


# Frameworks


def example(containing: str, values: dict[str, str]) -> str:
    """A Python block of the README, with other addresses and ids."""
    blocks = README.read_text().split("```python\n")[1:]
    [code] = [block.split("```")[0] for block in blocks if containing in block]
    for name, value in values.items():
        code = code.replace(name, value)
    return code


def test_the_examples_of_the_api(
    operator: Client,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    operator.api.create_agent({**new_agent_body("x"), "labels": {"team": "orders"}})
    names: dict[str, Any] = {"client": operator}
    for containing in ("api.list_agents", "from countersign.types", "api.scaffold_agent"):
        exec(example(containing, {}), names)  # noqa: S102
    assert names["agent"]["owner"] == "orders-team"
    assert "@example.com" in capsys.readouterr().out
    assert Path("agent.zip").read_bytes().startswith(b"PK")


def test_the_examples_of_the_readme(operator: Client, capsys: pytest.CaptureFixture[str]) -> None:
    agent_id, secret = register(operator)
    port = free_port()
    audience = f"http://localhost:{port}"
    new_resource(operator, audience, agent_id)
    reader_id, reader_secret = register(operator, "tokens:read")
    values = {
        '"https://id.example.com"': repr(ISSUER),
        "https://api.example.com": audience,
        "ORGANIZATION_ID": repr(ORGANIZATION),
        "CLIENT_ID": repr(agent_id),
        "CLIENT_SECRET": repr(secret),
    }
    own = {"CLIENT_ID": repr(reader_id), "CLIENT_SECRET": repr(reader_secret)}
    api: dict[str, Any] = {}
    exec(example("from countersign.fastapi", values | own), api)  # noqa: S102
    status = api["verifier"].start()
    assert status is not None and status.state == "current", status
    with api["verifier"], serving(api["app"], port):
        quickstart = example("http = httpx.Client(auth=", values)
        assert len([line for line in quickstart.splitlines() if line.strip()]) == 5
        caller: dict[str, Any] = {}
        exec(quickstart, caller)  # noqa: S102
        assert capsys.readouterr().out == f"{ {'agent': agent_id, 'orders': []} }\n"
        answer = caller["http"].post(f"{audience}/orders")
        assert answer.status_code == 405
    token = Client(ISSUER, agent_id, secret).token(resource=audience)
    for given, printed in (
        (token, f"{agent_id} agent {agent_id} ('{agent_id}',)"),
        ("x", "401 {'WWW-Authenticate': 'Bearer error="),
    ):
        request = SimpleNamespace(headers={"Authorization": f"Bearer {given}"})
        checked: dict[str, Any] = {"request": request}
        exec(example("except TokenError", values | own), checked)  # noqa: S102
        assert capsys.readouterr().out.startswith(printed)
        checked["verifier"].close()


@pytest.mark.parametrize("is_async", [False, True])
def test_fastapi(operator: Client, is_async: bool) -> None:
    from typing import Annotated

    from fastapi import Depends, FastAPI

    from countersign.fastapi import require_token

    port = free_port()
    audience = f"http://localhost:{port}"
    agent = new_agent(operator)
    new_resource(operator, audience, agent.client_id)
    verifier: Verifier | AsyncVerifier = (
        AsyncVerifier(ISSUER, audience, ORGANIZATION, subjects="agents", revocation="none")
        if is_async
        else Verifier(ISSUER, audience, ORGANIZATION, subjects="agents", revocation="none")
    )
    app = FastAPI()
    reader, writer = require_token(verifier, "orders:read"), require_token(verifier, "orders:write")

    @app.get("/orders")
    def read(caller: Annotated[VerifiedToken, Depends(reader)]) -> str:
        return caller.agent_id

    @app.post("/orders")
    def write(caller: Annotated[VerifiedToken, Depends(writer)]) -> str:
        return caller.agent_id

    with serving(app, port), httpx.Client(auth=agent.auth(audience)) as http:
        url = f"{audience}/orders"
        assert http.get(url).json() == agent.client_id
        denied = http.post(url)
        assert denied.status_code == 403
        assert 'error="insufficient_scope"' in denied.headers["WWW-Authenticate"]
        assert denied.json()["detail"]["error"] == "insufficient_scope"
        anonymous = httpx.get(url)
        assert anonymous.status_code == 401
        assert anonymous.headers["WWW-Authenticate"] == 'Bearer scope="orders:read"'
        wrong = httpx.get(url, headers={"Authorization": f"Bearer {agent.token()}"})
        assert wrong.status_code == 401
        assert 'error="invalid_token"' in wrong.headers["WWW-Authenticate"]
        twice = httpx.get(
            url, headers=[("Authorization", "Bearer x"), ("Authorization", "Bearer y")]
        )
        assert twice.status_code == 401
        assert "HTTPBearer" in httpx.get(f"{audience}/openapi.json").text


def test_mcp(operator: Client) -> None:
    import httpx2
    from mcp.client import Client as McpClient
    from mcp.client.streamable_http import streamable_http_client
    from mcp.server.auth.middleware.auth_context import get_access_token

    from countersign.mcp import McpAuth

    port = free_port()
    audience = f"http://localhost:{port}/mcp"
    allowed, denied = register(operator), register(operator)
    reader_id, reader_secret = register(operator, "tokens:read")
    new_resource(operator, audience, allowed[0])
    values = {
        '"https://id.example.com"': repr(ISSUER),
        '"https://tools.example.com/mcp"': repr(audience),
        "ORGANIZATION_ID": repr(ORGANIZATION),
        "tools:use": "orders:read",
        "CLIENT_ID": repr(reader_id),
        "CLIENT_SECRET": repr(reader_secret),
    }
    made: dict[str, Any] = {}
    exec(example("McpTokenVerifier", values), made)  # noqa: S102
    server = made["server"]

    @server.tool()  # type: ignore[untyped-decorator]
    def whoami() -> str:
        token = get_access_token()
        assert token is not None
        assert token.claims is not None
        return f"{token.client_id} {token.claims['organization_id']}"

    async def call(client_id: str, secret: str) -> str:
        async with AsyncClient(ISSUER, client_id, secret) as agent:
            auth = McpAuth(agent, audience)
            async with httpx2.AsyncClient(auth=auth) as http:
                transport = streamable_http_client(audience, http_client=http)
                async with McpClient(transport) as client:
                    result: Any = await client.call_tool("whoami", {})
                    return str(result.content[0].text)

    with serving(server.streamable_http_app(), port):
        assert asyncio.run(call(*allowed)) == f"{allowed[0]} {ORGANIZATION}"
        anonymous = httpx.post(audience, json={})
        assert anonymous.status_code == 401
        assert "resource_metadata" in anonymous.headers["WWW-Authenticate"]
        token = Client(ISSUER, *allowed).token()
        other = httpx.post(audience, json={}, headers={"Authorization": f"Bearer {token}"})
        assert other.status_code == 401, "a token for another audience"
        with pytest.raises(BaseException) as refusal:  # noqa: PT011
            asyncio.run(call(*denied))
        assert "invalid_target" in repr(refusal.value)


# Tokens that are bound to a key


def stolen(issuer: str, token: str, scheme: str) -> int:
    headers = {"Authorization": f"{scheme} {token}"}
    return httpx.get(f"{issuer}/api/v1/agents", headers=headers, trust_env=False).status_code


def test_bound_tokens(operator: Client) -> None:
    agent_id, secret = register(operator, "agents:read")
    audience = f"https://{uuid.uuid4()}.example.com"
    new_resource(operator, audience, agent_id)
    agent = Client(ISSUER, agent_id, secret, dpop=True)
    assert agent.dpop is not None
    for _ in range(2):
        assert agent.get(f"/agents/{agent_id}")["agentId"] == agent_id
    assert [stolen(ISSUER, agent.token(), scheme) for scheme in ("Bearer", "DPoP")] == [401, 401]

    verifier = Verifier(
        ISSUER,
        audience,
        ORGANIZATION,
        subjects="agents",
        revocation="introspect",
        introspect_with=new_agent(operator, "tokens:read"),
    )
    token = agent.token(resource=audience)
    proof = agent.dpop.proof("POST", f"{audience}/orders", access_token=token, body=b"x")
    request: dict[str, Any] = {"method": "POST", "url": "/orders", "body": b"x"}
    headers = {"Authorization": f"DPoP {token}", "DPoP": proof}
    verified = verifier.verify(headers, scopes="orders:read", **request)
    assert verified.key_thumbprint == agent.dpop.key.thumbprint
    for refused in (headers, {"Authorization": f"Bearer {token}"}):
        with pytest.raises(TokenError):
            verifier.verify(refused, **request)

    second = Client(ISSUER, *register(operator), dpop=countersign.DpopKey())
    delegation = agent.delegate(second.client_id, ["agents:read"])
    acting = second.redeem(delegation.token)
    assert acting.get(f"/agents/{agent_id}")["agentId"] == agent_id


def test_an_agent_that_demands_bound_tokens(operator: Client) -> None:
    agent_id, secret = register(operator, "agents:read")
    operator.patch(f"/agents/{agent_id}", {"dpopBoundAccessTokens": True})
    with pytest.raises(ApiError, match="invalid_dpop_proof"):
        Client(ISSUER, agent_id, secret).token()
    assert Client(ISSUER, agent_id, secret, dpop=True).token()


def test_a_server_that_demands_nonces() -> None:
    server = SERVER["nonces"]
    place = server["issuer"], server["clientId"], server["clientSecret"]
    with Client(*place, dpop=True) as client:
        own = client.get(f"/agents/{client.client_id}")
        assert own["agentId"] == client.client_id
        assert list(client.lines("/audit/export", organizationId=server["organizationId"]))

    async def run() -> str:
        async with AsyncClient(*place, dpop=True) as client:
            return str((await client.get(f"/agents/{client.client_id}"))["agentId"])

    assert asyncio.run(run()) == own["agentId"]


@pytest.mark.parametrize("is_async", [False, True])
def test_fastapi_with_proofs(operator: Client, is_async: bool) -> None:
    from typing import Annotated

    from fastapi import Depends, FastAPI

    from countersign.fastapi import require_token

    port = free_port()
    audience = f"http://localhost:{port}"
    agent_id, secret = register(operator)
    new_resource(operator, audience, agent_id)
    options: dict[str, Any] = {
        "subjects": "agents",
        "revocation": "none",
        "dpop": "require",
        "require_content_digest": True,
    }
    kind: Any = AsyncVerifier if is_async else Verifier
    required = require_token(kind(ISSUER, audience, ORGANIZATION, **options), "orders:read")
    app = FastAPI()

    @app.put("/orders")
    def write(caller: Annotated[VerifiedToken, Depends(required)], order: dict[str, int]) -> Any:
        return [caller.agent_id, order]

    with serving(app, port), Client(ISSUER, agent_id, secret, dpop=True) as agent:
        with httpx.Client(auth=agent.auth(audience)) as http:
            for number in range(2):
                answer = http.put(f"{audience}/orders", json={"order": number})
                assert answer.json() == [agent_id, {"order": number}], answer.text
        bearer = Client(ISSUER, agent_id, secret)
        with httpx.Client(auth=bearer.auth(audience)) as http:
            refused = http.put(f"{audience}/orders", json={})
            assert refused.status_code == 401
            assert refused.headers["WWW-Authenticate"].startswith('DPoP error="invalid_token"')


# Signals


def until(condition: Any) -> None:
    # An open poll of a stream that was deleted may last 25 seconds.
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def is_accepted(verifier: Verifier, token: str, **options: Any) -> bool:
    try:
        verifier.verify(token, **options)
    except TokenError as error:
        assert error.status == 401, error
        return False
    return True


def test_signals(operator: Client) -> None:
    reader = new_agent(operator, "tokens:read")
    first, second, third = (new_agent(operator) for _ in range(3))
    audience = f"https://{uuid.uuid4()}.example.com"
    agents = [agent.client_id for agent in (first, second, third)]
    resource_id = new_resource(operator, audience, *agents)

    def signal_verifier() -> Verifier:
        return Verifier(
            ISSUER,
            audience,
            ORGANIZATION,
            subjects="agents",
            revocation="signals",
            signals=countersign.Signals(reader, "refuse"),
        )

    def streams() -> list[str]:
        return [each["stream_id"] for each in reader.get("/ssf/stream")]

    tokens = [agent.token(resource=audience) for agent in (first, second, third)]
    with signal_verifier() as verifier:
        status = verifier.start()
        assert status is not None and status.state == "current", status
        assert [is_accepted(verifier, token) for token in tokens] == [True] * 3
        operator.request("POST", "/token/revoke", data={"token": tokens[0]})
        until(lambda: not is_accepted(verifier, tokens[0]))
        first.forget(tokens[0])
        assert is_accepted(verifier, first.token(resource=audience)), "a new one is good"
        operator.patch(f"/agents/{second.client_id}", {"status": "suspended"})
        until(lambda: not is_accepted(verifier, tokens[1]))
        operator.delete(f"/agents/{third.client_id}/grants/{resource_id}")
        until(lambda: not is_accepted(verifier, tokens[2]))
        [stream] = streams()
        operator.request("DELETE", "/ssf/stream", params={"stream_id": stream})
        until(lambda: streams() not in ([], [stream]))
        token = first.token(resource=audience)
        assert is_accepted(verifier, token)
        operator.request("POST", "/token/revoke", data={"token": token})
        until(lambda: not is_accepted(verifier, token))
        # Another process of the API, which starts now.
        with signal_verifier() as other:
            other.start()
            assert not any(is_accepted(other, each) for each in [*tokens, token])
            assert len(streams()) == 2
    assert streams() == []


def test_signals_with_asyncio(operator: Client) -> None:
    async def run() -> None:
        agent = new_agent(operator)
        audience = f"https://{uuid.uuid4()}.example.com"
        new_resource(operator, audience, agent.client_id)
        token = agent.token(resource=audience)
        async with (
            AsyncClient(ISSUER, *register(operator, "tokens:read"), dpop=True) as reader,
            AsyncVerifier(
                ISSUER,
                audience,
                ORGANIZATION,
                subjects="agents",
                revocation="signals",
                signals=countersign.Signals(reader, "introspect"),
            ) as verifier,
        ):
            assert await verifier.verify(token), "the server is asked"
            status = await verifier.start()
            assert status is not None and status.state == "current", status
            await asyncio.to_thread(
                operator.request, "POST", "/token/revoke", data={"token": token}
            )

            async def verify_until_refused() -> None:
                while await verifier.verify(token):
                    await asyncio.sleep(0.02)

            with pytest.raises(TokenError, match="revoked"):
                await asyncio.wait_for(verify_until_refused(), 20)
            assert len(await reader.get("/ssf/stream")) == 1
            await verifier.aclose()
            assert await reader.get("/ssf/stream") == []

    asyncio.run(run())


def test_signals_without_the_scope(operator: Client) -> None:
    verifier = Verifier(
        ISSUER,
        ISSUER,
        ORGANIZATION,
        subjects="agents",
        revocation="signals",
        signals=countersign.Signals(new_agent(operator), "refuse"),
    )
    with verifier:
        status = verifier.start(timeout=0.5)
        assert status is not None and status.state == "silent"
        until(lambda: "tokens:read" in str((verifier.status() or status).problem))


# Approvals

DETAILS = [{"type": "payment", "amount": 120, "currency": "EUR"}]


def approval_options() -> tuple[str, dict[str, Any]]:
    server = SERVER["approvals"]
    options = {"scopes": "orders:write", "details": DETAILS, "login_hint": server["personId"]}
    return server["resource"], options


def decide(approval_id: str, **decision: Any) -> None:
    address = f"{SERVER['approvals']['decider']}/{approval_id}"
    assert httpx.post(address, json=decision, trust_env=False).status_code == 200


def approval_verifier() -> Verifier:
    server = SERVER["approvals"]
    reader = server["reader"]
    return Verifier(
        server["issuer"],
        server["resource"],
        server["organizationId"],
        subjects="people",
        revocation="introspect",
        introspect_with=Client(server["issuer"], reader["clientId"], reader["clientSecret"]),
    )


def test_an_approved_action() -> None:
    server = SERVER["approvals"]
    resource, options = approval_options()
    with Client(server["issuer"], server["clientId"], server["clientSecret"]) as agent:
        approval = agent.request_approval(resource, message="Pay for order 7", **options)
        decide(approval.approval_id, decision="approve")
        token = approval.wait()
        verified = approval_verifier().verify(token, scopes="orders:write")
        assert (verified.subject.type, verified.subject.id) == ("person", server["personId"])
        assert verified.authorization_details == tuple(DETAILS)
        paid = verified.require_detail("payment", lambda it: bool(it["amount"] == 120))
        assert paid["currency"] == "EUR"
        with pytest.raises(TokenError) as refusal:
            verified.require_detail("payment", lambda it: bool(it["amount"] == 121))
        assert (refusal.value.status, refusal.value.code) == (
            403,
            "insufficient_authorization_details",
        )
        assert approval.scopes == ("orders:write",)
        agent.forget(token)
        renewed = approval.token()
        assert renewed != token
        assert approval_verifier().verify(renewed).authorization_details == tuple(DETAILS)
        approval.end()
        with pytest.raises(TokenError, match="revoked"):
            approval_verifier().verify(renewed)
        agent.forget(renewed)
        with pytest.raises(ApprovalError):
            approval.token()


def test_a_denied_and_a_canceled_request() -> None:
    server = SERVER["approvals"]
    resource, options = approval_options()
    with Client(server["issuer"], server["clientId"], server["clientSecret"]) as agent:
        denied = agent.request_approval(resource, **options)
        decide(denied.approval_id, decision="deny")
        with pytest.raises(ApprovalDenied):
            denied.wait()
        canceled = agent.request_approval(resource, **options)
        canceled.cancel()
        with pytest.raises(ApprovalCanceled):
            canceled.wait()
        with pytest.raises(ApiError, match="APPROVAL_NOT_PENDING"):
            canceled.cancel()
        for change, code in (
            ({"login_hint": "nobody@example.com"}, "unknown_user_id"),
            ({"details": [{"type": "payment"}]}, "invalid_authorization_details"),
        ):
            with pytest.raises(ApiError, match=code):
                agent.request_approval(resource, **(options | change))


def test_an_approved_action_with_asyncio() -> None:
    async def run() -> tuple[str, str]:
        server = SERVER["approvals"]
        resource, options = approval_options()
        async with AsyncClient(
            server["issuer"], server["clientId"], server["clientSecret"]
        ) as agent:
            approval = await agent.request_approval(resource, **options)
            await asyncio.to_thread(decide, approval.approval_id, decision="approve")
            first, second = await asyncio.gather(approval.wait(), approval.wait())
            assert first == second
            agent.forget(first)
            return first, await approval.token()

    first, renewed = asyncio.run(run())
    assert first != renewed
    assert approval_verifier().verify(renewed).authorization_details == tuple(DETAILS)
