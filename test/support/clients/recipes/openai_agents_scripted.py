"""Runs the program of docs/guides/recipes/openai-agents.md, with a scripted model."""

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai_agents_agent import run
from script import next_step


class ScriptedModel(Model):
    async def get_response(
        self, system_instructions: Any, input: Any, *_: Any, **__: Any
    ) -> ModelResponse:
        items = [] if isinstance(input, str) else input
        results = [each["output"] for each in items if each.get("type") == "function_call_output"]
        step = next_step(results)
        return ModelResponse(output=[item(step, len(results))], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("the program does not stream")


def item(step: dict[str, Any], number: int) -> ResponseFunctionToolCall | ResponseOutputMessage:
    if "tool" in step:
        return ResponseFunctionToolCall(
            type="function_call",
            call_id=f"call-{number}",
            name=step["tool"],
            arguments=json.dumps(step["input"]),
        )
    text = ResponseOutputText(type="output_text", text=step["text"], annotations=[])
    return ResponseOutputMessage(
        id="message", type="message", role="assistant", status="completed", content=[text]
    )


# Traces would go to OpenAI.
set_tracing_disabled(True)
run(ScriptedModel())
