"""`python -m agent`: shows who this agent is, and checks what others send it."""

import os
import sys
from urllib.parse import quote

import httpx

from agent import identity
from agent.access_token import InvalidToken, Verifier
from agent.client import ApiError, Client
from agent.webhook import InvalidDelivery, verify_webhook

USAGE = """usage:
  python -m agent                                      show who this agent is
  python -m agent token <access token>                 check a token presented to this agent
  python -m agent webhook <timestamp> <signature>      check a delivery, its body on stdin"""


class Missing(Exception):
    pass


def setting(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise Missing(f"{name} is not set; copy .env.example to .env, fill it in and load it")
    return value


def api_url() -> str:
    return setting("API_URL").rstrip("/")


def who_am_i() -> None:
    client_id = setting("CLIENT_ID")
    with Client(api_url(), client_id, setting("CLIENT_SECRET")) as client:
        me = client.get(f"/agents/{quote(client_id, safe='')}")
        print(
            f"I am {me['email']} ({me['agentId']}), a {me['agentType']} in {me['deploymentEnv']}."
        )

        # What anybody does who is handed this token: it was issued for the API.
        claims = Verifier(api_url(), api_url()).verify(client.token())
        print(f"My token is genuine and carries: {claims.get('scope') or 'no scope'}.")

    known = {
        "agentId": identity.AGENT_ID,
        "email": identity.EMAIL,
        "agentType": identity.AGENT_TYPE,
        "version": identity.VERSION,
        "owner": identity.OWNER,
        "deploymentEnv": identity.DEPLOYMENT_ENV,
        "capabilities": identity.CAPABILITIES,
    }
    for field, value in known.items():
        if me.get(field) != value:
            print(f"The registry says something else about {field} than agent/identity.py.")


def check_token(token: str) -> None:
    audience = os.environ.get("TOKEN_AUDIENCE") or api_url()
    claims = Verifier(api_url(), audience).verify(token)
    scope = claims.get("scope") or "no scope"
    print(f"The token is genuine. It was issued to {claims['client_id']} and carries: {scope}.")


def check_webhook(timestamp: str, signature: str) -> None:
    verify_webhook(setting("WEBHOOK_SECRET"), timestamp, signature, sys.stdin.buffer.read())
    print("The delivery is genuine.")


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case []:
                who_am_i()
            case ["token", token]:
                check_token(token)
            case ["webhook", timestamp, signature]:
                check_webhook(timestamp, signature)
            case _:
                print(USAGE, file=sys.stderr)
                return 2
    except (ApiError, InvalidDelivery, InvalidToken, Missing, httpx.HTTPError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
