/** Identity assertions (ID-JAG): a company's provider, its connection, an API, a client, and assertions that a test changes. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { startIssuer } from '../peers/issuers.ts';
import { createAuthorizationScenario, type TestClient } from './authorization.ts';

export const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

type Changes = Readonly<Record<string, unknown>>;

interface Refusal {
  readonly agent_id: string;
  readonly organization_id: string;
  readonly metadata: Record<string, unknown>;
}

export async function createAssertionScenario(changes: Record<string, string> = {}) {
  const scenario = await createAuthorizationScenario({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', ...changes });
  const { t, issuer: ownIssuer, organizationId, operate, resource } = scenario;
  const provider = await startIssuer(t.clock);

  const connect = (more: object = {}, orgId = organizationId) =>
    operate('POST', `/organizations/${orgId}/connections`, {
      name: 'Company',
      issuer: provider.url,
      clientId: randomUUID(),
      clientSecret: 'a secret',
      idJag: true,
      ...more,
    });
  const connection = await connect();
  const client = await scenario.confidential();

  /** A valid assertion for the client, with these changes; `undefined` removes a claim. */
  const sign = (more: Changes = {}, options: NonNullable<Parameters<typeof provider.sign>[1]> = {}) =>
    provider.sign(
      {
        sub: `person-${randomUUID()}`,
        aud: ownIssuer,
        client_id: client.clientId,
        resource: resource.identifier,
        scope: 'orders:read',
        ...more,
      },
      { ...options, header: { typ: 'oauth-id-jag+jwt', ...options.header } },
    );

  const present = (
    assertion: string,
    more: Record<string, string> = {},
    { credentials }: Pick<TestClient, 'credentials'> = client,
    headers: Record<string, string> = {},
  ) => t.askToken({ grant_type: assertionGrant, assertion, ...credentials, ...more }, headers);

  const refusals = () =>
    t.sql<Refusal>(
      "select agent_id, organization_id, metadata from audit_events where action = 'token.refused' order by event_id desc",
    );

  /** Asserts the refusal, that it is recorded once, and that the client is not told the reason; resolves to the audit event. */
  async function refused(
    error: string,
    assertion: string,
    more: Record<string, string> = {},
    presenter: Pick<TestClient, 'credentials'> = client,
    headers: Record<string, string> = {},
  ): Promise<Refusal & { readonly reason: string }> {
    const before = (await refusals()).length;
    const { status, json } = await present(assertion, more, presenter, headers);
    const statuses: Record<string, number> = { invalid_client: 401, unauthorized_client: 403 };
    assert.deepEqual([status, json.error], [statuses[error] ?? 400, error], JSON.stringify(json));
    const [last, ...others] = await refusals();
    assert.equal(others.length, before, 'recorded once');
    if (error === 'invalid_grant')
      assert.equal(json.error_description, 'the assertion is not one that is accepted here');
    return { ...(last as Refusal), reason: String(last?.metadata.reason) };
  }

  const peopleOf = async (subject: string) =>
    t.sql<{ person_id: string; role: string; connection_id: string; email: string | null }>(
      'select person_id, role, connection_id, email from people where issuer = $1 and subject = $2',
      [provider.url, subject],
    );

  const countChains = async () =>
    Number(
      (await t.sql<{ n: string }>("select count(*) as n from delegations where origin = 'assertion'"))[0]?.n,
    );

  return {
    ...scenario,
    provider,
    connect,
    connection,
    client,
    sign,
    present,
    refusals,
    refused,
    peopleOf,
    countChains,
  };
}
