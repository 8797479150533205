"""The operations of "Signals".

Generated from the API description by `npm run openapi`; do not edit.
"""

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    AddedSignalSubject,
    NewSignalStream,
    RemovedSignalSubject,
    SignalPoll,
    Signals,
    SignalStream,
    SignalStreamChange,
    SignalStreamReplacement,
    SignalStreamStatus,
    SignalStreamStatusChange,
    SignalVerification,
)

ADD_SIGNAL_SUBJECT = Operation[None]("POST", "/api/v1/ssf/subjects/add")
CREATE_SIGNAL_STREAM = Operation[SignalStream]("POST", "/api/v1/ssf/stream")
DELETE_SIGNAL_STREAM = Operation[None]("DELETE", "/api/v1/ssf/stream")
GET_SIGNAL_STREAM = Operation[SignalStream | list[SignalStream]]("GET", "/api/v1/ssf/stream")
GET_SIGNAL_STREAM_STATUS = Operation[SignalStreamStatus]("GET", "/api/v1/ssf/status")
POLL_SIGNALS = Operation[Signals]("POST", "/api/v1/ssf/poll/{streamId}")
REMOVE_SIGNAL_SUBJECT = Operation[None]("POST", "/api/v1/ssf/subjects/remove")
REPLACE_SIGNAL_STREAM = Operation[SignalStream]("PUT", "/api/v1/ssf/stream")
SET_SIGNAL_STREAM_STATUS = Operation[SignalStreamStatus]("POST", "/api/v1/ssf/status")
UPDATE_SIGNAL_STREAM = Operation[SignalStream]("PATCH", "/api/v1/ssf/stream")
VERIFY_SIGNAL_STREAM = Operation[None]("POST", "/api/v1/ssf/verify")


class SignalsApi(Calls):
    def add_signal_subject(self, body: AddedSignalSubject) -> None:
        """Send signals about a subject again; all subjects are in a stream from the start.

        Needs a token with the scope `tokens:read`.
        """
        self._call(ADD_SIGNAL_SUBJECT(body=body))

    def create_signal_stream(self, body: NewSignalStream) -> SignalStream:
        """Create a stream of signals; it begins with the signals that can still matter.

        A stream that is polled needs `tokens:read`. One that is pushed to an address of yours needs
        `webhooks:write` as well. Needs a token with the scope `tokens:read`.
        """
        return self._call(CREATE_SIGNAL_STREAM(body=body))

    def delete_signal_stream(self, *, stream_id: str) -> None:
        """Delete a stream, with the signals that wait in it.

        Needs a token with the scope `tokens:read`.
        """
        query = {"stream_id": stream_id}
        self._call(DELETE_SIGNAL_STREAM(query=query))

    def get_signal_stream(
        self,
        *,
        stream_id: str | None = None,
    ) -> SignalStream | list[SignalStream]:
        """Read one stream, or list those of the agent.

        With `webhooks:write`, the list has all streams of the organization. They can be deleted;
        only the agent that created a stream changes it. Needs a token with the scope `tokens:read`.
        """
        query = {"stream_id": stream_id}
        return self._call(GET_SIGNAL_STREAM(query=query))

    def get_signal_stream_status(self, *, stream_id: str) -> SignalStreamStatus:
        """Read the status of a stream.

        Needs a token with the scope `tokens:read`.
        """
        query = {"stream_id": stream_id}
        return self._call(GET_SIGNAL_STREAM_STATUS(query=query))

    def poll_signals(self, stream_id: str, body: SignalPoll | None = None) -> Signals:
        """Poll a stream for signals, and acknowledge those that were received (RFC 8936).

        Waits up to 25 seconds for the first signal. A signal comes again until it is acknowledged.
        Counts in a window of its own: 1200 polls of an agent in a minute. Needs a token with the
        scope `tokens:read`. The call does not count against the plan's calls a day.
        """
        return self._call(POLL_SIGNALS(stream_id, body=body))

    def remove_signal_subject(self, body: RemovedSignalSubject) -> None:
        """Send no more signals about a subject.

        Needs a token with the scope `tokens:read`.
        """
        self._call(REMOVE_SIGNAL_SUBJECT(body=body))

    def replace_signal_stream(self, body: SignalStreamReplacement) -> SignalStream:
        """Replace the fields of a stream; those that are left out get their defaults.

        Needs a token with the scope `tokens:read`.
        """
        return self._call(REPLACE_SIGNAL_STREAM(body=body))

    def set_signal_stream_status(self, body: SignalStreamStatusChange) -> SignalStreamStatus:
        """Pause a stream, which goes on collecting; disable it, which drops its signals; or
        enable it.

        Needs a token with the scope `tokens:read`.
        """
        return self._call(SET_SIGNAL_STREAM_STATUS(body=body))

    def update_signal_stream(self, body: SignalStreamChange) -> SignalStream:
        """Change some fields of a stream.

        Needs a token with the scope `tokens:read`.
        """
        return self._call(UPDATE_SIGNAL_STREAM(body=body))

    def verify_signal_stream(self, body: SignalVerification) -> None:
        """Send a verification event through a stream.

        Needs a token with the scope `tokens:read`. At most 30 requests a minute for each caller.
        """
        self._call(VERIFY_SIGNAL_STREAM(body=body))


