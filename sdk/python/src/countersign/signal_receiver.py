"""Reads the stream of security events in the background: in a thread, or in a task."""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from countersign.answer import read_json
from countersign.async_client import AsyncClient
from countersign.client import Client
from countersign.flows import api_flow
from countersign.key_set import AsyncKeySet, KeySet
from countersign.signal_state import SignalState, SignalStatus
from countersign.signal_stream import Call, FindKey, Rest, SignalStream, Step

# For the request that deletes the stream.
CLOSE_SECONDS = 5.0


class SignalReceiver:
    """For threads: a daemon thread reads the stream."""

    def __init__(
        self,
        client: Client,
        description: str,
        keys: KeySet,
        new_state: Callable[[], SignalState],
    ) -> None:
        self._client = client
        self._keys = keys
        self._new_state = new_state
        self._description = description
        self._is_closed = False
        self._renew()
        _receivers.add(self)

    def _renew_in_child(self) -> None:
        """A process that was forked has no thread. That of its parent may have held these locks."""
        self._client._tokens.renew()
        self._keys.renew()
        self._renew()

    def _renew(self) -> None:
        """Also in a process that was forked: it needs a stream of its own."""
        self.state = self._new_state()
        self._stream = SignalStream(self._client.issuer, self._description, self.state)
        self._lock = threading.Lock()
        self._has_read = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def ensure_started(self) -> None:
        if self._is_running():
            return
        with self._lock:
            if not self._is_running() and not self._is_closed:
                thread = threading.Thread(target=self._run, name="countersign-signals", daemon=True)
                thread.start()
                self._thread = thread

    def _is_running(self) -> bool:
        """False also after the program ended it, such as by SystemExit in its `auth`."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def start(self, timeout: float) -> SignalStatus:
        self.ensure_started()
        self._has_read.wait(timeout)
        return self.state.observe()

    def close(self) -> None:
        self._is_closed = True
        self._stopped.set()
        # The server may not answer.
        deletion = threading.Thread(target=self._delete, daemon=True)
        deletion.start()
        deletion.join(CLOSE_SECONDS)
        if self._thread is not None and not deletion.is_alive():
            self._thread.join(1.0)

    def _run(self) -> None:
        flow = self._stream.receive()
        step: Step = next(flow)
        while not self._stopped.is_set():
            try:
                result = self._perform(step)
            except Exception as error:  # the flow decides what it means
                step = flow.throw(error)
            else:
                step = flow.send(result)
            if self.state.has_read:
                self._has_read.set()
        # It may have been created while `close` ran.
        self._delete()

    def _perform(self, step: Step) -> Any:
        client = self._client
        match step:
            case Call(call):
                return read_json(
                    client._run(api_flow(client.issuer, call, client.forget, client.dpop))
                )
            case FindKey(kid):
                return self._keys.key(kid)
            case Rest(seconds):
                return self._stopped.wait(seconds)

    def _delete(self) -> None:
        call = self._stream.delete()
        if call is not None:
            with suppress(Exception):
                self._perform(Call(call))


class AsyncSignalReceiver:
    """For asyncio: a task of the event loop that uses the verifier reads the stream."""

    def __init__(
        self,
        client: AsyncClient,
        description: str,
        keys: AsyncKeySet,
        new_state: Callable[[], SignalState],
    ) -> None:
        self._client = client
        self._keys = keys
        self.state = new_state()
        self._stream = SignalStream(client.issuer, description, self.state)
        self._is_closed = False
        self._has_read = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def ensure_started(self) -> None:
        if (self._task is None or self._task.done()) and not self._is_closed:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def start(self, timeout: float) -> SignalStatus:
        self.ensure_started()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._has_read.wait(), timeout)
        return self.state.observe()

    async def aclose(self) -> None:
        self._is_closed = True
        task = self._task
        if task is not None:
            # The server may have made the stream already: its id is needed to delete it.
            if self._stream.is_creating:
                await asyncio.wait([task], timeout=CLOSE_SECONDS)
            task.cancel()
            await asyncio.wait([task])
        call = self._stream.delete()
        if call is not None:
            with suppress(Exception):
                await asyncio.wait_for(self._perform(Call(call)), CLOSE_SECONDS)

    async def _run(self) -> None:
        flow = self._stream.receive()
        step: Step = next(flow)
        while not self._is_closed:
            try:
                result = await self._perform(step)
            except Exception as error:  # the flow decides what it means
                step = flow.throw(error)
            else:
                step = flow.send(result)
            if self.state.has_read:
                self._has_read.set()

    async def _perform(self, step: Step) -> Any:
        client = self._client
        match step:
            case Call(call):
                return read_json(
                    await client._run(api_flow(client.issuer, call, client.forget, client.dpop))
                )
            case FindKey(kid):
                return await self._keys.key(kid)
            case Rest(seconds):
                return await asyncio.sleep(seconds)


_receivers: "weakref.WeakSet[SignalReceiver]" = weakref.WeakSet()


def _renew_all() -> None:
    for receiver in list(_receivers):
        receiver._renew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
