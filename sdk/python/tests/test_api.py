"""The typed methods of the API: each operation has one for threads and one for asyncio."""

import asyncio
import inspect
import json
import re
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from support import World, is_token_request, issued, refused

from countersign import ApiError, AsyncClient, Client, NetworkError
from countersign.api import Api, AsyncApi

OPENAPI: dict[str, Any] = json.loads((Path(__file__).parents[3] / "openapi.json").read_text())
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in OPENAPI["paths"].items()
    for method, operation in methods.items()
}
BODY = {"name": "x", "none": None}


def snake(name: str) -> str:
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def public(api: type) -> set[str]:
    return {name for name in dir(api) if not name.startswith("_")}


def kind_of(operation: dict[str, Any]) -> str:
    answer = next(body for status, body in operation["responses"].items() if status[0] == "2")
    kinds = answer.get("content", {})
    if not kinds:
        return "none"
    return "json" if re.fullmatch(r"application/(.+\+)?json", next(iter(kinds))) else "stream"


def test_each_operation_has_a_method_in_both() -> None:
    assert len(OPERATIONS) > 150
    assert public(Api) == public(AsyncApi)
    others = public(Api) - {snake(name) for name in OPERATIONS}
    assert {snake(name) for name in OPERATIONS} <= public(Api)
    assert all(name.startswith("iterate_") for name in others)
    for name in public(Api):
        ours, theirs = (inspect.signature(getattr(api, name)) for api in (Api, AsyncApi))
        assert ours.parameters == theirs.parameters, name
        assert typing.get_type_hints(getattr(Api, name))["return"] is not Any
        assert getattr(Api, name).__doc__ == getattr(AsyncApi, name).__doc__


@pytest.mark.parametrize("name", sorted(OPERATIONS))
@pytest.mark.parametrize("is_async", [False, True])
def test_a_method_sends_its_operation(name: str, is_async: bool) -> None:
    method, template, operation = OPERATIONS[name]
    kind = kind_of(operation)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/token" and name != "issueToken":
            return issued()
        if kind == "none":
            return httpx.Response(204)
        return httpx.Response(200, text='{"it":1}' if kind == "json" else "é\nb")

    world = World(answer)
    client: Client | AsyncClient = world.async_client if is_async else world.client
    called = getattr(client.api, snake(name))
    given: dict[str, Any] = {
        parameter: BODY if parameter == "body" else f"{parameter} é/?"
        for parameter in inspect.signature(called).parameters
    }
    if "idempotency_key" in given:
        given["idempotency_key"] = "my-key"

    async def run() -> Any:
        return await made if inspect.isawaitable(made := called(**given)) else made

    result = asyncio.run(run()) if is_async else called(**given)
    if kind != "stream":
        assert result == ({"it": 1} if kind == "json" else None)
    elif is_async:
        assert asyncio.run(result.text()) == "é\nb"
    else:
        assert list(result.lines()) == ["é", "b"]

    sent = world.seen[-1]
    parameters = operation.get("parameters", [])
    named = {
        place: [each["name"] for each in parameters if each["in"] == place] for place in PLACES
    }

    def value(parameter: str) -> str:
        spelled = snake(parameter)
        return given[spelled if spelled in given else f"{spelled}_"]  # type: ignore[no-any-return]

    path = template
    for each in named["path"]:
        path = path.replace(f"{{{each}}}", str(httpx.QueryParams({"": value(each)}))[1:])
    expected = path.replace("+", "%20")
    assert (sent.method, sent.url.raw_path.decode().split("?")[0]) == (method, expected)
    assert dict(sent.url.params) == {each: value(each) for each in named["query"]}
    assert ("Authorization" in sent.headers) == any(
        "oauth2" in way or "bearer" in way for way in operation.get("security", [])
    )
    assert (sent.headers.get("Idempotency-Key") == "my-key") == bool(named["header"])
    assert sent.headers["Accept"] == ("*/*" if kind == "stream" else "application/json")
    content = operation.get("requestBody", {}).get("content", {})
    if "application/x-www-form-urlencoded" in content:
        assert sent.content == b"name=x"
    elif content:
        defaults: dict[str, Any] = {"allowedScopes": []} if name == "createAgent" else {}
        assert json.loads(sent.content) == BODY | defaults
    else:
        assert sent.content == b""


