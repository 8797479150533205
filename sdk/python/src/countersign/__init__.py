"""Access tokens for AI agents: get them, attach them, verify them."""

from countersign.approval import Approval, AsyncApproval
from countersign.async_client import AsyncClient
from countersign.audit_export import AuditExport, async_verify_audit_export, verify_audit_export
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
    CountersignError,
    NetworkError,
    TokenError,
    WebhookError,
)
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
    "Client",
    "CountersignError",
    "Delegation",
    "Dpop",
    "DpopKey",
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
    "async_verify_audit_export",
    "verify_audit_export",
    "verify_webhook",
]
