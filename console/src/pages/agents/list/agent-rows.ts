/** The words of a row of the list, and the file of the selected rows. */
import type { ListedAgent } from '../../../api/generated.ts';
import { counted } from '../../../components/counted.ts';
import { escapedText } from '../../../components/visible-text.ts';
import { labelTexts } from '../form/labels.ts';

const day = 86_400_000;
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** A day (UTC) as "today", "yesterday", "12 days ago" or "3 months ago". */
export function dayText(date: string, now: number): string {
  const days = Math.round((Date.parse(date) - Math.floor(now / day) * day) / day);
  if (days > -60) return words.format(days, 'day');
  return words.format(Math.ceil(days / 30.44), 'month');
}

/** For the tokens of an agent: "2 APIs" and "Countersign API: 5 scopes". */
export function accessLines({
  grantedApis = 0,
  allowedScopes,
}: Pick<ListedAgent, 'grantedApis' | 'allowedScopes'>): string[] {
  const parts = [
    grantedApis > 0 && counted(grantedApis, 'APIs'),
    allowedScopes.length > 0 && `Countersign API: ${counted(allowedScopes.length, 'scopes')}`,
  ].filter((part) => part !== false);
  return parts.length > 0 ? parts : ['nothing'];
}

/** In quotation marks unless it is plain: a value may have blanks and look like a second label. */
const quotedLabel = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : JSON.stringify(text));

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
  labels: ({ labels }) => labelTexts(labels).map(quotedLabel).join(' '),
  allowedScopes: ({ allowedScopes }) => allowedScopes.join(' '),
  grantedApis: ({ grantedApis }) => String(grantedApis ?? ''),
  lastTokenDate: ({ lastTokenDate }) => lastTokenDate ?? '',
  secretExpiresAt: ({ secretExpiresAt }) => secretExpiresAt ?? '',
  createdAt: ({ createdAt }) => createdAt,
};

/**
 * RFC 4180. A spreadsheet would run a cell that begins with one of these signs, also in full width, as a formula: it gets an apostrophe.
 * Some spreadsheets begin a cell after a semicolon, a tab or a new line.
 */
const formula = /(^|[;\t\r\n])(\s*)(?=[=+\-@＝＋－＠])/g;
const cellOf = (text: string): string =>
  `"${escapedText(text)
    .replace(formula, "$1$2'")
    .replace(/^[\t\r]/, "'$&")
    .replaceAll('"', '""')}"`;

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
