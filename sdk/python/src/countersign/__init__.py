"""Access tokens for AI agents: get them, attach them, verify them."""

from countersign.approval import Approval, AsyncApproval
from countersign.async_client import AsyncClient
from countersign.audit_export import async_verify_audit_export, verify_audit_export
from countersign.audit_file import audit_export_lines
from countersign.audit_log_proofs import Witnessed
from countersign.audit_verification import AuditExport
from countersign.client import Client
from countersign.delegation import Delegation
from countersign.dpop import Dpop, DpopKey
from countersign.errors import (
    ApiError,
    ApprovalCanceled,
    ApprovalDenied,
    ApprovalError,
    ApprovalExpired,
    AuditExportError,
    AuditFileError,
    CountersignError,
    NetworkError,
    TokenError,
    WebhookError,
)
from countersign.log_trust import LogTrust
from countersign.proof import PrivateKey
from countersign.replay_store import MemoryReplayStore, ReplayStore
from countersign.signal_state import Signals, SignalStatus
from countersign.verified_token import Subject, VerifiedToken
from countersign.verifier import AsyncVerifier, Verifier
from countersign.webhook import WebhookDelivery, verify_webhook

__all__ = [
    "ApiError",
    "Approval",
    "ApprovalCanceled",
    "ApprovalDenied",
    "ApprovalError",
    "ApprovalExpired",
    "AsyncApproval",
    "AsyncClient",
    "AsyncVerifier",
    "AuditExport",
    "AuditExportError",
    "AuditFileError",
    "Client",
    "CountersignError",
    "Delegation",
    "Dpop",
    "DpopKey",
    "LogTrust",
    "MemoryReplayStore",
    "NetworkError",
    "PrivateKey",
    "ReplayStore",
    "SignalStatus",
    "Signals",
    "Subject",
    "TokenError",
    "VerifiedToken",
    "Verifier",
    "WebhookDelivery",
    "WebhookError",
    "Witnessed",
    "async_verify_audit_export",
    "audit_export_lines",
    "verify_audit_export",
    "verify_webhook",
]
