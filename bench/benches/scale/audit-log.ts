/** Reads of the audit log: an organization's events among millions of others compared with the same number in a small log. */
import { createOperator } from '../../../src/commands/bootstrap.ts';
import type { Result } from '../../support/bench.ts';
import { withClient } from '../../support/database.ts';
import { openApp } from '../../support/in-process.ts';
import { median } from '../../support/rounds.ts';
import type { KeyPems } from '../../support/serving.ts';

const samples = 200;
const operatorSamples = 3;
const ceiling = 2;

const urls: Readonly<Record<string, string>> = {
  'GET /audit': '/audit',
  'GET /audit?action': '/audit?action=token.issued',
  'GET /audit?action with a *': '/audit?action=token.*',
  'GET /audit?outcome': '/audit?outcome=failure',
  'GET /audit, last page': '/audit?limit=20&page=45',
};

export interface Logs {
  readonly full: string;
  readonly small: string;
  readonly keys: KeyPems;
  /** As a text for the rows: how large the full log is. */
  readonly size: string;
}

export async function auditReads({ full, small, keys, size }: Logs): Promise<Result[]> {
  const large = await openReader(full, keys);
  const few = await openReader(small, keys);
  try {
    const rows: Result[] = [];
    for (const [name, url] of Object.entries(urls)) {
      const times = { large: [] as number[], few: [] as number[] };
      // The first third is the warm-up.
      for (let sample = 0; sample < samples * 1.5; sample += 1) {
        const pair = [await few.time(url), await large.time(url)] as const;
        if (sample < samples / 2) continue;
        times.few.push(pair[0]);
        times.large.push(pair[1]);
      }
      const [after, before] = [median(times.large), median(times.few)];
      rows.push({
        metric: `${name}, ${large.events} events of one organization: in a log of ${size} ÷ in a small log with ${few.events}`,
        result: (after / before).toFixed(2),
        baseline: `${after.toFixed(2)} ms ÷ ${before.toFixed(2)} ms`,
        target: `at most ${ceiling}`,
        met: after / before <= ceiling,
      });
    }
    const all: number[] = [];
    for (let sample = 0; sample < operatorSamples; sample += 1)
      all.push(await large.timeOfOperator('/audit'));
    rows.push({
      metric: `GET /audit by the operator, all events of the log of ${size}`,
      result: `${Math.round(median(all))} ms`,
      baseline: '–',
      target: '–',
      met: true,
    });
    return rows;
  } finally {
    await large.close();
    await few.close();
  }
}

/** A caller of the organization whose number of events is the nearest to a thousand. */
async function openReader(database: string, keys: KeyPems) {
  const { organizationId, events } = await withClient(database, async (client) => {
    const { rows } = await client.query<{ organizationId: string; events: number }>(
      `select organization_id as "organizationId", count(*)::int as events from audit_events
       group by 1 order by abs(count(*) - 1000), 1 limit 1`,
    );
    return rows[0] as { organizationId: string; events: number };
  });
  const app = await openApp(database, keys);
  const call = async (method: 'GET' | 'POST', url: string, options: object = {}) => {
    const response = await app.http.server.inject({ method, url: `/api/v1${url}`, ...options });
    if (response.statusCode >= 300)
      throw new Error(`${method} ${url}: ${response.statusCode} ${response.body}`);
    return response.json();
  };
  const headersOf = async (client: { clientId: string; clientSecret: string }) => {
    const { access_token } = await call('POST', '/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: `grant_type=client_credentials&client_id=${client.clientId}&client_secret=${client.clientSecret}`,
    });
    return { authorization: `Bearer ${access_token}` };
  };
  const operator = await headersOf(await createOperator(app, true));
  const agent = await call('POST', '/agents', {
    headers: operator,
    payload: { ...reader, organization_id: organizationId },
  });
  const own = await headersOf(
    await call('POST', `/agents/${agent.agentId}/credentials`, { headers: operator }),
  );
  const timeAs = async (headers: object, url: string) => {
    const started = performance.now();
    await call('GET', url, { headers });
    return performance.now() - started;
  };
  return {
    events,
    time: (url: string) => timeAs(own, url),
    timeOfOperator: (url: string) => timeAs(operator, url),
    close: app.close,
  };
}

const reader = {
  email: 'bench-reader@example.com',
  agentType: 'custom',
  version: '1.0.0',
  capabilities: ['bench:run'],
  owner: 'bench',
  deploymentEnv: 'development',
  allowedScopes: ['audit:read'],
};
