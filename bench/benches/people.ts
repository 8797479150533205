/**
 * CPU time of tokens that act for a person, compared with an agent's own token for the same resource: the exchange of an authorization
 * code, and a refresh. Each code and each refresh token is used once, as real clients do.
 */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { type Agent, agentsPerOrganization, grantResource, secretOf, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load, type Request } from '../support/load.ts';
import { cpuRatioRow, runMetered } from '../support/metered.ts';
import { resourceTokenRequest, tokenPath } from '../support/requests.ts';
import { compare, rounds, seconds, whole } from '../support/rounds.ts';
import { serveOurs, whileServing } from '../support/serving.ts';
import { connections, warmUp } from './tokens.ts';

const callers = agentsPerOrganization;
/** More than two cores can issue during the warm-up (7 s) and the rounds. */
const perKind = 2_500 * (7 + rounds * (seconds + 1));
const verifier = 'v'.repeat(43);
const redirectUri = 'https://app.example/callback';
/** Each has a transaction of its own with two dozen statements; the requests of the baseline share theirs. */
const ceiling = 12;

/** Written by SQL too. As long as a real one. */
const secretNumber = (prefix: string, index: number): string =>
  prefix + createHash('sha256').update(`${prefix}${index}`).digest('hex').slice(0, 43);

/** A person and a chain for each agent; codes and refresh tokens of these chains in turn. */
async function consent(client: pg.Client, agents: readonly Agent[], resource: string): Promise<void> {
  const scopes = `array['scope:1', 'scope:2', 'scope:3']`;
  await client.query(`update resources set people_scopes = ${scopes} where identifier = $1`, [resource]);
  await client.query(
    `create temp table consents as
     select ordinality - 1 as n, agent_id::uuid, gen_random_uuid() as person_id, gen_random_uuid() as chain_id
     from unnest($1::text[]) with ordinality as agent (agent_id)`,
    [agents.map(({ agentId }) => agentId)],
  );
  await client.query(
    `insert into people (person_id, organization_id, issuer, subject, name, role, created_at, updated_at)
     select person_id, organization_id, 'https://login.example', person_id::text, 'Person', 'member', now(), now()
     from consents join agents using (agent_id)`,
  );
  await client.query(
    `insert into delegations (chain_id, root_chain_id, path, depth, organization_id, subject_id, delegator_id, delegatee_id, scopes,
                              resource, allow_redelegation, created_at, expires_at, subject_type, delegator_type, origin)
     select chain_id, chain_id, array[chain_id], 1, organization_id, person_id, person_id, agent_id, ${scopes},
            array[$1::text], false, now(), now() + interval '30 days', 'person', 'person', 'consent'
     from consents join agents using (agent_id)`,
    [resource],
  );
  const hashOf = (prefix: string) =>
    `sha256(('${prefix}' || substr(encode(sha256(('${prefix}' || i)::bytea), 'hex'), 1, 43))::bytea)`;
  const chainOf = `generate_series(0, $2::int - 1) i join consents on n = i % ${callers}`;
  await client.query(
    `insert into authorization_codes (code_hash, chain_id, agent_id, redirect_uri, redirect_uri_named, code_challenge, resource,
                                      scopes, expires_at)
     select ${hashOf('')}, chain_id, agent_id, $3, true, $4, $1, ${scopes}, now() + interval '1 day' from ${chainOf}`,
    [resource, perKind, redirectUri, createHash('sha256').update(verifier).digest('base64url')],
  );
  await client.query(
    `insert into refresh_tokens (token_hash, chain_id, agent_id, resource, scopes, created_at)
     select ${hashOf('csr_')}, chain_id, agent_id, $1, ${scopes}, now() from ${chainOf}`,
    [resource, perKind],
  );
  await client.query('vacuum analyze');
}

const formRequest = (agent: Agent, fields: Record<string, string>): Request => ({
  method: 'POST',
  path: tokenPath,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: `${new URLSearchParams({ ...fields, client_id: agent.agentId, client_secret: secretOf(agent) })}`,
});

export const people = ({ databaseUrl, postgresPid, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_people', async (database) => {
    const keys = generateKeyPair();
    log(`${whole(callers)} people and clients, ${whole(perKind)} codes and refresh tokens`);
    await prepareDatabase(database, keys, 1);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const resource = await withClient(database, async (client) => {
      const identifier = await grantResource(client);
      await consent(client, agents, identifier);
      return identifier;
    });
    const requestsOf = (fields: (index: number) => Record<string, string>) =>
      Array.from({ length: perKind }, (_, index) =>
        formRequest(agents[index % callers] as Agent, fields(index)),
      );
    return whileServing([serveOurs(database, keys)], async ([{ url, pid }]) => {
      const since = new Date();
      const loadOf = (requests: readonly Request[]) => createLoad({ url, connections, requests });
      const own = loadOf(agents.map((agent) => resourceTokenRequest(agent, resource)));
      const codes = loadOf(
        requestsOf((index) => ({
          grant_type: 'authorization_code',
          code: secretNumber('', index),
          code_verifier: verifier,
          redirect_uri: redirectUri,
        })),
      );
      const refreshes = loadOf(
        requestsOf((index) => ({ grant_type: 'refresh_token', refresh_token: secretNumber('csr_', index) })),
      );
      const all = [own, codes, refreshes];
      log(`warming up, with ${connections} connections`);
      for (const load of all) await warmUp(load);
      const metered = (load: Load) => runMetered(load, { server: pid, postgres: postgresPid }, seconds);
      const compareWithOwn = (name: string, load: Load) => {
        log(name);
        return compare({ ours: () => metered(load), baseline: () => metered(own), log });
      };
      const code = await compareWithOwn('code exchange', codes);
      const refresh = await compareWithOwn('refresh', refreshes);
      await requireDurable(
        database,
        since,
        all.reduce((sum, load) => sum + load.answers(), 0),
      );
      const metric = (name: string) => `CPU time, server and PostgreSQL, ${name} ÷ client_credentials`;
      return [
        cpuRatioRow(metric('code exchange'), code, ceiling),
        cpuRatioRow(metric('refresh'), refresh, ceiling),
      ];
    });
  });
