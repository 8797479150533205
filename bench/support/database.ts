/** A separate database per bench. */
import pg from 'pg';
import { fillAgents } from './agents.ts';
import { type KeyPems, serveOurs, whileServing } from './serving.ts';

/** Creates a database in the bench's cluster and drops it afterwards. */
export async function withDatabase<T>(
  clusterUrl: string,
  name: string,
  work: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const url = new URL(clusterUrl);
  url.pathname = `/${name}`;
  await withClient(clusterUrl, (client) => client.query(`create database ${name}`));
  try {
    return await work(url.href);
  } finally {
    await withClient(clusterUrl, (client) => client.query(`drop database ${name} with (force)`));
  }
}

export async function withClient<T>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Migrates the database and creates organizations with agents. */
export async function prepareDatabase(
  databaseUrl: string,
  keys: KeyPems,
  organizations: number,
  agentsEach?: number,
): Promise<void> {
  // The server migrates when it starts.
  await whileServing([serveOurs(databaseUrl, keys)], async () => {});
  await withClient(databaseUrl, async (client) => {
    await fillAgents(client, 1, organizations, agentsEach);
    await client.query('vacuum analyze');
  });
}

/**
 * Checks that every issued token has its audit row on disk: each has its row, and PostgreSQL waits for the disk. Returns the number of
 * distinct agents.
 */
export async function requireDurable(databaseUrl: string, since: Date, issued: number): Promise<number> {
  return withClient(databaseUrl, async (client) => {
    for (const setting of ['synchronous_commit', 'fsync']) {
      const { rows } = await client.query({ text: `show ${setting}`, rowMode: 'array' });
      if (rows[0]?.[0] !== 'on') throw new Error(`${setting} is ${rows[0]?.[0]}`);
    }
    const { rows } = await client.query<{ tokens: number; agents: number }>(
      `select count(*)::int as tokens, count(distinct agent_id)::int as agents
       from audit_events where action = 'token.issued' and occurred_at >= $1`,
      [since],
    );
    const { tokens = 0, agents = 0 } = rows[0] ?? {};
    if (tokens !== issued) throw new Error(`${issued} tokens were issued, but the audit log has ${tokens}`);
    return agents;
  });
}
