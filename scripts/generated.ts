/** The files that are made from the code: written by `npm run openapi`, compared by test/generated.test.ts. */
import { createApp } from '../src/app.ts';
import { errorGroups, tokenErrors } from '../src/contract/errors.ts';
import { auditOnlyEvents, webhookEvents } from '../src/contract/events.ts';
import { externalTokenReasons } from '../src/contract/external-tokens.ts';
import { loadConfig } from '../src/kernel/config/config.ts';
import { generateKeyPair } from '../src/kernel/config/keypair.ts';
import { type Variable, variables } from '../src/kernel/config/variables.ts';
import { createLog } from '../src/kernel/observability/log.ts';

const notice = (source: string) => `<!-- Generated from ${source} by \`npm run openapi\`; do not edit. -->\n`;

export async function generatedFiles(): Promise<Record<string, string>> {
  return {
    'openapi.json': `${JSON.stringify(await openapi(), null, 2)}\n`,
    'docs/configuration.md': configuration(),
    'docs/errors.md': errorTable(),
    'docs/events.md': eventTable(),
  };
}

/** The routes as an instance with default settings mounts them; nothing is connected to. */
async function openapi(): Promise<object> {
  const { privatePem, publicPem } = generateKeyPair();
  const config = loadConfig({
    DATABASE_URL: 'postgres://nobody@localhost/nothing',
    REDIS_URL: 'memory://',
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
  });
  const app = await createApp({ config, log: createLog({ level: 'silent' }) });
  try {
    return app.http.openapi();
  } finally {
    await app.close();
  }
}

function configuration(): string {
  const all: Variable<unknown>[] = Object.values(variables);
  const row = (variable: Variable<unknown>) =>
    `| \`${variable.env}\`${variable.orFile ? `<br>or \`${variable.env}_FILE\`` : ''} | ${variable.about} | ${variable.absent} |`;
  const table = (rows: Variable<unknown>[]) =>
    ['| Variable | What it is | When absent |', '|---|---|---|', ...rows.map(row)].join('\n');
  const sections = [...new Set(all.map((variable) => variable.group))].map(
    (group) => `## ${group}\n\n${table(all.filter((variable) => variable.group === group))}\n`,
  );
  return [
    notice('src/kernel/config/variables.ts'),
    '# Configuration',
    '',
    '`countersign serve` reads the environment and nothing else. Everything is checked at start; what is missing or wrong is',
    'listed, all of it at once, and the process exits with code 1. An empty variable counts as absent. `_FILE` names a file',
    'that holds the value, as container secrets do. `countersign dev` supplies the required ones by itself.',
    '',
    ...sections,
  ].join('\n');
}

function errorTable(): string {
  const titles = {
    spec: 'Of the API',
    added: 'Of delegated trust, the marketplace and billing',
    transport: 'Of HTTP itself',
  };
  const sections = Object.entries(errorGroups).map(([group, words]) => {
    const rows = Object.entries<{ status: number; alsoStatus?: readonly number[]; message: string }>(
      words,
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
    'A failed call answers `{code, message, details?}`. `message` is for people and may change; `code` is for programs and',
    'does not. For `VALIDATION_ERROR`, `details.fields` lists every problem as `{in, field, message}`.',
    '',
    ...sections,
    '## At the token endpoint',
    '',
    '`POST /api/v1/token` answers `{error, error_description}` (RFC 6749). A 429 there carries `error`, `code` and `message`;',
    'so does a 503, whose `error` is `temporarily_unavailable`, and a 500, whose is `server_error`.',
    '',
    '| error | HTTP |',
    '|---|---|',
    ...Object.entries(tokenErrors).map(([code, status]) => `| \`${code}\` | ${status} |`),
    '',
    "## Why another issuer's token is not believed",
    '',
    '`reason` in the answer of `POST /api/v1/federation/verify`; also in the audit log, when such a token was to be exchanged.',
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
    'Every change is recorded in the audit log in the same transaction as the change itself.',
    '',
    '## Life-cycle events',
    '',
    ...webhookEvents.map((event) => `- \`${event}\``),
    '',
    'These can also be published to Kafka and NATS ([streams](operations.md#streams)), as the envelope',
    '`{id, type, organizationId, timestamp, data}`. `data` has the `agentId` concerned and, for agent events, `agentType`, `status`,',
    '`owner`, `version` and `deploymentEnv` as they are after the change.',
    '',
    '## In the audit log only',
    '',
    ...auditOnlyEvents.map((event) => `- \`${event}\``),
    '',
  ].join('\n');
}
