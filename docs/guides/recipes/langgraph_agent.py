"""An agent with LangGraph.

Install: the SDK (docs/guides/python-sdk.md), and pip install langgraph langchain-openai
"""

import os

from langchain_core.language_models import BaseChatModel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from orders_tools import ask_person, list_orders, refund_order

tools = [list_orders, refund_order, ask_person]


def run(model: BaseChatModel) -> None:
    with_tools = model.bind_tools(tools)

    def call_model(state: MessagesState) -> dict:
        return {"messages": [with_tools.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    request = "The parcel of the first order was lost. Refund it."
    state = graph.compile().invoke({"messages": [("user", request)]})
    print(state["messages"][-1].text)


if __name__ == "__main__":
    from langchain_openai import ChatOpenAI

    run(ChatOpenAI(model=os.environ.get("MODEL", "gpt-5-mini")))
