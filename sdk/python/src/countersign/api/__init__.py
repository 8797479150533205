"""The operations of the API.

Generated from the API description by `npm run openapi`; do not edit.
"""

from countersign.api.agents import AgentsApi, AsyncAgentsApi
from countersign.api.analytics import AnalyticsApi, AsyncAnalyticsApi
from countersign.api.apis import ApisApi, AsyncApisApi
from countersign.api.approvals import ApprovalsApi, AsyncApprovalsApi
from countersign.api.audit import AsyncAuditApi, AuditApi
from countersign.api.billing import AsyncBillingApi, BillingApi
from countersign.api.compliance import AsyncComplianceApi, ComplianceApi
from countersign.api.console import AsyncConsoleApi, ConsoleApi
from countersign.api.credentials import AsyncCredentialsApi, CredentialsApi
from countersign.api.delegation import AsyncDelegationApi, DelegationApi
from countersign.api.discovery import AsyncDiscoveryApi, DiscoveryApi
from countersign.api.federation import AsyncFederationApi, FederationApi
from countersign.api.identity_documents import AsyncIdentityDocumentsApi, IdentityDocumentsApi
from countersign.api.marketplace import AsyncMarketplaceApi, MarketplaceApi
from countersign.api.operational import AsyncOperationalApi, OperationalApi
from countersign.api.organizations import AsyncOrganizationsApi, OrganizationsApi
from countersign.api.overview import AsyncOverviewApi, OverviewApi
from countersign.api.plans import AsyncPlansApi, PlansApi
from countersign.api.sdk_scaffold import AsyncSdkScaffoldApi, SdkScaffoldApi
from countersign.api.signals import AsyncSignalsApi, SignalsApi
from countersign.api.tokens import AsyncTokensApi, TokensApi
from countersign.api.usage import AsyncUsageApi, UsageApi
from countersign.api.webhooks import AsyncWebhooksApi, WebhooksApi
from countersign.api.workload_identity import AsyncWorkloadIdentityApi, WorkloadIdentityApi


class Api(
    AgentsApi,
    AnalyticsApi,
    ApisApi,
    ApprovalsApi,
    AuditApi,
    BillingApi,
    ComplianceApi,
    ConsoleApi,
    CredentialsApi,
    DelegationApi,
    DiscoveryApi,
    FederationApi,
    IdentityDocumentsApi,
    MarketplaceApi,
    OperationalApi,
    OrganizationsApi,
    OverviewApi,
    PlansApi,
    SdkScaffoldApi,
    SignalsApi,
    TokensApi,
    UsageApi,
    WebhooksApi,
    WorkloadIdentityApi,
):
    """A method for each operation: `client.api.get_agent(agent_id)`."""


class AsyncApi(
    AsyncAgentsApi,
    AsyncAnalyticsApi,
    AsyncApisApi,
    AsyncApprovalsApi,
    AsyncAuditApi,
    AsyncBillingApi,
    AsyncComplianceApi,
    AsyncConsoleApi,
    AsyncCredentialsApi,
    AsyncDelegationApi,
    AsyncDiscoveryApi,
    AsyncFederationApi,
    AsyncIdentityDocumentsApi,
    AsyncMarketplaceApi,
    AsyncOperationalApi,
    AsyncOrganizationsApi,
    AsyncOverviewApi,
    AsyncPlansApi,
    AsyncSdkScaffoldApi,
    AsyncSignalsApi,
    AsyncTokensApi,
    AsyncUsageApi,
    AsyncWebhooksApi,
    AsyncWorkloadIdentityApi,
):
    """The same for asyncio."""
