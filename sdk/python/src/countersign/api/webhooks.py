"""The operations of "Webhooks".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    NewWebhookSubscription,
    WebhookDelivery,
    WebhookDeliveryCounts,
    WebhookDeliveryPage,
    WebhookReplay,
    WebhookReplayRequest,
    WebhookSecretRotation,
    WebhookSubscription,
    WebhookSubscriptionChange,
    WebhookSubscriptionWithSecret,
)

COUNT_WEBHOOK_DELIVERIES = Operation[WebhookDeliveryCounts](
    "GET", "/api/v1/webhooks/{id}/deliveries/counts"
)
CREATE_WEBHOOK = Operation[WebhookSubscriptionWithSecret]("POST", "/api/v1/webhooks")
DELETE_WEBHOOK = Operation[None]("DELETE", "/api/v1/webhooks/{id}")
GET_WEBHOOK = Operation[WebhookSubscription]("GET", "/api/v1/webhooks/{id}")
GET_WEBHOOK_DELIVERY = Operation[WebhookDelivery](
    "GET", "/api/v1/webhooks/{id}/deliveries/{deliveryId}"
)
LIST_WEBHOOK_DELIVERIES = Operation[WebhookDeliveryPage]("GET", "/api/v1/webhooks/{id}/deliveries")
LIST_WEBHOOKS = Operation[list[WebhookSubscription]]("GET", "/api/v1/webhooks")
REPLAY_WEBHOOK_DELIVERIES = Operation[WebhookReplay](
    "POST", "/api/v1/webhooks/{id}/deliveries/replay"
)
REPLAY_WEBHOOK_DELIVERY = Operation[WebhookDelivery](
    "POST", "/api/v1/webhooks/{id}/deliveries/{deliveryId}/replay"
)
ROTATE_WEBHOOK_SECRET = Operation[WebhookSubscriptionWithSecret](
    "POST", "/api/v1/webhooks/{id}/rotate-secret"
)
TEST_WEBHOOK = Operation[WebhookDelivery]("POST", "/api/v1/webhooks/{id}/test")
UPDATE_WEBHOOK = Operation[WebhookSubscription]("PATCH", "/api/v1/webhooks/{id}")


class WebhooksApi(Calls):
    def count_webhook_deliveries(
        self,
        id: str,
        *,
        since: str | None = None,
        until: str | None = None,
    ) -> WebhookDeliveryCounts:
        """Count the deliveries of a subscription by status.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        query = {"since": since, "until": until}
        return self._call(COUNT_WEBHOOK_DELIVERIES(id, query=query))

    def create_webhook(
        self,
        body: NewWebhookSubscription,
        *,
        idempotency_key: str | None = None,
    ) -> WebhookSubscriptionWithSecret:
        """Subscribe to events; the signing secret is shown this once.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return self._call(CREATE_WEBHOOK(body=body, idempotency_key=idempotency_key))

    def delete_webhook(self, id: str) -> None:
        """End a subscription, with its deliveries.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        self._call(DELETE_WEBHOOK(id))

    def get_webhook(self, id: str) -> WebhookSubscription:
        """Read one subscription.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        return self._call(GET_WEBHOOK(id))

    def get_webhook_delivery(self, id: str, delivery_id: str) -> WebhookDelivery:
        """Read one delivery with its attempts.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        return self._call(GET_WEBHOOK_DELIVERY(id, delivery_id))

    def list_webhook_deliveries(
        self,
        id: str,
        *,
        since: str | None = None,
        until: str | None = None,
        status: Literal["pending", "delivered", "failed", "dead_letter", None] = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> WebhookDeliveryPage:
        """List the deliveries of a subscription, newest first, each with its attempts.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        query = {"since": since, "until": until, "status": status, "limit": limit, "offset": offset}
        return self._call(LIST_WEBHOOK_DELIVERIES(id, query=query))

    def iterate_webhook_deliveries(
        self,
        id: str,
        *,
        since: str | None = None,
        until: str | None = None,
        status: Literal["pending", "delivered", "failed", "dead_letter", None] = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Iterator[WebhookDelivery]:
        """All items of `list_webhook_deliveries`, page after page."""
        query = {"since": since, "until": until, "status": status, "limit": limit, "offset": offset}
        return self._iterate(LIST_WEBHOOK_DELIVERIES(id, query=query))

    def list_webhooks(self) -> list[WebhookSubscription]:
        """List the subscriptions of the caller's organization, oldest first.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        return self._call(LIST_WEBHOOKS())

    def replay_webhook_deliveries(self, id: str, body: WebhookReplayRequest) -> WebhookReplay:
        """Send many deliveries again, each under its id, in the background; the answer has their
        count.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return self._call(REPLAY_WEBHOOK_DELIVERIES(id, body=body))

    def replay_webhook_delivery(self, id: str, delivery_id: str) -> WebhookDelivery:
        """Send a delivery again under its id, in any status; the retry schedule restarts.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return self._call(REPLAY_WEBHOOK_DELIVERY(id, delivery_id))

    def rotate_webhook_secret(
        self,
        id: str,
        body: WebhookSecretRotation | None = None,
    ) -> WebhookSubscriptionWithSecret:
        """Replace the signing secret; the new one is shown this once.

        The replaced secret signs too, until the time in `previous_secret_expires_at`. Needs a token
        with the scope `webhooks:write`, and the policies must permit `webhooks:write`.
        """
        return self._call(ROTATE_WEBHOOK_SECRET(id, body=body))

    def test_webhook(self, id: str) -> WebhookDelivery:
        """Send a test delivery (type webhook.test), also while the subscription is inactive.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return self._call(TEST_WEBHOOK(id))

    def update_webhook(
        self,
        id: str,
        body: WebhookSubscriptionChange | None = None,
    ) -> WebhookSubscription:
        """Change a subscription; an inactive one gets no new deliveries, and its pending ones
        wait.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return self._call(UPDATE_WEBHOOK(id, body=body))


class AsyncWebhooksApi(AsyncCalls):
    async def count_webhook_deliveries(
        self,
        id: str,
        *,
        since: str | None = None,
        until: str | None = None,
    ) -> WebhookDeliveryCounts:
        """Count the deliveries of a subscription by status.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        query = {"since": since, "until": until}
        return await self._call(COUNT_WEBHOOK_DELIVERIES(id, query=query))

    async def create_webhook(
        self,
        body: NewWebhookSubscription,
        *,
        idempotency_key: str | None = None,
    ) -> WebhookSubscriptionWithSecret:
        """Subscribe to events; the signing secret is shown this once.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return await self._call(CREATE_WEBHOOK(body=body, idempotency_key=idempotency_key))

    async def delete_webhook(self, id: str) -> None:
        """End a subscription, with its deliveries.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        await self._call(DELETE_WEBHOOK(id))

    async def get_webhook(self, id: str) -> WebhookSubscription:
        """Read one subscription.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        return await self._call(GET_WEBHOOK(id))

    async def get_webhook_delivery(self, id: str, delivery_id: str) -> WebhookDelivery:
        """Read one delivery with its attempts.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        return await self._call(GET_WEBHOOK_DELIVERY(id, delivery_id))

    async def list_webhook_deliveries(
        self,
        id: str,
        *,
        since: str | None = None,
        until: str | None = None,
        status: Literal["pending", "delivered", "failed", "dead_letter", None] = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> WebhookDeliveryPage:
        """List the deliveries of a subscription, newest first, each with its attempts.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        query = {"since": since, "until": until, "status": status, "limit": limit, "offset": offset}
        return await self._call(LIST_WEBHOOK_DELIVERIES(id, query=query))

    def iterate_webhook_deliveries(
        self,
        id: str,
        *,
        since: str | None = None,
        until: str | None = None,
        status: Literal["pending", "delivered", "failed", "dead_letter", None] = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> AsyncIterator[WebhookDelivery]:
        """All items of `list_webhook_deliveries`, page after page."""
        query = {"since": since, "until": until, "status": status, "limit": limit, "offset": offset}
        return self._iterate(LIST_WEBHOOK_DELIVERIES(id, query=query))

    async def list_webhooks(self) -> list[WebhookSubscription]:
        """List the subscriptions of the caller's organization, oldest first.

        Needs a token with the scope `webhooks:read`, and the policies must permit `webhooks:read`.
        """
        return await self._call(LIST_WEBHOOKS())

    async def replay_webhook_deliveries(self, id: str, body: WebhookReplayRequest) -> WebhookReplay:
        """Send many deliveries again, each under its id, in the background; the answer has their
        count.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return await self._call(REPLAY_WEBHOOK_DELIVERIES(id, body=body))

    async def replay_webhook_delivery(self, id: str, delivery_id: str) -> WebhookDelivery:
        """Send a delivery again under its id, in any status; the retry schedule restarts.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return await self._call(REPLAY_WEBHOOK_DELIVERY(id, delivery_id))

    async def rotate_webhook_secret(
        self,
        id: str,
        body: WebhookSecretRotation | None = None,
    ) -> WebhookSubscriptionWithSecret:
        """Replace the signing secret; the new one is shown this once.

        The replaced secret signs too, until the time in `previous_secret_expires_at`. Needs a token
        with the scope `webhooks:write`, and the policies must permit `webhooks:write`.
        """
        return await self._call(ROTATE_WEBHOOK_SECRET(id, body=body))

    async def test_webhook(self, id: str) -> WebhookDelivery:
        """Send a test delivery (type webhook.test), also while the subscription is inactive.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return await self._call(TEST_WEBHOOK(id))

    async def update_webhook(
        self,
        id: str,
        body: WebhookSubscriptionChange | None = None,
    ) -> WebhookSubscription:
        """Change a subscription; an inactive one gets no new deliveries, and its pending ones
        wait.

        Needs a token with the scope `webhooks:write`, and the policies must permit
        `webhooks:write`.
        """
        return await self._call(UPDATE_WEBHOOK(id, body=body))
