"""`python -m agent`: shows who this agent is, and checks what others send it."""

import os
import signal
import sys

from agent import identity
from agent.server import serve
from countersign import Client, CountersignError, Signals, Verifier, verify_webhook

USAGE = """usage:
  python -m agent                                      show who this agent is
  python -m agent serve                                accept tokens and webhooks on PORT
  python -m agent token <access token>                 check a token presented to this agent
  python -m agent webhook <timestamp> <signature>      check a delivery, its body on stdin"""


class BadSetting(Exception):
    pass


def setting(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise BadSetting(f"{name} is not set; copy .env.example to .env, fill it in and load it")
    return value


def api_url() -> str:
    return setting("API_URL").rstrip("/")


def new_client() -> Client:
    return Client(api_url(), setting("CLIENT_ID"), setting("CLIENT_SECRET"))


def verifier(audience: str, signals: Signals | None = None) -> Verifier:
    """Accepts tokens of the agent's own organization only, unless the settings say otherwise.

    Tokens of agents that act for a person are refused. With signals the verifier learns within a
    second which tokens have ended; a command looks at one token, once.
    """
    match os.environ.get("ACCEPT_ANY_ORGANIZATION") or "false":
        case "true":
            organization_id = None
        case "false":
            organization_id = setting("ORGANIZATION_ID")
        case _:
            raise BadSetting("ACCEPT_ANY_ORGANIZATION must be true or false")
    return Verifier(
        api_url(),
        audience,
        organization_id,
        accept_any_organization=organization_id is None,
        subjects="agents",
        revocation="none" if signals is None else "signals",
        signals=signals,
    )


def who_am_i() -> None:
    with new_client() as client:
        me = client.api.get_agent(client.client_id)
        print(
            f"I am {me['email']} ({me['agentId']}), a {me['agentType']} in {me['deploymentEnv']}."
        )

        # The check of an API that gets this token: it was issued for Countersign's own API.
        verified = verifier(api_url()).verify(client.token())
        print(f"My token is genuine and carries: {' '.join(verified.scopes) or 'no scope'}.")

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


def own_audience() -> str:
    return os.environ.get("TOKEN_AUDIENCE") or api_url()


def serve_requests() -> None:
    """Until the operating system ends it. The agent needs the scope tokens:read."""
    with new_client() as client:
        checking = verifier(own_audience(), Signals(client, when_silent="introspect"))
        # As Ctrl-C does, it ends in `finally`.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        try:
            checking.start()
            serve(checking, os.environ.get("WEBHOOK_SECRET"), int(os.environ.get("PORT") or 8080))
        finally:
            checking.close()


def check_token(token: str) -> None:
    verified = verifier(own_audience()).verify(token)
    print(
        f"The token is genuine. It was issued to {verified.agent_id} of organization "
        f"{verified.organization_id} and carries: {' '.join(verified.scopes) or 'no scope'}."
    )
    if verified.chain_id:
        print(
            f"It is delegated by {verified.subject.id} in chain {verified.chain_id}; "
            f"actors: {', '.join(verified.actors)}."
        )


def check_webhook(timestamp: str, signature: str) -> None:
    headers = {"X-Service-Timestamp": timestamp, "X-Service-Signature-256": signature}
    verify_webhook(sys.stdin.buffer.read(), headers, setting("WEBHOOK_SECRET"))
    print("The delivery is genuine.")


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case []:
                who_am_i()
            case ["serve"]:
                serve_requests()
            case ["token", token]:
                check_token(token)
            case ["webhook", timestamp, signature]:
                check_webhook(timestamp, signature)
            case _:
                print(USAGE, file=sys.stderr)
                return 2
    except (BadSetting, CountersignError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
