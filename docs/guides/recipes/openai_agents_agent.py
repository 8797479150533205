"""An agent with the OpenAI Agents SDK.

Install: the SDK (docs/guides/python-sdk.md), and pip install openai-agents
"""

import os

from agents import Agent, Model, Runner, function_tool
from orders_tools import ask_person, list_orders, refund_order

tools = [function_tool(each) for each in (list_orders, refund_order, ask_person)]


def run(model: Model | str) -> None:
    agent = Agent(name="support", model=model, tools=tools)
    result = Runner.run_sync(agent, "The parcel of the first order was lost. Refund it.")
    print(result.final_output)


if __name__ == "__main__":
    run(os.environ.get("MODEL", "gpt-5-mini"))
