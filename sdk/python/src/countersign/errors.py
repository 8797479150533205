"""The errors of this package."""

import unicodedata
from typing import Any, Literal

MAX_TEXT_LENGTH = 500


class CountersignError(Exception):
    """Every error of this package is one."""


class ApiError(CountersignError):
    """The server refused a request.

    `code` is a code of the API (`AGENT_NOT_FOUND`) or of the token endpoint (`invalid_client`).
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        request_id: str | None = None,
        details: Any = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        suffix = f" (request {request_id})" if request_id else ""
        super().__init__(f"{status} {code}: {message}{suffix}")
        self.status = status
        self.code = code
        self.message = message
        self.request_id = request_id
        self.details = details
        self.retry_after_seconds = retry_after_seconds


NetworkErrorCode = Literal["unreachable", "timeout", "invalid_response"]


class NetworkError(CountersignError):
    """There is no usable answer: no connection, no answer in time, or one of another program."""

    def __init__(self, code: NetworkErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: NetworkErrorCode = code


class ApprovalError(CountersignError):
    """A request for approval gave no access.

    `code` is `access_denied`, `expired_token`, `canceled`, `authorization_required`, or another
    error of the token endpoint, such as `invalid_grant`.
    """

    def __init__(self, code: str, approval_id: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.approval_id = approval_id


class ApprovalDenied(ApprovalError):
    """A person has refused, or an administrator or the agent's suspension has canceled it."""


class ApprovalExpired(ApprovalError):
    """No decision in time. Nothing is approved by time-out."""


class ApprovalCanceled(ApprovalError):
    """This program called `cancel`."""


TokenErrorCode = Literal[
    "invalid_token",
    "invalid_dpop_proof",
    "insufficient_scope",
    "insufficient_authorization_details",
    "invalid_request",
    "temporarily_unavailable",
]
TokenErrorStatus = Literal[401, 403, 503]


class TokenError(CountersignError):
    """A token was refused. Answer with `status` and the header `WWW-Authenticate`."""

    def __init__(
        self,
        message: str,
        *,
        status: TokenErrorStatus = 401,
        code: TokenErrorCode = "invalid_token",
        www_authenticate: str = "Bearer",
    ) -> None:
        super().__init__(message)
        self.status: TokenErrorStatus = status
        self.code: TokenErrorCode = code
        self.www_authenticate = www_authenticate


WebhookErrorCode = Literal[
    "missing_header",
    "invalid_timestamp",
    "timestamp_out_of_tolerance",
    "invalid_signature",
    "invalid_body",
]


class WebhookError(CountersignError):
    """A delivery is not genuine, it is too old, or its body is not an event."""

    def __init__(self, code: WebhookErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: WebhookErrorCode = code


class AuditExportError(CountersignError):
    """An export of the audit log is not intact, or nothing proves that it is.

    `countersign audit verify` uses the same codes and sentences.
    """

    def __init__(
        self,
        code: str,
        problem: str,
        *,
        organization_id: str | None = None,
        sequence: int | None = None,
        event_id: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem
        self.organization_id = organization_id
        # The number of the link in its chain.
        self.sequence = sequence
        self.event_id = event_id
        # The number of the line, from 1; None if the problem concerns the export as a whole.
        self.line: int | None = None
        # How much was verified before the problem.
        self.chains = 0
        self.events = 0

    def __str__(self) -> str:
        # The sentence may name a field of the file.
        text = "".join(map(_plain, self.problem[:MAX_TEXT_LENGTH]))
        return text if self.line is None else f"line {self.line}: {text}"


class AuditFileError(CountersignError):
    """The file of an export cannot be decompressed."""


def _plain(character: str) -> str:
    """Texts of others end up in terminals and logs."""
    is_control = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs")
    return " " if is_control else character
