"""Delegations as the API shows them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from countersign.answer import invalid_answer


@dataclass(frozen=True)
class Delegation:
    """A delegation. Send `token` to the delegatee: only this object has it."""

    chain_id: str
    token: str = field(repr=False)
    scopes: tuple[str, ...]
    expires_at: str
    # All fields of the answer.
    answer: dict[str, Any] = field(repr=False)


def delegation_request(
    delegatee_id: str,
    scopes: Iterable[str],
    *,
    resource: str | Iterable[str] | None,
    expires_in: int | None,
    purpose: str | None,
    allow_redelegation: bool,
    parent_token: str | None,
) -> dict[str, Any]:
    if isinstance(scopes, str):
        scopes = scopes.split()
    if isinstance(resource, str):
        resource = [resource]
    fields: dict[str, Any] = {
        "delegateeId": delegatee_id,
        "scopes": list(scopes),
        "resource": None if resource is None else list(resource),
        "expiresIn": expires_in,
        "purpose": purpose,
        "allowRedelegation": allow_redelegation,
        "parentToken": parent_token,
    }
    return {name: value for name, value in fields.items() if value is not None}


def read_delegation(answer: Any) -> Delegation:
    try:
        return Delegation(
            chain_id=_text(answer["chainId"]),
            token=_text(answer["delegationToken"]),
            scopes=tuple(_text(scope) for scope in answer["scopes"]),
            expires_at=_text(answer["expiresAt"]),
            answer=answer,
        )
    except (KeyError, TypeError) as error:
        raise invalid_answer("the answer is not a delegation") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
