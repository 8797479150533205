"""The operations of "Billing".

Generated from the API description by `npm run openapi`; do not edit.
"""

from typing import Any

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    BillingEventReceipt,
    Checkout,
    NewCheckout,
    NewPortal,
    Portal,
    Subscription,
)

CANCEL_SUBSCRIPTION = Operation[None]("DELETE", "/api/v1/billing/subscription")
GET_SUBSCRIPTION = Operation[Subscription]("GET", "/api/v1/billing/subscription")
OPEN_BILLING_PORTAL = Operation[Portal]("POST", "/api/v1/billing/portal")
RECEIVE_BILLING_EVENT = Operation[BillingEventReceipt](
    "POST", "/api/v1/billing/webhooks/stripe", needs_token=False
)
START_CHECKOUT = Operation[Checkout]("POST", "/api/v1/billing/checkout")


class BillingApi(Calls):
    def cancel_subscription(self, *, organization_id: str | None = None) -> None:
        """End the subscription at the end of the paid period; for admins of the organization.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        query = {"organization_id": organization_id}
        self._call(CANCEL_SUBSCRIPTION(query=query))

    def get_subscription(self, *, organization_id: str | None = None) -> Subscription:
        """The organization's plan and subscription.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        query = {"organization_id": organization_id}
        return self._call(GET_SUBSCRIPTION(query=query))

    def open_billing_portal(self, body: NewPortal | None = None) -> Portal:
        """Get the URL of a page for payment, invoices and the plan; for admins of the
        organization.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        return self._call(OPEN_BILLING_PORTAL(body=body))

    def receive_billing_event(self, body: Any) -> BillingEventReceipt:
        """Receives payment events from Stripe: signed, each processed once.

        Needs no token.
        """
        return self._call(RECEIVE_BILLING_EVENT(body=body))

    def start_checkout(self, body: NewCheckout) -> Checkout:
        """Start paying for a higher plan.

        The plan changes when the payment is confirmed. After the first order the policies must
        permit `billing:manage`. Needs a token of the agent itself, with any scope; a delegated
        token is refused. The call does not count against the plan's calls a day.
        """
        return self._call(START_CHECKOUT(body=body))


class AsyncBillingApi(AsyncCalls):
    async def cancel_subscription(self, *, organization_id: str | None = None) -> None:
        """End the subscription at the end of the paid period; for admins of the organization.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        query = {"organization_id": organization_id}
        await self._call(CANCEL_SUBSCRIPTION(query=query))

    async def get_subscription(self, *, organization_id: str | None = None) -> Subscription:
        """The organization's plan and subscription.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        query = {"organization_id": organization_id}
        return await self._call(GET_SUBSCRIPTION(query=query))

    async def open_billing_portal(self, body: NewPortal | None = None) -> Portal:
        """Get the URL of a page for payment, invoices and the plan; for admins of the
        organization.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        return await self._call(OPEN_BILLING_PORTAL(body=body))

    async def receive_billing_event(self, body: Any) -> BillingEventReceipt:
        """Receives payment events from Stripe: signed, each processed once.

        Needs no token.
        """
        return await self._call(RECEIVE_BILLING_EVENT(body=body))

    async def start_checkout(self, body: NewCheckout) -> Checkout:
        """Start paying for a higher plan.

        The plan changes when the payment is confirmed. After the first order the policies must
        permit `billing:manage`. Needs a token of the agent itself, with any scope; a delegated
        token is refused. The call does not count against the plan's calls a day.
        """
        return await self._call(START_CHECKOUT(body=body))
