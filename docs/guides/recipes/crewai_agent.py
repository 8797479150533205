"""An agent with CrewAI.

Install: the SDK (docs/guides/python-sdk.md), and pip install crewai
"""

import os

from crewai import LLM, Agent, BaseLLM
from crewai.tools import tool
from orders_tools import ask_person, list_orders, refund_order

tools = [tool(each.__name__)(each) for each in (list_orders, refund_order, ask_person)]


def run(model: BaseLLM) -> None:
    agent = Agent(
        role="Support",
        goal="Refund what customers did not get",
        backstory="You refund orders, and ask a person when you may not.",
        llm=model,
        tools=tools,
    )
    print(agent.kickoff("The parcel of the first order was lost. Refund it.").raw)


if __name__ == "__main__":
    run(LLM(model=os.environ.get("MODEL", "openai/gpt-5-mini")))
