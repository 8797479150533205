/** The files generated from the code: written by `npm run openapi`, compared by test/generated.test.ts. */
import { readFileSync } from 'node:fs';
import { createApp } from '../src/app.ts';
import { errorGroups, tokenErrors } from '../src/contract/errors.ts';
import {
  auditEvents,
  auditOnlyEvents,
  refusalEvents,
  webhookEventFields,
  webhookEventOf,
  webhookEvents,
} from '../src/contract/events.ts';
import { externalTokenReasons } from '../src/contract/external-tokens.ts';
import { limits } from '../src/contract/limits.ts';
import { loadConfig } from '../src/kernel/config/config.ts';
import { generateKeyPair } from '../src/kernel/config/keypair.ts';
import { type Variable, variables } from '../src/kernel/config/variables.ts';
import { createLog } from '../src/kernel/observability/log.ts';
import type { OpenApi } from './api-types.ts';
import { commandLinePage } from './command-line-page.ts';
import { consoleClient } from './console-client.ts';
import { limitsPage, metricsPage, scopesPage } from './contract-pages.ts';
import { valuesSchema } from './helm/values-schema.ts';
import { variablesFile } from './helm/variables-file.ts';
import { identitySchema } from './identity-schema.ts';
import { pythonClient } from './python-client.ts';
import { sdkClient } from './sdk-client.ts';

const notice = (source: string) => `<!-- Generated from ${source} by \`npm run openapi\`; do not edit. -->\n`;

export async function generatedFiles(): Promise<Record<string, string>> {
  const document = await openapi();
  return {
    'openapi.json': `${JSON.stringify(document, null, 2)}\n`,
    'console/src/api/generated.ts': consoleClient(document),
    'sdk/typescript/src/generated.ts': sdkClient(document as OpenApi),
    ...pythonClient(document as OpenApi),
    'deploy/helm/countersign/values.schema.json': `${JSON.stringify(valuesSchema, null, 2)}\n`,
    'deploy/helm/countersign/files/variables.yaml': variablesFile(
      '# Generated from src/kernel/config/variables.ts by `npm run openapi`; do not edit.\n',
    ),
    // A chart cannot read files outside of its folder.
    'deploy/helm/countersign/files/rules.yaml': readFileSync(
      new URL('../deploy/prometheus/rules.yaml', import.meta.url),
      'utf8',
    ),
    'docs/reference/command-line.md': commandLinePage(notice('the route table and src/commands/'), document),
    'docs/reference/configuration.md': configuration(),
    'docs/reference/errors.md': errorTable(),
    'docs/reference/identity.schema.json': `${JSON.stringify(identitySchema(document), null, 2)}\n`,
    'docs/reference/events.md': eventTable(),
    'docs/reference/limits.md': limitsPage(notice('src/contract/limits.ts')),
    'docs/reference/metrics.md': metricsPage(notice('src/contract/metrics.ts')),
    'docs/reference/scopes.md': scopesPage(notice('src/contract/scopes.ts')),
  };
}

/** The routes of an instance with default settings. It connects to nothing. */
async function openapi(): Promise<object> {
  const { privatePem, publicPem } = generateKeyPair();
  const config = loadConfig({
    DATABASE_URL: 'postgres://unused@localhost/unused',
    REDIS_URL: 'memory://',
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
  });
  const app = await createApp({ config, log: createLog({ level: 'silent' }) });
  try {
    return await app.http.openapi();
  } finally {
    await app.close();
  }
}