PLACES = ("path", "query", "header")


def test_a_parameter_that_is_none_is_not_sent() -> None:
    world = World(lambda request: issued() if is_token_request(request) else page())
    world.client.api.list_agents(status="active", q=None, label=["a", "b:c"])
    assert world.seen[-1].url.query == b"status=active&label=a&label=b%3Ac"
    world.client.api.update_agent("1")
    assert world.seen[-1].content == b""


@pytest.mark.parametrize("value", ["", ".", "..", None, 7])
def test_a_path_cannot_lead_to_another_operation(value: Any) -> None:
    world = World(lambda request: issued())
    with pytest.raises(ValueError, match="agentId must be a text"):
        world.client.api.get_agent(value)
    world.client.api.get_agent("../tokens")
    assert world.seen[-1].url.raw_path == b"/api/v1/agents/..%2Ftokens"


def page(*items: int, total: int = 0) -> httpx.Response:
    return httpx.Response(200, json={"data": items, "total": total, "page": 1, "limit": 2})


def test_all_items_of_a_list() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if is_token_request(request):
            return issued()
        assert request.url.params["status"] == "active"
        return page(1, 2, total=3) if request.url.params["page"] == "1" else page(3, total=3)

    world = World(lambda request: answer(request))
    given: dict[str, Any] = {"status": "active", "limit": 2, "page": 1}
    found: list[Any] = list(world.client.api.iterate_agents(**given))
    assert found == [1, 2, 3]

    async def run() -> list[Any]:
        return [each async for each in world.async_client.api.iterate_agents(**given)]

    assert asyncio.run(run()) == [1, 2, 3]


def test_a_client_of_a_delegation_has_its_own_api() -> None:
    world = World(lambda request: issued())
    world.client.redeem("the-delegation").api.get_agent("1")
    assert b"the-delegation" in world.seen[0].content


def test_a_refusal() -> None:
    world = World(
        lambda request: (
            issued()
            if is_token_request(request)
            else httpx.Response(403, json={"code": "FORBIDDEN", "message": "no"})
        )
    )
    calls: list[Callable[[], Any]] = [
        lambda: world.client.api.get_agent("1"),
        lambda: world.client.api.export_audit().text(),
        lambda: asyncio.run(world.async_client.api.get_agent("1")),
        lambda: asyncio.run(world.async_client.api.export_audit().read()),
    ]
    for call in calls:
        with pytest.raises(ApiError, match="FORBIDDEN"):
            call()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_stream_waits_for_a_busy_server_and_gets_a_new_token(is_async: bool) -> None:
    answers = [
        httpx.Response(503, headers={"Retry-After": "3"}),
        refused(),
        httpx.Response(200, content=b"PK\x00"),
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        if is_token_request(request):
            return issued(str(len(world.token_requests)))
        return answers.pop(0)

    world = World(answer)
    if is_async:
        content = asyncio.run(world.async_client.api.scaffold_agent("1", language="go").read())
    else:
        content = b"".join(world.client.api.scaffold_agent("1", language="go").chunks())
    assert (content, world.slept) == (b"PK\x00", [3.0])
    assert world.seen[-1].headers["Authorization"] == "Bearer 2"


def test_a_whole_stream_has_a_limit() -> None:
    world = World(
        lambda request: (
            issued()
            if is_token_request(request)
            else httpx.Response(200, content=(b"a" * 1_000_000 for _ in range(10**6)))
        )
    )
    with pytest.raises(NetworkError, match="use chunks"):
        world.client.api.export_audit().read()
    world = World(
        lambda r: issued() if is_token_request(r) else httpx.Response(200, content=b"\xff")
    )
    with pytest.raises(NetworkError, match="the answer is not UTF-8"):
        world.client.api.export_audit().text()
