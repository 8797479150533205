"""The operations of "SDK scaffold".

Generated from the API description by `npm run openapi`; do not edit.
"""

from typing import Any, Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.stream import AsyncStream, Stream

SCAFFOLD_AGENT = Operation[Any]("GET", "/api/v1/sdk/scaffold/{agentId}")


class SdkScaffoldApi(Calls):
    def scaffold_agent(
        self,
        agent_id: str,
        *,
        language: Literal["typescript", "python", "go", "java", "rust", None] = None,
    ) -> Stream:
        """Download a project for an agent, ready to run, in a language of your choice.

        Needs a token, with any scope. At most 10 requests a minute for each organization.
        """
        query = {"language": language}
        return self._stream(SCAFFOLD_AGENT(agent_id, query=query))


class AsyncSdkScaffoldApi(AsyncCalls):
    def scaffold_agent(
        self,
        agent_id: str,
        *,
        language: Literal["typescript", "python", "go", "java", "rust", None] = None,
    ) -> AsyncStream:
        """Download a project for an agent, ready to run, in a language of your choice.

        Needs a token, with any scope. At most 10 requests a minute for each organization.
        """
        query = {"language": language}
        return self._stream(SCAFFOLD_AGENT(agent_id, query=query))
