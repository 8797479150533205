"""The operations of "Console".

Generated from the API description by `npm run openapi`; do not edit.
"""

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import ConsoleLink

CREATE_CONSOLE_LINK = Operation[ConsoleLink]("POST", "/api/v1/console/links")


class ConsoleApi(Calls):
    def create_console_link(self) -> ConsoleLink:
        """Make a link that signs a person in to the console, once.

        The link works once, within a minute. The session has the scopes of this token, and ends
        with the credential that the token was issued with. Needs a token of the agent itself, with
        any scope; a delegated token is refused.
        """
        return self._call(CREATE_CONSOLE_LINK())


class AsyncConsoleApi(AsyncCalls):
    async def create_console_link(self) -> ConsoleLink:
        """Make a link that signs a person in to the console, once.

        The link works once, within a minute. The session has the scopes of this token, and ends
        with the credential that the token was issued with. Needs a token of the agent itself, with
        any scope; a delegated token is refused.
        """
        return await self._call(CREATE_CONSOLE_LINK())
