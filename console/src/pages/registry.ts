/** The pages, each with the component that loads when it is opened. Only this file knows both: a component imports its own page. */
import type { ComponentType } from 'react';
import type { Page } from '../app/page.ts';
import { agentPage, agentsPage } from './agents/page.ts';
import { apiPage, apisPage } from './apis/page.ts';
import { approvalPage, approvalsPage } from './approvals/page.ts';
import { auditPage } from './audit/page.ts';
import { commandLinePage } from './command-line/page.ts';
import { compliancePage } from './compliance/page.ts';
import { delegationsPage } from './delegations/page.ts';
import { marketplacePage } from './marketplace/page.ts';
import { myAgentsPage } from './my-agents/page.ts';
import { connectionTestPage, organizationPage, organizationsPage } from './organization/page.ts';
import { overviewPage } from './overview/page.ts';
import { settingsPage } from './settings/page.ts';
import { signalsPage } from './signals/page.ts';
import { trustPage } from './trust/page.ts';
import { usagePage } from './usage/page.ts';
import { webhookPage, webhooksPage } from './webhooks/page.ts';

export interface LoadablePage extends Page {
  readonly load: () => Promise<ComponentType>;
}

/** The consent page has no frame and no session of the console around it. */
export const loadAuthorizePage = async () => (await import('./authorize/AuthorizePage.tsx')).AuthorizePage;

export const pages: readonly LoadablePage[] = [
  { ...agentsPage, load: async () => (await import('./agents/list/AgentsPage.tsx')).AgentsPage },
  { ...agentPage, load: async () => (await import('./agents/agent/AgentPage.tsx')).AgentPage },
  { ...apisPage, load: async () => (await import('./apis/ApisPage.tsx')).ApisPage },
  { ...apiPage, load: async () => (await import('./apis/ApiPage.tsx')).ApiPage },
  { ...approvalsPage, load: async () => (await import('./approvals/ApprovalsPage.tsx')).ApprovalsPage },
  { ...approvalPage, load: async () => (await import('./approvals/ApprovalPage.tsx')).ApprovalPage },
  { ...auditPage, load: async () => (await import('./audit/AuditPage.tsx')).AuditPage },
  {
    ...commandLinePage,
    load: async () => (await import('./command-line/CommandLinePage.tsx')).CommandLinePage,
  },
  { ...compliancePage, load: async () => (await import('./compliance/CompliancePage.tsx')).CompliancePage },
  {
    ...delegationsPage,
    load: async () => (await import('./delegations/DelegationsPage.tsx')).DelegationsPage,
  },
  {
    ...marketplacePage,
    load: async () => (await import('./marketplace/MarketplacePage.tsx')).MarketplacePage,
  },
  { ...myAgentsPage, load: async () => (await import('./my-agents/MyAgentsPage.tsx')).MyAgentsPage },
  {
    ...connectionTestPage,
    load: async () => (await import('./organization/connections/ConnectionTestPage.tsx')).ConnectionTestPage,
  },
  {
    ...organizationPage,
    load: async () => (await import('./organization/OrganizationPage.tsx')).OrganizationPage,
  },
  {
    ...organizationsPage,
    load: async () => (await import('./organization/instance/OrganizationsPage.tsx')).OrganizationsPage,
  },
  { ...overviewPage, load: async () => (await import('./overview/OverviewPage.tsx')).OverviewPage },
  { ...settingsPage, load: async () => (await import('./settings/SettingsPage.tsx')).SettingsPage },
  { ...signalsPage, load: async () => (await import('./signals/SignalsPage.tsx')).SignalsPage },
  { ...trustPage, load: async () => (await import('./trust/TrustPage.tsx')).TrustPage },
  { ...usagePage, load: async () => (await import('./usage/UsagePage.tsx')).UsagePage },
  { ...webhooksPage, load: async () => (await import('./webhooks/WebhooksPage.tsx')).WebhooksPage },
  { ...webhookPage, load: async () => (await import('./webhooks/WebhookPage.tsx')).WebhookPage },
];
