"""What an agent can do at the API of orders. Each function is a tool for the model.

Install: the SDK (docs/guides/python-sdk.md)
"""

import os
import re
from urllib.parse import quote

import httpx
from countersign import Approval, ApprovalDenied, ApprovalExpired, Client

ISSUER = os.environ["ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]
client = Client(ISSUER, os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])
# It gets the agent's own token with the first call, caches it and renews it. The model never sees
# a token.
http = httpx.Client(base_url=AUDIENCE, auth=client.auth(AUDIENCE))
# What people have approved, by order and amount.
approved: dict[tuple[str, float], Approval] = {}


def tell(name: str, response: httpx.Response) -> str:
    """Tells the model, and the terminal, what the API has answered."""
    missing = re.search(r' scope="([^"]*)"', response.headers.get("www-authenticate", ""))
    text = f"insufficient_scope: needs {missing[1]}, ask a person" if missing else response.text
    result = f"{response.status_code} {text}"
    print(f"{name}: {result}", flush=True)
    return result


def list_orders() -> str:
    """List the orders"""
    return tell("list_orders", http.get("/orders"))


def refund_order(order: str, amount: float) -> str:
    """Refund an amount of an order"""
    url = f"/orders/{quote(order, safe='')}/refund"
    body = {"amount": amount}
    approval = approved.pop((order, amount), None)
    if approval is None:
        return tell("refund_order", http.post(url, json=body))
    headers = {"Authorization": f"Bearer {approval.token()}"}
    result = tell("refund_order", http.post(url, json=body, headers=headers, auth=None))
    # One approval, one refund: the rest of the five minutes is not needed.
    approval.end()
    return result


def ask_person(order: str, amount: float, reason: str) -> str:
    """Ask a person to approve one refund, and wait for the answer"""
    approval = client.request_approval(
        AUDIENCE,
        scopes="orders:refund",
        details=[{"type": "refund", "order": order, "amount": amount}],
        login_hint=os.environ["PERSON"],
        message=reason,
        access_expires_in=300,
    )
    print(f"ask_person: {ISSUER}/console/approvals/{approval.approval_id}", flush=True)
    try:
        approval.wait()
    except (ApprovalDenied, ApprovalExpired) as error:
        return f"not approved: {error}"
    approved[order, amount] = approval
    return "approved: call refund_order again"