function configuration(): string {
  const all: Variable<unknown>[] = Object.values(variables);
  const row = (variable: Variable<unknown>) =>
    `| \`${variable.env}\`${variable.orFile ? `<br>or \`${variable.env}_FILE\`` : ''} | ${variable.description} | ${variable.whenAbsent} |`;
  const table = (rows: Variable<unknown>[]) =>
    ['| Variable | Meaning | When absent |', '|---|---|---|', ...rows.map(row)].join('\n');
  const sections = [...new Set(all.map((variable) => variable.group))].map(
    (group) => `## ${group}\n\n${table(all.filter((variable) => variable.group === group))}\n`,
  );
  return [
    notice('src/kernel/config/variables.ts'),
    '# Configuration',
    '',
    '`countersign serve` reads the environment and nothing else. It checks all variables at start, lists every missing or wrong one,',
    'and exits with code 1. An empty variable counts as absent. A name that ends in `_FILE` takes the path of a file with the value, for',
    'container secrets. `countersign dev` sets the required variables. [Configure](../operations/configure.md) explains the choices.',
    '',
    ...sections,
  ].join('\n');
}

function errorTable(): string {
  const titles = {
    spec: 'API',
    added: 'Delegated trust, marketplace and billing',
    transport: 'HTTP',
  };
  const sections = Object.entries(errorGroups).map(([group, definitions]) => {
    const rows = Object.entries<{ status: number; alsoStatus?: readonly number[]; message: string }>(
      definitions,
    ).map(
      ([code, { status, alsoStatus, message }]) =>
        `| \`${code}\` | ${[status, ...(alsoStatus ?? [])].join(', ')} | ${message} |`,
    );
    return [
      `## ${titles[group as keyof typeof titles]}`,
      '',
      '| Code | HTTP | Meaning |',
      '|---|---|---|',
      ...rows,
      '',
    ].join('\n');
  });
  return [
    notice('src/contract/errors.ts'),
    '# Errors',
    '',
    'A failed call answers `{code, message, details?}`. Programs read `code`, which does not change. People read `message`, which may',
    'change. For `VALIDATION_ERROR`, `details.fields` lists every problem as `{in, field, message}`.',
    '',
    ...sections,
    '## Token endpoint',
    '',
    '`POST /api/v1/token` answers `{error, error_description}` (RFC 6749). With 413, 500 (`server_error`) and 503',
    '(`temporarily_unavailable`) the body also has `code` and `message`. With 429 it has `error`, `code` and `message`.',
    '',
    '| error | HTTP |',
    '|---|---|',
    ...Object.entries(tokenErrors).map(([code, status]) => `| \`${code}\` | ${status} |`),
    '',
    '## Tokens of other issuers',
    '',
    '`POST /api/v1/federation/verify` answers with one of these values as `reason`. The audit log has the same values for refused',
    'token exchanges.',
    '',
    '| reason | Meaning |',
    '|---|---|',
    ...Object.entries(externalTokenReasons).map(([reason, meaning]) => `| \`${reason}\` | ${meaning} |`),
    '',
  ].join('\n');
}

function eventTable(): string {
  return [
    notice('src/contract/events.ts'),
    '# Events',
    '',
    'Each change and its audit event commit in one transaction.',
    '',
    '## Events for subscribers',
    '',
    '| Event | Fields of `data` besides `agentId` | Action in the audit log, if it has another name |',
    '|---|---|---|',
    ...webhookEvents.map((event) => {
      const action = auditEvents.find((name) => webhookEventOf(name) === event);
      const fields = webhookEventFields[event].map((field) => `\`${field}\``).join(', ');
      return `| \`${event}\` | ${fields} | ${action === event || action === undefined ? '' : `\`${action}\``} |`;
    }),
    '',
    'Countersign sends these to [webhooks](../guides/webhooks.md) and publishes them to [Kafka and NATS](../guides/event-streams.md), as',
    '`{id, type, organizationId, timestamp, data}`. A field is absent where it does not apply. The values are those after the change.',
    '',
    `Anyone can cause refusals, so of each of ${refusalEvents.map((event) => `\`${event}\``).join(', ')} at most ${limits.refusalEventsPerMinute} per organization and minute are sent. The`,
    'audit log has all of them, within its own limit for requests without authentication.',
    '',
    '## Audit log only',
    '',
    ...auditOnlyEvents.filter((event) => !webhookEventOf(event)).map((event) => `- \`${event}\``),
    '',
  ].join('\n');
}
