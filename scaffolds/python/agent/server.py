"""An API that accepts tokens of other agents, and webhooks.

It learns of ended tokens, agents and delegations within a second.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from countersign import TokenError, Verifier, WebhookError, verify_webhook


def serve(verifier: Verifier, webhook_secret: str | None, port: int) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                verified = verifier.verify(self.headers)
            except TokenError as error:
                self.answer(error.status, {"WWW-Authenticate": error.www_authenticate})
                return
            body = {"agentId": verified.agent_id, "scopes": verified.scopes}
            self.answer(200, {"Content-Type": "application/json"}, json.dumps(body).encode())

        def do_POST(self) -> None:
            # The bytes that came: parsed and written again they are another text.
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                verify_webhook(body, self.headers, webhook_secret or "")
                self.answer(200)
            except (WebhookError, ValueError):
                self.answer(401)

        def answer(
            self, status: int, headers: dict[str, str] | None = None, body: bytes = b""
        ) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("", port), Handler) as server:
        print(f"listening on port {server.server_port}", flush=True)
        server.serve_forever()
