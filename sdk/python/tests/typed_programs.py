"""What mypy and Pyright say of programs with the typed methods. None of them runs.

Each comment that ignores an error would be an error of its own if there was none.
"""

from countersign import AsyncClient, Client
from countersign.types import Agent, NewAgent


def program(client: Client) -> str:
    new: NewAgent = {
        "email": "orders@example.com",
        "agentType": "custom",
        "version": "1.0.0",
        "capabilities": ["orders:read"],
        "owner": "orders",
        "deploymentEnv": "production",
    }
    agent = client.api.create_agent(new, idempotency_key="orders")
    credential = client.api.generate_credential(agent["agentId"], {})
    client.api.update_agent(agent["agentId"], {"displayName": None, "labels": {"team": "orders"}})
    total: int = client.api.list_agents(status="active", limit=5)["total"]
    names = [each["displayName"] or each["email"] for each in client.api.iterate_agents(q="orders")]
    activity = [each.get("lastTokenDate") for each in client.api.iterate_agents(include="activity")]
    webhooks = [each["url"] for each in client.api.list_webhooks()]
    lines = [line.upper() for line in client.api.export_audit().lines()]
    client.api.decommission_agent(agent_id=agent["agentId"])
    return f"{credential['clientSecret']} {total} {names} {activity} {webhooks} {lines}"


async def async_program(client: AsyncClient) -> str:
    agent: Agent = await client.api.get_agent("1")
    names = [each["email"] async for each in client.api.iterate_agents(status="active")]
    text = await client.api.export_audit().text()
    async for line in client.api.export_audit().lines():
        text += line
    return f"{agent['status']} {names} {text}"


def mistakes(client: Client) -> None:
    api = client.api
    api.list_agents(state="active")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    api.list_agents(1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    api.list_agents(status="activ")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    api.get_agent()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    api.get_agents("1")  # type: ignore[attr-defined]  # pyright: ignore
    api.update_agent("1", {"ownr": "a"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    api.update_agent("1", {"owner": 1})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    api.create_agent({"owner": "a"})  # type: ignore[typeddict-item]  # pyright: ignore[reportArgumentType]
    agent = api.get_agent("1")
    agent["nam"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
    agent["displayName"].upper()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    listed = next(api.iterate_agents(include="activity"))
    listed.get("lastTokenDate").upper()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    listed["lastTokenDate"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    api.export_audit()["lines"]  # type: ignore[index]  # pyright: ignore[reportIndexIssue]


async def async_mistakes(client: AsyncClient) -> None:
    client.api.get_agent("1")["email"]  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
    await client.api.iterate_agents()  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    await client.api.list_agents(agentType="custom")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
