"""The operations of "Organizations".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    ClientPolicy,
    ClientPolicyChange,
    Connection,
    ConnectionChange,
    ConnectionPage,
    MemberChange,
    Membership,
    MembershipPage,
    NewConnection,
    NewMember,
    NewOrganization,
    NewPerson,
    Organization,
    OrganizationChange,
    OrganizationPage,
    Person,
    PersonChange,
    PersonPage,
)

ADD_MEMBER = Operation[Membership]("POST", "/api/v1/organizations/{orgId}/members")
CREATE_CONNECTION = Operation[Connection]("POST", "/api/v1/organizations/{orgId}/connections")
CREATE_ORGANIZATION = Operation[Organization]("POST", "/api/v1/organizations")
DELETE_CONNECTION = Operation[None](
    "DELETE", "/api/v1/organizations/{orgId}/connections/{connectionId}"
)
DELETE_ORGANIZATION = Operation[None]("DELETE", "/api/v1/organizations/{orgId}")
GET_CLIENT_POLICY = Operation[ClientPolicy]("GET", "/api/v1/organizations/{orgId}/client-policy")
GET_CONNECTION = Operation[Connection](
    "GET", "/api/v1/organizations/{orgId}/connections/{connectionId}"
)
GET_ORGANIZATION = Operation[Organization]("GET", "/api/v1/organizations/{orgId}")
INVITE_PERSON = Operation[Person]("POST", "/api/v1/organizations/{orgId}/people")
LIST_CONNECTIONS = Operation[ConnectionPage]("GET", "/api/v1/organizations/{orgId}/connections")
LIST_MEMBERS = Operation[MembershipPage]("GET", "/api/v1/organizations/{orgId}/members")
LIST_ORGANIZATIONS = Operation[OrganizationPage]("GET", "/api/v1/organizations")
LIST_PEOPLE = Operation[PersonPage]("GET", "/api/v1/organizations/{orgId}/people")
PUT_CLIENT_POLICY = Operation[ClientPolicy]("PUT", "/api/v1/organizations/{orgId}/client-policy")
REMOVE_MEMBER = Operation[None]("DELETE", "/api/v1/organizations/{orgId}/members/{agentId}")
REMOVE_PERSON = Operation[None]("DELETE", "/api/v1/organizations/{orgId}/people/{personId}")
UPDATE_CONNECTION = Operation[Connection](
    "PATCH", "/api/v1/organizations/{orgId}/connections/{connectionId}"
)
UPDATE_MEMBER = Operation[Membership]("PATCH", "/api/v1/organizations/{orgId}/members/{agentId}")
UPDATE_ORGANIZATION = Operation[Organization]("PATCH", "/api/v1/organizations/{orgId}")
UPDATE_PERSON = Operation[Person]("PATCH", "/api/v1/organizations/{orgId}/people/{personId}")


class OrganizationsApi(Calls):
    def add_member(self, org_id: str, body: NewMember) -> Membership:
        """Make an agent a member of an organization.

        Needs a token, and the policies must permit `organizations:addMember`.
        """
        return self._call(ADD_MEMBER(org_id, body=body))

    def create_connection(
        self,
        org_id: str,
        body: NewConnection,
        *,
        idempotency_key: str | None = None,
    ) -> Connection:
        """Let the people of an OpenID provider sign in to the organization.

        Register `BASE_URL/console/api/oidc/callback` as the redirect URI at the provider. A person
        who signs in, meets the conditions and was not invited becomes a `member`. The provider is
        first contacted by a sign-in. Needs a token, and the policies must permit
        `organizations:managePeople`.
        """
        return self._call(CREATE_CONNECTION(org_id, body=body, idempotency_key=idempotency_key))

    def create_organization(
        self,
        body: NewOrganization,
        *,
        idempotency_key: str | None = None,
    ) -> Organization:
        """Create an organization.

        Needs a token, and the policies must permit `organizations:create`.
        """
        return self._call(CREATE_ORGANIZATION(body=body, idempotency_key=idempotency_key))

    def delete_connection(self, org_id: str, connection_id: str) -> None:
        """Delete a connection; the sessions that began through it end at once.

        Invitations by e-mail that wait for a sign-in through it are deleted too. People stay. Needs
        a token, and the policies must permit `organizations:managePeople`. The call does not count
        against the plan's calls a day.
        """
        self._call(DELETE_CONNECTION(org_id, connection_id))

    def delete_organization(self, org_id: str) -> None:
        """Delete an organization; its slug stays taken and its history is kept.

        Needs a token, and the policies must permit `organizations:delete`.
        """
        self._call(DELETE_ORGANIZATION(org_id))

    def get_client_policy(self, org_id: str) -> ClientPolicy:
        """Read which OAuth clients with a metadata document the organization admits.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return self._call(GET_CLIENT_POLICY(org_id))

    def get_connection(self, org_id: str, connection_id: str) -> Connection:
        """Read a connection.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return self._call(GET_CONNECTION(org_id, connection_id))

    def get_organization(self, org_id: str) -> Organization:
        """Read one organization.

        Needs a token, and the policies must permit `organizations:read`.
        """
        return self._call(GET_ORGANIZATION(org_id))

    def invite_person(self, org_id: str, body: NewPerson) -> Person:
        """Invite a person to sign in to the console through an OpenID provider.

        The provider identifies the person by `issuer` and `subject`. An invitation with `email` and
        `connectionId` instead waits until a person with that address, verified by the provider,
        signs in through that connection; from then on issuer and subject identify the person. The
        person acts through the agent: as `admin` with its scopes and the role admin, as `viewer`
        with its `:read` scopes only; a `member` through none. The caller must be able to give that
        agent a credential. Needs a token, and the policies must permit
        `organizations:managePeople`.
        """
        return self._call(INVITE_PERSON(org_id, body=body))

    def list_connections(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> ConnectionPage:
        """List the OpenID providers whose people may sign in to the organization, newest first.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        query = {"page": page, "limit": limit}
        return self._call(LIST_CONNECTIONS(org_id, query=query))

    def iterate_connections(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Connection]:
        """All items of `list_connections`, page after page."""
        query = {"page": page, "limit": limit}
        return self._iterate(LIST_CONNECTIONS(org_id, query=query))

    def list_members(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        role: Literal["member", "admin"] | None = None,
    ) -> MembershipPage:
        """List an organization's members, newest first.

        Needs a token, and the policies must permit `organizations:addMember`.
        """
        query = {"page": page, "limit": limit, "role": role}
        return self._call(LIST_MEMBERS(org_id, query=query))

    def iterate_members(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        role: Literal["member", "admin"] | None = None,
    ) -> Iterator[Membership]:
        """All items of `list_members`, page after page."""
        query = {"page": page, "limit": limit, "role": role}
        return self._iterate(LIST_MEMBERS(org_id, query=query))

    def list_organizations(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        status: Literal["active", "suspended", "deleted"] | None = None,
        slug: str | None = None,
    ) -> OrganizationPage:
        """List organizations, newest first.

        Needs a token, and the policies must permit `organizations:list`.
        """
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "status": status,
            "slug": slug,
        }
        return self._call(LIST_ORGANIZATIONS(query=query))

    def iterate_organizations(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        status: Literal["active", "suspended", "deleted"] | None = None,
        slug: str | None = None,
    ) -> Iterator[Organization]:
        """All items of `list_organizations`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "status": status,
            "slug": slug,
        }
        return self._iterate(LIST_ORGANIZATIONS(query=query))

    def list_people(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        role: Literal["admin", "viewer", "member"] | None = None,
        q: str | None = None,
    ) -> PersonPage:
        """List the people who may sign in to the console, newest first.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        query = {"page": page, "limit": limit, "role": role, "q": q}
        return self._call(LIST_PEOPLE(org_id, query=query))

    def iterate_people(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        role: Literal["admin", "viewer", "member"] | None = None,
        q: str | None = None,
    ) -> Iterator[Person]:
        """All items of `list_people`, page after page."""
        query = {"page": page, "limit": limit, "role": role, "q": q}
        return self._iterate(LIST_PEOPLE(org_id, query=query))

    def put_client_policy(self, org_id: str, body: ClientPolicyChange) -> ClientPolicy:
        """Choose which OAuth clients with a metadata document the organization admits.

        Such a client becomes an agent of the organization when a person first lets it act for them.
        The policy counts at each consent and at each identity assertion; it does not end what
        people have consented to. To end a client, suspend its agent. Needs a token, and the
        policies must permit `organizations:managePeople`.
        """
        return self._call(PUT_CLIENT_POLICY(org_id, body=body))

    def remove_member(self, org_id: str, agent_id: str) -> None:
        """Remove a member; the agent itself stays as it is, without a role.

        Needs a token, and the policies must permit `organizations:addMember`. The call does not
        count against the plan's calls a day.
        """
        self._call(REMOVE_MEMBER(org_id, agent_id))

    def remove_person(self, org_id: str, person_id: str) -> None:
        """Remove a person; the person's sessions end at once.

        Needs a token, and the policies must permit `organizations:managePeople`. The call does not
        count against the plan's calls a day.
        """
        self._call(REMOVE_PERSON(org_id, person_id))

    def update_connection(
        self,
        org_id: str,
        connection_id: str,
        body: ConnectionChange | None = None,
    ) -> Connection:
        """Change a connection; disabling it ends the sessions that began through it.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return self._call(UPDATE_CONNECTION(org_id, connection_id, body=body))

    def update_member(self, org_id: str, agent_id: str, body: MemberChange) -> Membership:
        """Change the role of a member; it takes effect on the next request.

        Needs a token, and the policies must permit `organizations:addMember`.
        """
        return self._call(UPDATE_MEMBER(org_id, agent_id, body=body))

    def update_organization(
        self,
        org_id: str,
        body: OrganizationChange | None = None,
    ) -> Organization:
        """Change an organization: its name, plan, limits, or status.

        Needs a token, and the policies must permit `organizations:rename`.
        """
        return self._call(UPDATE_ORGANIZATION(org_id, body=body))

    def update_person(
        self,
        org_id: str,
        person_id: str,
        body: PersonChange | None = None,
    ) -> Person:
        """Change a person's name, role, agent or status; a new role or agent ends the person's
        sessions.

        A new role or agent needs the right to give that agent a credential. With the role `member`
        the agent is null. Suspending ends the sessions at once, and for good all that the person
        has let agents do. Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return self._call(UPDATE_PERSON(org_id, person_id, body=body))


