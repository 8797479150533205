"""Verifies an export of the audit log with public keys alone."""

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any

from countersign.audit_verification import AuditExport, ExportVerification
from countersign.log_keys import TransparencyError
from countersign.log_trust import CheckpointPolicy, LogTrust, read_log_trust


def verify_audit_export(
    lines: Iterable[str | bytes],
    checkpoint: str | Mapping[str, Any] | None = None,
    *,
    jwks: Mapping[str, Any],
    log: LogTrust | None = None,
) -> AuditExport:
    """Raises AuditExportError unless the export is intact.

    `lines` are the lines of the file: `audit_export_lines` reads them. `jwks` is the key set of
    the instance, as `/.well-known/jwks.json` has it: take it from the instance, not from the file.
    `checkpoint` is an entry of `GET /audit/checkpoints` that you kept; the export must contain it.
    With `log`, each organization must be in a checkpoint of the instance log that enough witnesses
    have cosigned: take these keys from their owners.
    """
    verification = ExportVerification(jwks, checkpoint, _policy_of(log))
    if isinstance(lines, str | bytes):
        raise TypeError("lines must be a list or stream of lines, not one text")
    for line in lines:
        verification.feed(line)
    return verification.result()


async def async_verify_audit_export(
    lines: AsyncIterable[str | bytes],
    checkpoint: str | Mapping[str, Any] | None = None,
    *,
    jwks: Mapping[str, Any],
    log: LogTrust | None = None,
) -> AuditExport:
    """See `verify_audit_export`."""
    verification = ExportVerification(jwks, checkpoint, _policy_of(log))
    async for line in lines:
        verification.feed(line)
    return verification.result()


def _policy_of(log: LogTrust | None) -> CheckpointPolicy | None:
    try:
        return None if log is None else read_log_trust(log)
    except TransparencyError as error:
        raise ValueError(f"log: {error}") from error
