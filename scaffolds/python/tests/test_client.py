from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from countersign import ApiError, Client


class World:
    """A server that answers as told, and a client whose time is in the test's hands."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        self.slept: list[float] = []
        self.seen: list[str] = []

        def handle(request: httpx.Request) -> httpx.Response:
            self.seen.append(f"{request.method} {request.url.path}")
            return answer(request)

        self.client = Client(
            "https://api.test",
            "id",
            "secret",
            transport=httpx.MockTransport(handle),
            sleep=self.slept.append,
        )


def issued(value: str) -> httpx.Response:
    body = {"access_token": value, "token_type": "Bearer", "expires_in": 3600}
    return httpx.Response(200, json=body)


def test_one_token_serves_many_threads() -> None:
    world = World(
        lambda request: issued("one") if request.method == "POST" else httpx.Response(200, json={})
    )
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: world.client.get("/x"), range(10)))
    assert world.seen.count("POST /api/v1/token") == 1
    assert world.seen.count("GET /api/v1/x") == 10


def test_a_full_rate_window_is_waited_out() -> None:
    answers = iter(
        [
            issued("one"),
            httpx.Response(429, headers={"Retry-After": "30"}),
            httpx.Response(200, json={"done": True}),
        ]
    )
    world = World(lambda _: next(answers))
    assert world.client.get("/x") == {"done": True}
    assert world.slept == [30]


def test_a_wrong_secret_is_said_to_be_one() -> None:
    world = World(lambda _: httpx.Response(401, json={"error": "invalid_client"}))
    with pytest.raises(ApiError, match="invalid_client"):
        world.client.token()