class AsyncOrganizationsApi(AsyncCalls):
    async def add_member(self, org_id: str, body: NewMember) -> Membership:
        """Make an agent a member of an organization.

        Needs a token, and the policies must permit `organizations:addMember`.
        """
        return await self._call(ADD_MEMBER(org_id, body=body))

    async def create_connection(
        self,
        org_id: str,
        body: NewConnection,
        *,
        idempotency_key: str | None = None,
    ) -> Connection:
        """Let the people of an OpenID provider sign in to the organization.

        Register `BASE_URL/console/api/oidc/callback` as the redirect URI at the provider. A person
        who signs in, meets the conditions and was not invited becomes a `member`. The provider is
        first contacted by a sign-in. Needs a token, and the policies must permit
        `organizations:managePeople`.
        """
        return await self._call(
            CREATE_CONNECTION(org_id, body=body, idempotency_key=idempotency_key)
        )

    async def create_organization(
        self,
        body: NewOrganization,
        *,
        idempotency_key: str | None = None,
    ) -> Organization:
        """Create an organization.

        Needs a token, and the policies must permit `organizations:create`.
        """
        return await self._call(CREATE_ORGANIZATION(body=body, idempotency_key=idempotency_key))

    async def delete_connection(self, org_id: str, connection_id: str) -> None:
        """Delete a connection; the sessions that began through it end at once.

        Invitations by e-mail that wait for a sign-in through it are deleted too. People stay. Needs
        a token, and the policies must permit `organizations:managePeople`. The call does not count
        against the plan's calls a day.
        """
        await self._call(DELETE_CONNECTION(org_id, connection_id))

    async def delete_organization(self, org_id: str) -> None:
        """Delete an organization; its slug stays taken and its history is kept.

        Needs a token, and the policies must permit `organizations:delete`.
        """
        await self._call(DELETE_ORGANIZATION(org_id))

    async def get_client_policy(self, org_id: str) -> ClientPolicy:
        """Read which OAuth clients with a metadata document the organization admits.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return await self._call(GET_CLIENT_POLICY(org_id))

    async def get_connection(self, org_id: str, connection_id: str) -> Connection:
        """Read a connection.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return await self._call(GET_CONNECTION(org_id, connection_id))

    async def get_organization(self, org_id: str) -> Organization:
        """Read one organization.

        Needs a token, and the policies must permit `organizations:read`.
        """
        return await self._call(GET_ORGANIZATION(org_id))

    async def invite_person(self, org_id: str, body: NewPerson) -> Person:
        """Invite a person to sign in to the console through an OpenID provider.

        The provider identifies the person by `issuer` and `subject`. An invitation with `email` and
        `connectionId` instead waits until a person with that address, verified by the provider,
        signs in through that connection; from then on issuer and subject identify the person. The
        person acts through the agent: as `admin` with its scopes and the role admin, as `viewer`
        with its `:read` scopes only; a `member` through none. The caller must be able to give that
        agent a credential. Needs a token, and the policies must permit
        `organizations:managePeople`.
        """
        return await self._call(INVITE_PERSON(org_id, body=body))

    async def list_connections(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> ConnectionPage:
        """List the OpenID providers whose people may sign in to the organization, newest first.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        query = {"page": page, "limit": limit}
        return await self._call(LIST_CONNECTIONS(org_id, query=query))

    def iterate_connections(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Connection]:
        """All items of `list_connections`, page after page."""
        query = {"page": page, "limit": limit}
        return self._iterate(LIST_CONNECTIONS(org_id, query=query))

    async def list_members(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        role: Literal["member", "admin"] | None = None,
    ) -> MembershipPage:
        """List an organization's members, newest first.

        Needs a token, and the policies must permit `organizations:addMember`.
        """
        query = {"page": page, "limit": limit, "role": role}
        return await self._call(LIST_MEMBERS(org_id, query=query))

    def iterate_members(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        role: Literal["member", "admin"] | None = None,
    ) -> AsyncIterator[Membership]:
        """All items of `list_members`, page after page."""
        query = {"page": page, "limit": limit, "role": role}
        return self._iterate(LIST_MEMBERS(org_id, query=query))

    async def list_organizations(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        status: Literal["active", "suspended", "deleted"] | None = None,
        slug: str | None = None,
    ) -> OrganizationPage:
        """List organizations, newest first.

        Needs a token, and the policies must permit `organizations:list`.
        """
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "status": status,
            "slug": slug,
        }
        return await self._call(LIST_ORGANIZATIONS(query=query))

    def iterate_organizations(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        status: Literal["active", "suspended", "deleted"] | None = None,
        slug: str | None = None,
    ) -> AsyncIterator[Organization]:
        """All items of `list_organizations`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "status": status,
            "slug": slug,
        }
        return self._iterate(LIST_ORGANIZATIONS(query=query))

    async def list_people(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        role: Literal["admin", "viewer", "member"] | None = None,
        q: str | None = None,
    ) -> PersonPage:
        """List the people who may sign in to the console, newest first.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        query = {"page": page, "limit": limit, "role": role, "q": q}
        return await self._call(LIST_PEOPLE(org_id, query=query))

    def iterate_people(
        self,
        org_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        role: Literal["admin", "viewer", "member"] | None = None,
        q: str | None = None,
    ) -> AsyncIterator[Person]:
        """All items of `list_people`, page after page."""
        query = {"page": page, "limit": limit, "role": role, "q": q}
        return self._iterate(LIST_PEOPLE(org_id, query=query))

    async def put_client_policy(self, org_id: str, body: ClientPolicyChange) -> ClientPolicy:
        """Choose which OAuth clients with a metadata document the organization admits.

        Such a client becomes an agent of the organization when a person first lets it act for them.
        The policy counts at each consent and at each identity assertion; it does not end what
        people have consented to. To end a client, suspend its agent. Needs a token, and the
        policies must permit `organizations:managePeople`.
        """
        return await self._call(PUT_CLIENT_POLICY(org_id, body=body))

    async def remove_member(self, org_id: str, agent_id: str) -> None:
        """Remove a member; the agent itself stays as it is, without a role.

        Needs a token, and the policies must permit `organizations:addMember`. The call does not
        count against the plan's calls a day.
        """
        await self._call(REMOVE_MEMBER(org_id, agent_id))

    async def remove_person(self, org_id: str, person_id: str) -> None:
        """Remove a person; the person's sessions end at once.

        Needs a token, and the policies must permit `organizations:managePeople`. The call does not
        count against the plan's calls a day.
        """
        await self._call(REMOVE_PERSON(org_id, person_id))

    async def update_connection(
        self,
        org_id: str,
        connection_id: str,
        body: ConnectionChange | None = None,
    ) -> Connection:
        """Change a connection; disabling it ends the sessions that began through it.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return await self._call(UPDATE_CONNECTION(org_id, connection_id, body=body))

    async def update_member(self, org_id: str, agent_id: str, body: MemberChange) -> Membership:
        """Change the role of a member; it takes effect on the next request.

        Needs a token, and the policies must permit `organizations:addMember`.
        """
        return await self._call(UPDATE_MEMBER(org_id, agent_id, body=body))

    async def update_organization(
        self,
        org_id: str,
        body: OrganizationChange | None = None,
    ) -> Organization:
        """Change an organization: its name, plan, limits, or status.

        Needs a token, and the policies must permit `organizations:rename`.
        """
        return await self._call(UPDATE_ORGANIZATION(org_id, body=body))

    async def update_person(
        self,
        org_id: str,
        person_id: str,
        body: PersonChange | None = None,
    ) -> Person:
        """Change a person's name, role, agent or status; a new role or agent ends the person's
        sessions.

        A new role or agent needs the right to give that agent a credential. With the role `member`
        the agent is null. Suspending ends the sessions at once, and for good all that the person
        has let agents do. Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return await self._call(UPDATE_PERSON(org_id, person_id, body=body))
