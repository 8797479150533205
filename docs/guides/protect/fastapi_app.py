# An API with FastAPI. Install: pip install fastapi uvicorn "pyjwt[crypto]"
# Start:  uvicorn fastapi_app:app --port 4000
import os
from typing import Annotated

import jwt
from fastapi import Depends, FastAPI, Header, HTTPException

ISSUER = os.environ["ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]
keys = jwt.PyJWKClient(f"{ISSUER}/.well-known/jwks.json")


def verify(token: str) -> dict:
    header = jwt.get_unverified_header(token)
    if header.get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("not an access token")
    key = keys.get_signing_key_from_jwt(token)
    return jwt.decode(
        token,
        key.key,
        # The key decides the algorithm (RS256, ES256 or EdDSA); the token does not.
        algorithms=[key.algorithm_name],
        issuer=ISSUER,
        audience=AUDIENCE,
        options={"require": ["exp", "iss", "aud", "client_id", "scope"]},
    )


def require_scope(scope: str):
    """401 without a valid token for this API, 403 without the scope."""

    def agent(authorization: Annotated[str, Header()] = "") -> dict:
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer" or not token:
            raise HTTPException(401, "invalid_token", {"WWW-Authenticate": "Bearer"})
        try:
            claims = verify(token)
        except jwt.PyJWTError as error:
            challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
            raise HTTPException(401, "invalid_token", challenge) from error
        if scope not in claims["scope"].split(" "):
            challenge = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'}
            raise HTTPException(403, "insufficient_scope", challenge)
        return claims

    return Depends(agent)


app = FastAPI()


@app.get("/orders")
def read_orders(agent: Annotated[dict, require_scope("orders:read")]):
    return {"agent": agent["client_id"], "orders": []}


@app.post("/orders")
def create_order(agent: Annotated[dict, require_scope("orders:write")]):
    return {"agent": agent["client_id"], "created": True}
