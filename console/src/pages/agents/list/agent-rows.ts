/** The words of a row of the list, and the file of the selected rows. */
import type { ListedAgent } from '../../../api/generated.ts';
import { labelTexts } from '../form/labels.ts';

/** What people call the agent. The e-mail address identifies it. */
export const nameOf = ({ displayName, email }: Pick<ListedAgent, 'displayName' | 'email'>): string =>
  displayName ?? email;

const day = 86_400_000;
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** A day (UTC) as "today", "yesterday", "12 days ago" or "3 months ago". */
export function dayText(date: string, now: number): string {
  const days = Math.round((Date.parse(date) - Math.floor(now / day) * day) / day);
  if (days > -60) return words.format(days, 'day');
  return words.format(Math.ceil(days / 30.44), 'month');
}

/** "2 APIs" and "5 scopes here": what the tokens of an agent can be for. */
export function accessLines({
  grantedApis = 0,
  allowedScopes,
}: Pick<ListedAgent, 'grantedApis' | 'allowedScopes'>): string[] {
  const parts = [
    grantedApis > 0 && `${grantedApis} ${grantedApis === 1 ? 'API' : 'APIs'}`,
    allowedScopes.length > 0 &&
      `${allowedScopes.length} ${allowedScopes.length === 1 ? 'scope' : 'scopes'} here`,
  ].filter((part) => part !== false);
  return parts.length > 0 ? parts : ['nothing'];
}

const columns: Readonly<Record<string, (agent: ListedAgent) => string>> = {
  agentId: ({ agentId }) => agentId,
  email: ({ email }) => email,
  displayName: ({ displayName }) => displayName ?? '',
  organizationId: ({ organizationId }) => organizationId,
  status: ({ status }) => status,
  agentType: ({ agentType }) => agentType,
  deploymentEnv: ({ deploymentEnv }) => deploymentEnv,
  version: ({ version }) => version,
  owner: ({ owner }) => owner,
  labels: ({ labels }) => labelTexts(labels).join(' '),
  allowedScopes: ({ allowedScopes }) => allowedScopes.join(' '),
  grantedApis: ({ grantedApis }) => String(grantedApis ?? ''),
  lastTokenDate: ({ lastTokenDate }) => lastTokenDate ?? '',
  secretExpiresAt: ({ secretExpiresAt }) => secretExpiresAt ?? '',
  createdAt: ({ createdAt }) => createdAt,
};

/** RFC 4180. A spreadsheet would run a cell that begins with one of these signs as a formula: it gets an apostrophe. */
const cellOf = (text: string): string => `"${text.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;

export const agentsCsv = (agents: readonly ListedAgent[]): string =>
  [
    Object.keys(columns).join(','),
    ...agents.map((agent) =>
      Object.values(columns)
        .map((read) => cellOf(read(agent)))
        .join(','),
    ),
    '',
  ].join('\r\n');
