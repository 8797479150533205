/** Data for every page of the console, and the addresses of all pages and tabs. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ConsoleServer } from '../console.ts';
import { newAgent } from '../harness.ts';

const dayMs = 86_400_000;

/** Rows in the operator's organization for each list, more than a page shows where the API makes that cheap. */
export async function fillConsole(server: ConsoleServer) {
  const token = await server.token();
  const send = async (
    method: 'POST' | 'PUT' | 'PATCH' | 'GET',
    path: string,
    payload?: object,
    as = token,
  ) => {
    const answer = await server.call(method, `/api/v1${path}`, { token: as, ...(payload && { payload }) });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.text === '' ? undefined : answer.json;
  };
  const { organizationId } = await send('GET', `/agents/${server.operator.clientId}`);

  const register = async (changes: Record<string, unknown>) => {
    const { agentId } = await send(
      'POST',
      '/agents',
      newAgent({ organization_id: organizationId, ...changes }),
    );
    const { clientId, clientSecret } = await send('POST', `/agents/${agentId}/credentials`);
    return { agentId, clientId, clientSecret };
  };
  const names = ['invoice-reader', 'resume-screener', 'order-router', 'ticket-triage', 'report-writer'];
  const agents: { agentId: string; clientId: string; clientSecret: string }[] = [];
  for (const [index, name] of names.entries())
    agents.push(
      await register({
        email: `${name}@acme.example`,
        owner: index % 2 === 0 ? 'Finance' : 'People operations',
        capabilities: ['invoice:read', 'invoice:pay'].slice(0, 1 + (index % 2)),
        deploymentEnv: index === 3 ? 'staging' : 'production',
        allowedScopes: ['agents:read', 'audit:read'],
      }),
    );
  const [first, second, third, suspended] = agents;
  assert.ok(first && second && third && suspended);
  await server.sql(
    `insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env,
                         status, allowed_scopes, created_at, updated_at)
     select gen_random_uuid(), $1, 'batch-' || n || '@acme.example', 'custom', '1.0.0', array['batch:run'],
            'Platform', 'production', 'active', '{}', now() - interval '1 day' - n * interval '1 minute', now()
     from generate_series(1, 40) n`,
    [organizationId],
  );
  await send('POST', `/agents/${first.agentId}/credentials`, {
    name: 'nightly job',
    expiresAt: new Date(server.clock.now() + 3 * dayMs).toISOString(),
  });

  const resource = await send('POST', '/resources', {
    identifier: 'https://api.acme.example/invoices',
    name: 'Invoices',
    description: 'Invoices of all subsidiaries.',
    scopes: [
      { name: 'invoices:read', description: 'Read invoices' },
      { name: 'invoices:pay', description: 'Pay an invoice' },
    ],
    peopleScopes: ['invoices:pay'],
    authorizationDetailTypes: [
      {
        type: 'payment',
        description: 'One payment.',
        schema: { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } },
      },
    ],
  });
  await send('PUT', `/agents/${first.agentId}/grants/${resource.resourceId}`, { scopes: ['invoices:read'] });
  await send('PUT', `/agents/${second.agentId}/grants/${resource.resourceId}`, {
    scopes: ['invoices:read', 'invoices:pay'],
  });
  const partner = await send('POST', '/organizations', { name: 'Partner', slug: `partner-${randomUUID()}` });
  await send('PUT', `/resources/${resource.resourceId}/shares/${partner.organizationId}`, {
    scopes: ['invoices:read'],
  });

  const link = await send('POST', '/delegations', {
    delegateeId: first.agentId,
    scopes: ['agents:read', 'audit:read'],
    purpose: 'monthly report',
    allowRedelegation: true,
  });
  await send(
    'POST',
    '/delegations',
    { delegateeId: second.agentId, scopes: ['agents:read'], parentToken: link.delegationToken },
    await server.token(undefined, first),
  );
  await send('POST', '/delegations', { delegateeId: third.agentId, scopes: ['webhooks:read'] });

  const policy = await send('POST', '/oidc/trust-policies', {
    agentId: first.agentId,
    name: 'Deployments of the main branch',
    provider: 'github',
    issuer: 'https://token.actions.githubusercontent.com',
    audiences: [server.url],
    subject: 'repo:acme/invoices:ref:refs/heads/main',
    conditions: [{ claim: 'environment', operator: 'in', values: ['production', 'staging'] }],
    scopes: ['agents:read'],
  });
  await send('POST', '/federation/trust', {
    name: 'Partner Corp',
    issuer: 'https://login.partner.example',
    jwksUri: 'https://login.partner.example/jwks',
  });

  const webhook = await send('POST', '/webhooks', {
    name: 'Inventory',
    url: 'https://hooks.acme.example/countersign',
    events: ['credential.revoked', 'agent.suspended'],
  });
  await server.sql(
    `insert into webhook_deliveries
       (delivery_id, subscription_id, event_id, event_type, payload, status, attempt_count, attempts, http_status_code,
        created_at, updated_at)
     select gen_random_uuid(), $1::uuid, gen_random_uuid(), 'credential.revoked',
            json_build_object('data', json_build_object('agentId', $2::uuid))::text,
            case n % 3 when 0 then 'dead_letter' else 'delivered' end, 1 + n % 3,
            jsonb_build_array(jsonb_build_object('attempted_at', now(), 'duration_ms', 7, 'http_status_code', 503,
                                                 'error', null)),
            503, now() - interval '1 minute' - n * interval '1 second', now()
     from generate_series(1, 30) as n`,
    [webhook.id, first.agentId],
  );

  const listing = await send('POST', '/marketplace/listings', {
    agentId: first.agentId,
    title: 'Invoice reader',
    summary: 'Reads invoices and extracts totals.',
    description: 'Send a document, get its fields.',
    categories: ['finance'],
    tags: ['invoices', 'ocr'],
    endpoints: [{ protocol: 'a2a', url: 'https://agents.acme.example/a2a' }],
    documentationUrl: 'https://docs.acme.example/',
  });
  await send('PATCH', `/marketplace/listings/${listing.listingId}`, { status: 'published' });

  await send('POST', `/organizations/${organizationId}/members`, { agentId: second.agentId, role: 'admin' });
  const person = await send('POST', `/organizations/${organizationId}/people`, {
    issuer: 'https://login.acme.example',
    subject: '248289761001',
    name: 'Grace Hopper',
    role: 'admin',
    agentId: first.agentId,
  });

  const [approval] = await server.sql<{ approval_id: string }>(
    `insert into approvals (approval_id, auth_req_hash, organization_id, agent_id, audience, resource_id, scopes, authorization_details,
                            binding_message, person_id, access_seconds, status, poll_seconds, created_at, expires_at)
     select gen_random_uuid(), sha256(n::text::bytea), $1, $2, $3, $4, array['invoices:pay'],
            '[{"type": "payment", "amount": 120, "payee": {"name": "ACME"}}]', 'Pay invoice ' || n, $5, 3600,
            case n % 2 when 0 then 'denied' else 'pending' end, 5, now() - n * interval '1 second', now() + interval '1 day'
     from generate_series(1, 25) n
     returning approval_id`,
    [organizationId, first.agentId, resource.identifier, resource.resourceId, person.personId],
  );

  const connection = await send('POST', `/organizations/${organizationId}/connections`, {
    name: 'Acme Login',
    issuer: 'https://login.acme.example',
    clientId: 'countersign',
    clientSecret: 'secret',
    conditions: [{ claim: 'email', operator: 'glob', values: ['*@acme.example'] }],
  });
  await server.sql(
    `update agents set client_uri = 'https://app.example/client.json', owner = 'app.example', public_client = true,
       redirect_uris = array['https://app.example/callback'] where email = 'batch-1@acme.example'`,
  );

  for (let round = 0; round < 3; round += 1) await server.token(undefined, first);
  await server.askToken({
    grant_type: 'client_credentials',
    client_id: first.agentId,
    client_secret: 'wrong',
  });
  await server.sql(
    `insert into usage_days (organization_id, day, metric, agent_id, shard, quantity)
     select $1, (now() at time zone 'UTC')::date - day, metric, $2, 99, 40 + (day * 37) % 90
     from generate_series(1, 25) day, unnest(array['api_calls', 'tokens_issued', 'webhook_deliveries']) metric`,
    [organizationId, first.agentId],
  );
  await send('PATCH', `/agents/${suspended.agentId}`, { status: 'suspended' });
  await server.app.audit.linkAll();
  await server.app.audit.watch();
  const [event] = (await send('GET', '/audit?limit=1')).data;

  const agent = `/agents/${first.agentId}`;
  const api = `/apis/${resource.resourceId}`;
  return {
    first,
    organizationId,
    pages: {
      overview: '/',
      agents: '/agents',
      identity: `${agent}?tab=identity`,
      credentials: `${agent}?tab=credentials`,
      access: `${agent}?tab=access`,
      'delegations of an agent': `${agent}?tab=delegations`,
      activity: `${agent}?tab=activity`,
      APIs: '/apis',
      'API scopes': api,
      'API actions': `${api}?tab=actions`,
      'API holders': `${api}?tab=holders`,
      'API shares': `${api}?tab=shares`,
      'API verification': `${api}?tab=verify`,
      delegations: '/delegations',
      delegation: `/delegations?selected=${link.chainId}`,
      trust: '/trust',
      'trust policy': `/trust?selected=${policy.policyId}`,
      partners: '/trust?tab=partners',
      'approvals of the organization': '/approvals?tab=organization',
      approval: `/approvals/${approval?.approval_id}`,
      audit: '/audit',
      event: `/audit?selected=${event.eventId}`,
      checkpoints: '/audit?view=checkpoints',
      archive: '/audit?view=archive',
      webhooks: '/webhooks',
      webhook: `/webhooks/${webhook.id}`,
      usage: '/usage',
      'usage by agent': '/usage?group=agent',
      compliance: '/compliance',
      marketplace: '/marketplace',
      'own listings': '/marketplace?view=own',
      listing: `/marketplace?view=own&selected=${listing.listingId}`,
      members: '/organization',
      people: '/organization?tab=people',
      person: `/organization?tab=people&selected=${person.personId}`,
      connections: '/organization?tab=connections',
      connection: `/organization?tab=connections&selected=${connection.connectionId}`,
      clients: '/organization?tab=clients',
      'approval policy': '/organization?tab=approvals',
      organizations: '/organizations',
      settings: '/settings',
    },
  };
}
