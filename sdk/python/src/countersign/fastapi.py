"""A FastAPI dependency that accepts only requests with a valid access token."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from anyio import from_thread
from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer

from countersign.errors import TokenError
from countersign.verified_token import VerifiedToken
from countersign.verifier import AsyncVerifier, Verifier

# Only for the API documentation of the application; the verifier reads the header.
_scheme = Depends(HTTPBearer(auto_error=False))


def require_token(
    verifier: Verifier | AsyncVerifier,
    scopes: str | Iterable[str] = (),
    *,
    max_depth: int | None = None,
) -> Callable[..., VerifiedToken | Awaitable[VerifiedToken]]:
    """`Annotated[VerifiedToken, Depends(require_token(verifier, "orders:read"))]`.

    Answers 401, 403 or 503 with `WWW-Authenticate` and `{"detail": {"error", …}}`.
    """
    needed = scopes if isinstance(scopes, str) else tuple(scopes)
    if isinstance(verifier, AsyncVerifier):
        asynchronous = verifier

        async def verify(request: Request, _: Any = _scheme) -> VerifiedToken:
            try:
                return await asynchronous.verify(
                    _headers(request),
                    scopes=needed,
                    max_depth=max_depth,
                    method=request.method,
                    url=str(request.url),
                    body=request.body,
                )
            except TokenError as error:
                raise _refusal(error) from error

        return verify
    synchronous = verifier

    # Not a coroutine function: FastAPI runs it in a thread.
    def verify_in_thread(request: Request, _: Any = _scheme) -> VerifiedToken:
        try:
            return synchronous.verify(
                _headers(request),
                scopes=needed,
                max_depth=max_depth,
                method=request.method,
                url=str(request.url),
                body=lambda: from_thread.run(request.body),
            )
        except TokenError as error:
            raise _refusal(error) from error

    return verify_in_thread


def _headers(request: Request) -> dict[str, Any]:
    found = {name: request.headers.getlist(name) for name in ("authorization", "dpop")}
    return {
        name: values[0] if len(values) == 1 else values for name, values in found.items() if values
    }


def _refusal(error: TokenError) -> HTTPException:
    return HTTPException(
        error.status,
        {"error": error.code, "error_description": str(error)},
        {"WWW-Authenticate": error.www_authenticate},
    )
