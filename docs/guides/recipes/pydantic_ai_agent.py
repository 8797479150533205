"""An agent with Pydantic AI.

Install: the SDK (docs/guides/python-sdk.md), and pip install 'pydantic-ai-slim[openai]'
"""

import os

from orders_tools import ask_person, list_orders, refund_order
from pydantic_ai import Agent
from pydantic_ai.models import Model


def run(model: Model | str) -> None:
    agent = Agent(model, tools=[list_orders, refund_order, ask_person])
    print(agent.run_sync("The parcel of the first order was lost. Refund it.").output)


if __name__ == "__main__":
    run(os.environ.get("MODEL", "openai:gpt-5-mini"))
