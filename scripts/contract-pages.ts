/** Pages of docs/reference/ that are tables of src/contract/ and nothing else: metrics, limits, scopes. */
import {
  limits,
  limitTypes,
  type PlanLimits,
  pageSizes,
  plans,
  planTiers,
  unlimited,
} from '../src/contract/limits.ts';
import { metrics } from '../src/contract/metrics.ts';
import { operatorScope, organizationScopes } from '../src/contract/scopes.ts';

interface Metric {
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export function metricsPage(notice: string): string {
  const rows = Object.entries<Metric>(metrics).map(
    ([name, { type, labels, help }]) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ') || '–'} | ${help} |`,
  );
  return [
    notice,
    '# Metrics',
    '',
    '`GET /metrics` of a server and of a worker answers in the Prometheus text format. [Observe](../operations/observe.md) has the alerts and dashboards.',
    '',
    '| Metric | Type | Labels | Meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

export function limitsPage(notice: string): string {
  const figure = (value: number) => (value === unlimited ? 'unlimited' : value.toLocaleString('en-US'));
  const planRow = (title: string, name: keyof PlanLimits) =>
    `| ${title} | ${planTiers.map((tier) => figure(plans[tier][name])).join(' | ')} |`;
  const rows: [string, number | string][] = [
    ['requests per client and minute (`RATE_LIMIT_PER_MINUTE`)', limits.requestsPerMinute],
    [
      'requests per minute with a session of the console, per person or agent; `rateLimitPerMinute` of the agent where it is lower, `RATE_LIMIT_PER_MINUTE` where that is higher',
      limits.console.requestsPerMinute,
    ],
    ...[
      'requests below `/console` without a session (signing in with a secret or a code counts as a request of the API)',
      'files of the console',
      'requests below `/console` from pages of other sites, which are refused',
    ].map((title): [string, number] => [
      `${title}, per address and minute; \`RATE_LIMIT_PER_MINUTE\` where it is higher`,
      limits.console.requestsPerMinute,
    ]),
    ['requests per minute to `GET /audit/verify`', limits.auditVerifyPerMinute],
    [
      'projects per organization and minute (`GET /sdk/scaffold/{agentId}`)',
      limits.scaffoldsPerMinutePerTenant,
    ],
    ['recorded refusals of unauthenticated requests, per organization and minute', limits.refusalsPerMinute],
    ['lifetime of an access token, in seconds', limits.accessTokenSeconds],
    ['shortest delegation, in seconds', limits.delegation.minSeconds],
    ['default delegation, in seconds', limits.delegation.defaultSeconds],
    ['longest delegation, in seconds', limits.delegation.maxSeconds],
    ['links in a delegation chain', limits.delegation.maxDepth],
    ['days that audit events are kept', limits.auditRetentionDays],
    [
      'downloads of archived days per organization and minute (`GET /audit/archives/{date}`)',
      limits.auditArchiveDownloads.perMinute,
    ],
    [
      'downloads of archived days that run at once, per organization',
      limits.auditArchiveDownloads.perOrganization,
    ],
    [
      'hours that a day waits for a quorum of witnesses before it is archived without',
      limits.auditArchive.quorumHours,
    ],
    ['days that usage figures are kept', limits.usageRetentionDays],
    ['days in one analytics query', limits.analyticsDays.max],
    ['days in one usage query', limits.usageDays.max],
    ['open event streams (`GET /events`) per agent, in each process', limits.eventStreams.perAgent],
    ['open event streams per organization, in each process', limits.eventStreams.perOrganization],
    ['open event streams in each process', limits.eventStreams.perProcess],
    [
      'open streams of approvals per session of the console, in each process',
      limits.personalStreams.perSession,
    ],
    ['open streams of approvals per organization, in each process', limits.personalStreams.perOrganization],
    ['open streams of approvals in each process', limits.personalStreams.perProcess],
    ['streams of signals per agent', limits.signals.maxStreams.perAgent],
    ['streams of signals per organization', limits.signals.maxStreams.perOrganization],
    ['open polls of signals in each process', limits.signals.openPolls.max],
    ['seconds that a signal waits for its receiver', limits.signals.undeliveredSeconds],
    ['open requests for approval per agent', limits.approval.openPerAgent],
    ['open requests for approval per organization', limits.approval.openPerOrganization],
    ['requests that may wait on one connection', limits.pipelinedRequests],
    ['APIs per organization', limits.resource.maxPerOrganization],
    ['verifications of APIs per organization and minute', limits.resource.verificationsPerMinute],
    ['APIs that one organization can newly offer to another in 24 hours', limits.share.offersPerDay],
    ['hours until a declined share can be offered again', limits.share.declinedHours],
    ['webhook subscriptions per organization', limits.webhooksPerOrganization],
    ['attempts per webhook delivery (`WEBHOOK_MAX_RETRIES`)', limits.webhookAttempts],
    [
      'time for a webhook receiver to answer, in milliseconds (`WEBHOOK_DELIVERY_TIMEOUT_MS`)',
      limits.webhookTimeoutMs,
    ],
    ['days that webhook deliveries are kept', limits.webhookRetentionDays],
    ['entries on a page, by default', pageSizes.standard.default],
    ['entries on a page, at most', pageSizes.standard.max],
    ['audit events on a page, by default', pageSizes.audit.default],
    ['audit events on a page, at most', pageSizes.audit.max],
  ];
  return [
    notice,
    '# Limits',
    '',
    '## Plans',
    '',
    `| | ${planTiers.join(' | ')} |`,
    '|---|---|---|---|',
    planRow('agents', 'maxAgents'),
    planRow('API calls a day', 'maxCallsPerDay'),
    planRow('tokens a day', 'maxTokensPerDay'),
    planRow('tokens a month, per client', 'maxTokensPerMonthPerClient'),
    '',
    `Days and months are in UTC. Integer fields of the API show "unlimited" as ${unlimited}. In metrics and answers the plan limits are named`,
    `${limitTypes.map((type) => `\`${type}\``).join(', ')}.`,
    '',
    '## Fixed limits and defaults',
    '',
    '| Limit | Value |',
    '|---|---|',
    ...rows.map(([title, value]) => `| ${title} | ${value.toLocaleString('en-US')} |`),
    '',
  ].join('\n');
}

export function scopesPage(notice: string): string {
  return [
    notice,
    '# Scopes',
    '',
    'A scope is a permission on the Countersign API. A token carries at most the `allowedScopes` of its agent. The API reference at `/docs/api`',
    'names the scope that each operation needs.',
    '',
    '| Scope | Reaches | New agents get it |',
    '|---|---|---|',
    ...organizationScopes.map(
      (scope) => `| \`${scope}\` | the organization of the agent | when the creating token holds it |`,
    ),
    `| \`${operatorScope}\` | all organizations | only when an operator names it |`,
    '',
  ].join('\n');
}
