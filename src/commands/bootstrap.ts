/** `countersign bootstrap`: creates the first organization and an operator. Every other agent is created by an agent. */

import { type App, createApp } from '../app.ts';
import { scopes } from '../contract/scopes.ts';
import { loadConfig } from '../kernel/config/config.ts';
import type { Tx } from '../kernel/data/db.ts';
import { lockGlobal } from '../kernel/data/locks.ts';
import { createLog } from '../kernel/observability/log.ts';
import { CommandError } from './command-error.ts';
import type { Io } from './io.ts';
import { print } from './terminal.ts';

export interface Operator {
  readonly organizationId: string;
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const slug = 'operator';
const consoleOrigin = { requestId: 'bootstrap', ipAddress: '127.0.0.1', userAgent: 'countersign bootstrap' };

export async function bootstrap(io: Io, options: { json?: boolean; force?: boolean }): Promise<void> {
  const config = loadConfig(io.env);
  // Standard output carries the secret alone.
  const log = createLog({ level: 'warn', destination: io.stderr });
  const app = await createApp({ config, log });
  try {
    await refuseOtherKey(app);
    await app.prepare({ takeOver: false });
    // A server may have started since the first check.
    await refuseOtherKey(app);
    const operator = await createOperator(app, options.force ?? false);
    print(
      io,
      options.json
        ? JSON.stringify({ baseUrl: config.baseUrl, ...operator })
        : [
            'The operator is ready. Store its client secret now: it is not shown again.',
            `  organization   ${operator.organizationId}`,
            `  client_id      ${operator.clientId}`,
            `  client_secret  ${operator.clientSecret}`,
          ].join('\n'),
    );
  } finally {
    await app.close();
  }
}

/**
 * The servers' key signs the audit log. Under another key, a command would take over the log or record events that the servers
 * cannot link; so it writes nothing.
 */
export async function refuseOtherKey(app: App): Promise<void> {
  const keyId = await app.audit.otherKey();
  if (keyId !== undefined)
    throw new CommandError(
      `the audit log is signed with another key (kid ${keyId}): run this command with the JWT_PRIVATE_KEY and JWT_PUBLIC_KEY of the servers. If these are new keys, start a server with them first`,
    );
}

/** With `force`, an existing operator gets another credential. */
export function createOperator(app: App, force: boolean): Promise<Operator> {
  return app.db.transaction(async (tx) => {
    await lockGlobal(tx, 'bootstrap');
    const existing = await app.agents.findOperator(tx);
    if (existing && !force) {
      throw new CommandError(
        `there is an operator already (${existing.agentId}). If its client secret is lost, run again with --force: it creates another one`,
      );
    }
    const agent = existing ?? (await registerOperator(app, tx));
    const { clientId, clientSecret } = await app.credentials.issue(tx, consoleOrigin, agent, {
      expiresAt: null,
      name: null,
    });
    return { organizationId: agent.organizationId, agentId: agent.agentId, clientId, clientSecret };
  });
}

async function registerOperator(app: App, tx: Tx) {
  const agentId = app.ids.uuid();
  const organization =
    (await app.organizations.findBySlug(tx, slug)) ??
    (await app.organizations.register(
      tx,
      { ...consoleOrigin, agentId },
      { name: 'Operator', slug, planTier: 'enterprise' },
    ));
  return app.agents.register(
    tx,
    consoleOrigin,
    {
      organizationId: organization.organizationId,
      email: `operator-${agentId.slice(0, 8)}@countersign.invalid`,
      agentType: 'custom',
      version: '1.0.0',
      capabilities: ['instance:operate'],
      owner: 'operator',
      deploymentEnv: 'production',
      allowedScopes: scopes,
    },
    agentId,
  );
}
