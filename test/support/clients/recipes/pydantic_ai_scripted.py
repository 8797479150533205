"""Runs the program of docs/guides/recipes/pydantic-ai.md, with its scripted model."""

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_agent import run
from script import next_step


def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    parts = [part for message in messages for part in message.parts]
    step = next_step([part.content for part in parts if isinstance(part, ToolReturnPart)])
    if "text" in step:
        return ModelResponse(parts=[TextPart(step["text"])])
    return ModelResponse(parts=[ToolCallPart(step["tool"], step["input"])])


run(FunctionModel(answer))
