# An API that learns of ended tokens within a second. Install: the SDK with [fastapi] (docs/guides/python-sdk.md), and pip install uvicorn
# Start:  uvicorn fastapi_app:app --port 4000
import os
from contextlib import asynccontextmanager
from typing import Annotated

from countersign import AsyncClient, AsyncVerifier, Signals, VerifiedToken
from countersign.fastapi import require_token
from fastapi import Depends, FastAPI, Response

# CLIENT_ID and CLIENT_SECRET are those of the API itself: an agent with the scope tokens:read.
ISSUER = os.environ["ISSUER"]
client = AsyncClient(ISSUER, os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])
verifier = AsyncVerifier(
    ISSUER,
    os.environ["AUDIENCE"],
    os.environ["ORGANIZATION_ID"],
    subjects="any",
    revocation="signals",
    signals=Signals(
        client,
        when_silent=os.environ.get("WHEN_SILENT", "introspect"),
        on_status=lambda status: print(f"signals: {status.state}", flush=True),
    ),
)


@asynccontextmanager
async def lifespan(_: FastAPI):
    await verifier.start()
    yield
    await verifier.aclose()
    await client.aclose()


app = FastAPI(lifespan=lifespan)


@app.get("/orders")
async def read_orders(
    agent: Annotated[VerifiedToken, Depends(require_token(verifier, "orders:read"))],
):
    return {"agent": agent.agent_id, "orders": []}


@app.get("/metrics")
async def metrics():
    seconds = verifier.status().silent_seconds
    text = f"# TYPE signals_silent_seconds gauge\nsignals_silent_seconds {seconds}\n"
    return Response(text, media_type="text/plain")
