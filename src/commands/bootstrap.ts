/** `countersign bootstrap`: the first organization and an operator, without whom nobody could create anybody. */

import { type App, createApp } from '../app.ts';
import { scopes } from '../contract/scopes.ts';
import { type Environment, loadConfig } from '../kernel/config/config.ts';
import type { Tx } from '../kernel/data/db.ts';
import { lockGlobal } from '../kernel/data/locks.ts';
import { createLog } from '../kernel/observability/log.ts';
import { Refusal } from './refusal.ts';
import { print } from './terminal.ts';

export interface Operator {
  readonly organizationId: string;
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const slug = 'operator';
const atConsole = { requestId: 'bootstrap', ipAddress: '127.0.0.1', userAgent: 'countersign bootstrap' };

export async function bootstrap(
  env: Environment,
  options: { json?: boolean; force?: boolean },
): Promise<void> {
  const config = loadConfig(env);
  // Standard output is for the secret alone, whatever there is to complain about.
  const log = createLog({ level: 'warn', destination: process.stderr });
  const app = await createApp({ config, log });
  try {
    await refuseOtherKey(app);
    await app.prepare({ takeOver: false });
    // A server may have started meanwhile.
    await refuseOtherKey(app);
    const operator = await createOperator(app, options.force ?? false);
    print(
      options.json
        ? JSON.stringify({ baseUrl: config.baseUrl, ...operator })
        : [
            'The operator is ready. Its secret is shown this once:',
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
 * The servers' key signs the audit log. With another one we would take it from them, or record what they cannot link; so
 * nothing is written at all.
 */
async function refuseOtherKey(app: App): Promise<void> {
  const keyId = await app.audit.otherKey();
  if (keyId !== undefined)
    throw new Refusal(
      `the audit log is signed with another key (kid ${keyId}): bootstrap needs the servers' JWT_PRIVATE_KEY and JWT_PUBLIC_KEY. If these are new keys, start a server with them first`,
    );
}

/** With `force`, an operator that exists already gets one more credential. */
export function createOperator(app: App, force: boolean): Promise<Operator> {
  return app.db.transaction(async (tx) => {
    await lockGlobal(tx, 'bootstrap');
    const existing = await app.agents.findOperator(tx);
    if (existing && !force) {
      throw new Refusal(
        `there is an operator already (${existing.agentId}). If its secret is lost, --force gives it one more credential`,
      );
    }
    const agent = existing ?? (await registerOperator(app, tx));
    const { clientId, clientSecret } = await app.credentials.mint(tx, atConsole, agent, null);
    return { organizationId: agent.organizationId, agentId: agent.agentId, clientId, clientSecret };
  });
}

async function registerOperator(app: App, tx: Tx) {
  const agentId = app.ids.uuid();
  const home =
    (await app.organizations.findBySlug(tx, slug)) ??
    (await app.organizations.register(
      tx,
      { ...atConsole, agentId },
      { name: 'Operator', slug, planTier: 'enterprise' },
    ));
  return app.agents.register(
    tx,
    atConsole,
    {
      organizationId: home.organizationId,
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
