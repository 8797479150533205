import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from agent.client import ApiError, Client


class World:
    """A server that answers as told, and a client whose time is in the test's hands."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        self.now = 1_000_000.0
        self.slept: list[float] = []
        self.seen: list[str] = []
        self._lock = threading.Lock()

        def handle(request: httpx.Request) -> httpx.Response:
            with self._lock:
                self.seen.append(f"{request.method} {request.url.path}")
            return answer(request)

        self.client = Client(
            "http://api.test",
            "id",
            "secret",
            transport=httpx.MockTransport(handle),
            now=lambda: self.now,
            sleep=self._sleep,
        )

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def issued(value: str) -> httpx.Response:
    return httpx.Response(200, json={"access_token": value, "expires_in": 3600})


def test_one_token_serves_many_threads() -> None:
    world = World(
        lambda request: issued("one") if request.method == "POST" else httpx.Response(200, json={})
    )
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: world.client.get("/x"), range(10)))
    assert world.seen.count("POST /api/v1/token") == 1
    assert world.seen.count("GET /api/v1/x") == 10


def test_a_token_is_renewed_before_it_expires() -> None:
    tokens = iter(["one", "two"])
    world = World(lambda _: issued(next(tokens)))
    assert world.client.token() == "one"
    world.now += 3539
    assert world.client.token() == "one"
    world.now += 2
    assert world.client.token() == "two"


def test_a_refused_token_is_replaced_once() -> None:
    tokens = iter(["one", "two"])

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return issued(next(tokens))
        fresh = request.headers["Authorization"] == "Bearer two"
        return httpx.Response(200 if fresh else 401, json={"fresh": fresh})

    world = World(answer)
    assert world.client.get("/x") == {"fresh": True}
    assert len(world.seen) == 4


def test_a_token_that_is_refused_again_is_an_error() -> None:
    world = World(
        lambda request: (
            issued("one")
            if request.method == "POST"
            else httpx.Response(401, json={"code": "UNAUTHORIZED"})
        )
    )
    with pytest.raises(ApiError, match="UNAUTHORIZED"):
        world.client.get("/x")
    assert len(world.seen) == 4


def test_a_full_rate_window_is_waited_out() -> None:
    answers = iter(
        [
            issued("one"),
            httpx.Response(429, headers={"X-RateLimit-Reset": "1000030"}),
            httpx.Response(200, json={"done": True}),
        ]
    )
    world = World(lambda _: next(answers))
    assert world.client.get("/x") == {"done": True}
    assert world.slept == [30]


def test_does_not_wait_for_the_next_day() -> None:
    answers = iter([issued("one"), httpx.Response(429, headers={"Retry-After": "40000"})])
    world = World(lambda _: next(answers))
    with pytest.raises(ApiError) as refusal:
        world.client.get("/x")
    assert refusal.value.status == 429
    assert world.slept == []


def test_a_wrong_secret_is_said_to_be_one() -> None:
    world = World(lambda _: httpx.Response(401, json={"error": "invalid_client"}))
    with pytest.raises(ApiError, match="invalid_client"):
        world.client.token()
