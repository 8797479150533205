"""Runs the program of docs/guides/recipes/crewai.md, with a scripted model."""

import json
from typing import Any

from crewai import BaseLLM
from crewai_agent import run
from script import next_step


class ScriptedModel(BaseLLM):
    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        results = [each["content"] for each in messages if each["role"] == "tool"]
        step = next_step(results)
        if "text" in step:
            return step["text"]
        function = {"name": step["tool"], "arguments": json.dumps(step["input"])}
        return [{"id": f"call-{len(results)}", "type": "function", "function": function}]

    def supports_function_calling(self) -> bool:
        return True


run(ScriptedModel(model="scripted"))
