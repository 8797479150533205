"""The operations of "Operational".

Generated from the API description by `npm run openapi`; do not edit.
"""

from typing import Any

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.stream import AsyncStream, Stream
from countersign.types import Health, Instance, Probe, Product

GET_INSTANCE = Operation[Instance]("GET", "/api/v1/instance")
HEALTH = Operation[Health]("GET", "/health", needs_token=False)
LIVEZ = Operation[Probe]("GET", "/livez", needs_token=False)
METRICS = Operation[Any]("GET", "/metrics", needs_token=False)
OPENAPI = Operation[dict[str, Any]]("GET", "/openapi.json", needs_token=False)
PRODUCT = Operation[Product]("GET", "/", needs_token=False)
READYZ = Operation[Probe]("GET", "/readyz", needs_token=False)


class OperationalApi(Calls):
    def get_instance(self) -> Instance:
        """Read the signing keys, versions and settings of this instance.

        Secrets are not in the answer: it only says whether they are set. Needs a token with the
        scope `admin:orgs`.
        """
        return self._call(GET_INSTANCE())

    def health(self) -> Health:
        """Whether the service can do its work.

        Needs no token.
        """
        return self._call(HEALTH())

    def livez(self) -> Probe:
        """Whether the process runs.

        Liveness probe: it asks neither the database nor Redis, because a restart would not repair
        them. It does not count for the rate limit. Needs no token.
        """
        return self._call(LIVEZ())

    def metrics(self) -> Stream:
        """Figures in Prometheus exposition format.

        Needs the token that the operator has set, if any.
        """
        return self._stream(METRICS())

    def openapi(self) -> dict[str, Any]:
        """This API as an OpenAPI 3.1 document.

        Needs no token.
        """
        return self._call(OPENAPI())

    def product(self) -> Product:
        """Name and version of this service.

        A browser is sent to the web console. Needs no token.
        """
        return self._call(PRODUCT())

    def readyz(self) -> Probe:
        """Whether the process can serve requests.

        Readiness probe: 503 while the database cannot be written, and from the moment the process
        is told to stop. It does not count for the rate limit. Needs no token.
        """
        return self._call(READYZ())


class AsyncOperationalApi(AsyncCalls):
    async def get_instance(self) -> Instance:
        """Read the signing keys, versions and settings of this instance.

        Secrets are not in the answer: it only says whether they are set. Needs a token with the
        scope `admin:orgs`.
        """
        return await self._call(GET_INSTANCE())

    async def health(self) -> Health:
        """Whether the service can do its work.

        Needs no token.
        """
        return await self._call(HEALTH())

    async def livez(self) -> Probe:
        """Whether the process runs.

        Liveness probe: it asks neither the database nor Redis, because a restart would not repair
        them. It does not count for the rate limit. Needs no token.
        """
        return await self._call(LIVEZ())

    def metrics(self) -> AsyncStream:
        """Figures in Prometheus exposition format.

        Needs the token that the operator has set, if any.
        """
        return self._stream(METRICS())

    async def openapi(self) -> dict[str, Any]:
        """This API as an OpenAPI 3.1 document.

        Needs no token.
        """
        return await self._call(OPENAPI())

    async def product(self) -> Product:
        """Name and version of this service.

        A browser is sent to the web console. Needs no token.
        """
        return await self._call(PRODUCT())

    async def readyz(self) -> Probe:
        """Whether the process can serve requests.

        Readiness probe: 503 while the database cannot be written, and from the moment the process
        is told to stop. It does not count for the rate limit. Needs no token.
        """
        return await self._call(READYZ())