class AsyncSignalsApi(AsyncCalls):
    async def add_signal_subject(self, body: AddedSignalSubject) -> None:
        """Send signals about a subject again; all subjects are in a stream from the start.

        Needs a token with the scope `tokens:read`.
        """
        await self._call(ADD_SIGNAL_SUBJECT(body=body))

    async def create_signal_stream(self, body: NewSignalStream) -> SignalStream:
        """Create a stream of signals; it begins with the signals that can still matter.

        A stream that is polled needs `tokens:read`. One that is pushed to an address of yours needs
        `webhooks:write` as well. Needs a token with the scope `tokens:read`.
        """
        return await self._call(CREATE_SIGNAL_STREAM(body=body))

    async def delete_signal_stream(self, *, stream_id: str) -> None:
        """Delete a stream, with the signals that wait in it.

        Needs a token with the scope `tokens:read`.
        """
        query = {"stream_id": stream_id}
        await self._call(DELETE_SIGNAL_STREAM(query=query))

    async def get_signal_stream(
        self,
        *,
        stream_id: str | None = None,
    ) -> SignalStream | list[SignalStream]:
        """Read one stream, or list those of the agent.

        With `webhooks:write`, the list has all streams of the organization. They can be deleted;
        only the agent that created a stream changes it. Needs a token with the scope `tokens:read`.
        """
        query = {"stream_id": stream_id}
        return await self._call(GET_SIGNAL_STREAM(query=query))

    async def get_signal_stream_status(self, *, stream_id: str) -> SignalStreamStatus:
        """Read the status of a stream.

        Needs a token with the scope `tokens:read`.
        """
        query = {"stream_id": stream_id}
        return await self._call(GET_SIGNAL_STREAM_STATUS(query=query))

    async def poll_signals(self, stream_id: str, body: SignalPoll | None = None) -> Signals:
        """Poll a stream for signals, and acknowledge those that were received (RFC 8936).

        Waits up to 25 seconds for the first signal. A signal comes again until it is acknowledged.
        Counts in a window of its own: 1200 polls of an agent in a minute. Needs a token with the
        scope `tokens:read`. The call does not count against the plan's calls a day.
        """
        return await self._call(POLL_SIGNALS(stream_id, body=body))

    async def remove_signal_subject(self, body: RemovedSignalSubject) -> None:
        """Send no more signals about a subject.

        Needs a token with the scope `tokens:read`.
        """
        await self._call(REMOVE_SIGNAL_SUBJECT(body=body))

    async def replace_signal_stream(self, body: SignalStreamReplacement) -> SignalStream:
        """Replace the fields of a stream; those that are left out get their defaults.

        Needs a token with the scope `tokens:read`.
        """
        return await self._call(REPLACE_SIGNAL_STREAM(body=body))

    async def set_signal_stream_status(self, body: SignalStreamStatusChange) -> SignalStreamStatus:
        """Pause a stream, which goes on collecting; disable it, which drops its signals; or
        enable it.

        Needs a token with the scope `tokens:read`.
        """
        return await self._call(SET_SIGNAL_STREAM_STATUS(body=body))

    async def update_signal_stream(self, body: SignalStreamChange) -> SignalStream:
        """Change some fields of a stream.

        Needs a token with the scope `tokens:read`.
        """
        return await self._call(UPDATE_SIGNAL_STREAM(body=body))

    async def verify_signal_stream(self, body: SignalVerification) -> None:
        """Send a verification event through a stream.

        Needs a token with the scope `tokens:read`. At most 30 requests a minute for each caller.
        """
        await self._call(VERIFY_SIGNAL_STREAM(body=body))
