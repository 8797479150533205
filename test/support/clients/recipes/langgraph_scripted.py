"""Runs the program of docs/guides/recipes/langgraph.md, with a scripted chat model."""

from typing import Any

from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph_agent import run
from script import next_step


class ScriptedModel(FakeMessagesListChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        results = [str(each.content) for each in messages if isinstance(each, ToolMessage)]
        step = next_step(results)
        calls = []
        if "tool" in step:
            calls = [ToolCall(name=step["tool"], args=step["input"], id=f"call-{len(results)}")]
        message = AIMessage(content=step.get("text", ""), tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


run(ScriptedModel(responses=[]))
