"""The operations of "Audit".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.stream import AsyncStream, Stream
from countersign.types import (
    AuditArchive,
    AuditArchivePage,
    AuditChain,
    AuditCheckpoint,
    AuditCheckpointPage,
    AuditEvent,
    AuditKey,
    AuditKeyPage,
    AuditPage,
    AuditVerification,
    AuditWitnesses,
)

EXPORT_AUDIT = Operation[Any]("GET", "/api/v1/audit/export")
GET_AUDIT_ARCHIVE = Operation[Any]("GET", "/api/v1/audit/archives/{date}")
GET_AUDIT_CHAIN = Operation[AuditChain]("GET", "/api/v1/audit/chain")
GET_AUDIT_EVENT = Operation[AuditEvent]("GET", "/api/v1/audit/{eventId}")
LIST_AUDIT_ARCHIVES = Operation[AuditArchivePage]("GET", "/api/v1/audit/archives")
LIST_AUDIT_CHECKPOINTS = Operation[AuditCheckpointPage]("GET", "/api/v1/audit/checkpoints")
LIST_AUDIT_EVENTS = Operation[AuditPage]("GET", "/api/v1/audit")
LIST_AUDIT_KEYS = Operation[AuditKeyPage]("GET", "/api/v1/audit/keys")
LIST_AUDIT_WITNESSES = Operation[AuditWitnesses]("GET", "/api/v1/audit/witnesses")
STREAM_EVENTS = Operation[Any]("GET", "/api/v1/events")
VERIFY_AUDIT = Operation[AuditVerification]("GET", "/api/v1/audit/verify")


class AuditApi(Calls):
    def export_audit(self, *, organization_id: str | None = None) -> Stream:
        """Export the organization's audit log with its evidence, as a file.

        The file is the one that `countersign audit export` writes and `countersign audit verify`
        reads. For an operator it has the logs of all organizations. Needs a token with the scope
        `audit:read`. At most 6 requests a minute for each organization.
        """
        query = {"organizationId": organization_id}
        return self._stream(EXPORT_AUDIT(query=query))

    def get_audit_archive(self, date: str, *, organization_id: str | None = None) -> Stream:
        """Download an archived day of the organization's audit log, as a compressed file.

        The file has the SHA-256 of the list, and `countersign audit verify` reads it: it proves
        itself with the public keys of this instance alone. The connection breaks off when the
        stored file is not the one that was archived. Needs a token with the scope `audit:read`. At
        most 60 requests a minute for each organization.
        """
        query = {"organizationId": organization_id}
        return self._stream(GET_AUDIT_ARCHIVE(date, query=query))

    def get_audit_chain(
        self,
        *,
        after: int | None = None,
        limit: int | None = None,
        organization_id: str | None = None,
    ) -> AuditChain:
        """Read the links of the organization's audit log with their events and checkpoints, in
        order.

        With this, a client can compute every hash itself, and check the signatures with the keys of
        `/.well-known/jwks.json`. The answer without `after` has the start of the chain, after all
        recorded events were linked. Go on with the last `sequence` until you have reached `size`.
        The guide "Read, verify and export the audit log" has the formulas. Needs a token with the
        scope `audit:read`.
        """
        query = {"after": after, "limit": limit, "organizationId": organization_id}
        return self._call(GET_AUDIT_CHAIN(query=query))

    def get_audit_event(self, event_id: str) -> AuditEvent:
        """Read one audit event.

        Needs a token with the scope `audit:read`.
        """
        return self._call(GET_AUDIT_EVENT(event_id))

    def list_audit_archives(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        from_: str | None = None,
        to: str | None = None,
        organization_id: str | None = None,
    ) -> AuditArchivePage:
        """List the archived days of the organization's audit log, newest first.

        A day is archived when it is over, also long before `GET /audit` forgets it. Without an
        archive on this instance the list is empty. Needs a token with the scope `audit:read`.
        """
        query = {
            "page": page,
            "limit": limit,
            "from": from_,
            "to": to,
            "organizationId": organization_id,
        }
        return self._call(LIST_AUDIT_ARCHIVES(query=query))

    def iterate_audit_archives(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        from_: str | None = None,
        to: str | None = None,
        organization_id: str | None = None,
    ) -> Iterator[AuditArchive]:
        """All items of `list_audit_archives`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "from": from_,
            "to": to,
            "organizationId": organization_id,
        }
        return self._iterate(LIST_AUDIT_ARCHIVES(query=query))

    def list_audit_checkpoints(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        organization_id: str | None = None,
    ) -> AuditCheckpointPage:
        """List the signed checkpoints of the organization's audit log, newest first.

        Needs a token with the scope `audit:read`.
        """
        query = {"page": page, "limit": limit, "organizationId": organization_id}
        return self._call(LIST_AUDIT_CHECKPOINTS(query=query))

    def iterate_audit_checkpoints(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        organization_id: str | None = None,
    ) -> Iterator[AuditCheckpoint]:
        """All items of `list_audit_checkpoints`, page after page."""
        query = {"page": page, "limit": limit, "organizationId": organization_id}
        return self._iterate(LIST_AUDIT_CHECKPOINTS(query=query))

    def list_audit_events(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        actor_id: str | None = None,
        action: str | None = None,
        outcome: Literal["success", "failure"] | None = None,
        reason: str | None = None,
        from_date: str | None = None,
        to_date: str | None = None,
        organization_id: str | None = None,
    ) -> AuditPage:
        """List the organization's audit events of the last 90 days, most recent first.

        Needs a token with the scope `audit:read`.
        """
        query = {
            "page": page,
            "limit": limit,
            "agentId": agent_id,
            "actorId": actor_id,
            "action": action,
            "outcome": outcome,
            "reason": reason,
            "fromDate": from_date,
            "toDate": to_date,
            "organizationId": organization_id,
        }
        return self._call(LIST_AUDIT_EVENTS(query=query))

    def iterate_audit_events(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        actor_id: str | None = None,
        action: str | None = None,
        outcome: Literal["success", "failure"] | None = None,
        reason: str | None = None,
        from_date: str | None = None,
        to_date: str | None = None,
        organization_id: str | None = None,
    ) -> Iterator[AuditEvent]:
        """All items of `list_audit_events`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "agentId": agent_id,
            "actorId": actor_id,
            "action": action,
            "outcome": outcome,
            "reason": reason,
            "fromDate": from_date,
            "toDate": to_date,
            "organizationId": organization_id,
        }
        return self._iterate(LIST_AUDIT_EVENTS(query=query))

    def list_audit_keys(self, *, page: int | None = None, limit: int | None = None) -> AuditKeyPage:
        """List the keys that have signed the audit log, newest first.

        Each key signs a statement that names the key before it. A key of `/.well-known/jwks.json`
        has signed the newest, so earlier keys can be trusted step by step. Needs a token with the
        scope `audit:read`.
        """
        query = {"page": page, "limit": limit}
        return self._call(LIST_AUDIT_KEYS(query=query))

    def iterate_audit_keys(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> Iterator[AuditKey]:
        """All items of `list_audit_keys`, page after page."""
        query = {"page": page, "limit": limit}
        return self._iterate(LIST_AUDIT_KEYS(query=query))

    def list_audit_witnesses(self) -> AuditWitnesses:
        """List the witnesses of the instance log, and what they have cosigned.

        Witnesses are run by others. They cosign the checkpoints of the instance log, so that a
        rewritten audit log is noticed. `witnessed` is the newest checkpoint with a quorum. Needs a
        token with the scope `audit:read`.
        """
        return self._call(LIST_AUDIT_WITNESSES())

    def stream_events(
        self,
        *,
        action: str | None = None,
        last_event_id: str | None = None,
    ) -> Stream:
        """Watch the organization's audit events as server-sent events.

        With the header `Last-Event-ID` it continues after that position. Needs a token with the
        scope `audit:read`.
        """
        query = {"action": action, "lastEventId": last_event_id}
        return self._stream(STREAM_EVENTS(query=query))

    def verify_audit(
        self,
        *,
        from_date: str | None = None,
        to_date: str | None = None,
        organization_id: str | None = None,
    ) -> AuditVerification:
        """Verify that the organization's audit log is unchanged.

        Checks every hash and every signature. For an operator it checks the logs of all
        organizations. Needs a token with the scope `audit:read`. At most 30 requests a minute for
        each organization.
        """
        query = {"fromDate": from_date, "toDate": to_date, "organizationId": organization_id}
        return self._call(VERIFY_AUDIT(query=query))


class AsyncAuditApi(AsyncCalls):
    def export_audit(self, *, organization_id: str | None = None) -> AsyncStream:
        """Export the organization's audit log with its evidence, as a file.

        The file is the one that `countersign audit export` writes and `countersign audit verify`
        reads. For an operator it has the logs of all organizations. Needs a token with the scope
        `audit:read`. At most 6 requests a minute for each organization.
        """
        query = {"organizationId": organization_id}
        return self._stream(EXPORT_AUDIT(query=query))

    def get_audit_archive(self, date: str, *, organization_id: str | None = None) -> AsyncStream:
        """Download an archived day of the organization's audit log, as a compressed file.

        The file has the SHA-256 of the list, and `countersign audit verify` reads it: it proves
        itself with the public keys of this instance alone. The connection breaks off when the
        stored file is not the one that was archived. Needs a token with the scope `audit:read`. At
        most 60 requests a minute for each organization.
        """
        query = {"organizationId": organization_id}
        return self._stream(GET_AUDIT_ARCHIVE(date, query=query))

    async def get_audit_chain(
        self,
        *,
        after: int | None = None,
        limit: int | None = None,
        organization_id: str | None = None,
    ) -> AuditChain:
        """Read the links of the organization's audit log with their events and checkpoints, in
        order.

        With this, a client can compute every hash itself, and check the signatures with the keys of
        `/.well-known/jwks.json`. The answer without `after` has the start of the chain, after all
        recorded events were linked. Go on with the last `sequence` until you have reached `size`.
        The guide "Read, verify and export the audit log" has the formulas. Needs a token with the
        scope `audit:read`.
        """
        query = {"after": after, "limit": limit, "organizationId": organization_id}
        return await self._call(GET_AUDIT_CHAIN(query=query))

    async def get_audit_event(self, event_id: str) -> AuditEvent:
        """Read one audit event.

        Needs a token with the scope `audit:read`.
        """
        return await self._call(GET_AUDIT_EVENT(event_id))

    async def list_audit_archives(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        from_: str | None = None,
        to: str | None = None,
        organization_id: str | None = None,
    ) -> AuditArchivePage:
        """List the archived days of the organization's audit log, newest first.

        A day is archived when it is over, also long before `GET /audit` forgets it. Without an
        archive on this instance the list is empty. Needs a token with the scope `audit:read`.
        """
        query = {
            "page": page,
            "limit": limit,
            "from": from_,
            "to": to,
            "organizationId": organization_id,
        }
        return await self._call(LIST_AUDIT_ARCHIVES(query=query))

    def iterate_audit_archives(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        from_: str | None = None,
        to: str | None = None,
        organization_id: str | None = None,
    ) -> AsyncIterator[AuditArchive]:
        """All items of `list_audit_archives`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "from": from_,
            "to": to,
            "organizationId": organization_id,
        }
        return self._iterate(LIST_AUDIT_ARCHIVES(query=query))

    async def list_audit_checkpoints(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        organization_id: str | None = None,
    ) -> AuditCheckpointPage:
        """List the signed checkpoints of the organization's audit log, newest first.

        Needs a token with the scope `audit:read`.
        """
        query = {"page": page, "limit": limit, "organizationId": organization_id}
        return await self._call(LIST_AUDIT_CHECKPOINTS(query=query))

    def iterate_audit_checkpoints(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        organization_id: str | None = None,
    ) -> AsyncIterator[AuditCheckpoint]:
        """All items of `list_audit_checkpoints`, page after page."""
        query = {"page": page, "limit": limit, "organizationId": organization_id}
        return self._iterate(LIST_AUDIT_CHECKPOINTS(query=query))

    async def list_audit_events(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        actor_id: str | None = None,
        action: str | None = None,
        outcome: Literal["success", "failure"] | None = None,
        reason: str | None = None,
        from_date: str | None = None,
        to_date: str | None = None,
        organization_id: str | None = None,
    ) -> AuditPage:
        """List the organization's audit events of the last 90 days, most recent first.

        Needs a token with the scope `audit:read`.
        """
        query = {
            "page": page,
            "limit": limit,
            "agentId": agent_id,
            "actorId": actor_id,
            "action": action,
            "outcome": outcome,
            "reason": reason,
            "fromDate": from_date,
            "toDate": to_date,
            "organizationId": organization_id,
        }
        return await self._call(LIST_AUDIT_EVENTS(query=query))

    def iterate_audit_events(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        actor_id: str | None = None,
        action: str | None = None,
        outcome: Literal["success", "failure"] | None = None,
        reason: str | None = None,
        from_date: str | None = None,
        to_date: str | None = None,
        organization_id: str | None = None,
    ) -> AsyncIterator[AuditEvent]:
        """All items of `list_audit_events`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "agentId": agent_id,
            "actorId": actor_id,
            "action": action,
            "outcome": outcome,
            "reason": reason,
            "fromDate": from_date,
            "toDate": to_date,
            "organizationId": organization_id,
        }
        return self._iterate(LIST_AUDIT_EVENTS(query=query))

    async def list_audit_keys(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> AuditKeyPage:
        """List the keys that have signed the audit log, newest first.

        Each key signs a statement that names the key before it. A key of `/.well-known/jwks.json`
        has signed the newest, so earlier keys can be trusted step by step. Needs a token with the
        scope `audit:read`.
        """
        query = {"page": page, "limit": limit}
        return await self._call(LIST_AUDIT_KEYS(query=query))

    def iterate_audit_keys(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[AuditKey]:
        """All items of `list_audit_keys`, page after page."""
        query = {"page": page, "limit": limit}
        return self._iterate(LIST_AUDIT_KEYS(query=query))

    async def list_audit_witnesses(self) -> AuditWitnesses:
        """List the witnesses of the instance log, and what they have cosigned.

        Witnesses are run by others. They cosign the checkpoints of the instance log, so that a
        rewritten audit log is noticed. `witnessed` is the newest checkpoint with a quorum. Needs a
        token with the scope `audit:read`.
        """
        return await self._call(LIST_AUDIT_WITNESSES())

    def stream_events(
        self,
        *,
        action: str | None = None,
        last_event_id: str | None = None,
    ) -> AsyncStream:
        """Watch the organization's audit events as server-sent events.

        With the header `Last-Event-ID` it continues after that position. Needs a token with the
        scope `audit:read`.
        """
        query = {"action": action, "lastEventId": last_event_id}
        return self._stream(STREAM_EVENTS(query=query))

    async def verify_audit(
        self,
        *,
        from_date: str | None = None,
        to_date: str | None = None,
        organization_id: str | None = None,
    ) -> AuditVerification:
        """Verify that the organization's audit log is unchanged.

        Checks every hash and every signature. For an operator it checks the logs of all
        organizations. Needs a token with the scope `audit:read`. At most 30 requests a minute for
        each organization.
        """
        query = {"fromDate": from_date, "toDate": to_date, "organizationId": organization_id}
        return await self._call(VERIFY_AUDIT(query=query))
