import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { decodeJwt, exportJWK } from 'jose';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { createMatrixFixture } from '../../../test/support/principals.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', BASE_URL: 'https://id.example.com:8443' });
const { agentIn, makeTarget } = await createMatrixFixture(t);
const token = await t.token();
const api = '/api/v1';
const instance = 'did:web:id.example.com%3A8443';

const make = async (changes?: Record<string, unknown>) =>
  (await t.call('POST', `${api}/agents`, { token, payload: newAgent(changes) })).json;
const patch = (agentId: string, payload: object) =>
  t.call('PATCH', `${api}/agents/${agentId}`, { token, payload });
const did = (agentId: string) => t.call('GET', `${api}/agents/${agentId}/did`);
const resolve = (agentId: string, bearer = token) =>
  t.call('GET', `${api}/agents/${agentId}/did/resolve`, { token: bearer });
const card = (agentId: string, format = '') =>
  t.call('GET', `${api}/agents/${agentId}/did/card${format && `?format=${format}`}`);
const counted = async () =>
  Number(/^service_did_documents_generated_total (\d+)$/m.exec(await t.app.metrics.text())?.[1] ?? 0);

async function register(agentId: string, keys: object[]) {
  const put = await t.call('PUT', `${api}/agents/${agentId}/keys`, { token, payload: { keys } });
  assert.equal(put.status, 200, put.text);
}
const publicJwk = async (kind: 'ec' | 'ed25519' | 'rsa') => {
  const { publicKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : kind === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519');
  return exportJWK(publicKey);
};

describe('GET /.well-known/did.json', () => {
  it('200: the instance, its host from BASE_URL with the port as %3A, independent of the Host header', async () => {
    const answer = await t.call('GET', '/.well-known/did.json', { headers: { host: 'evil.example' } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['cache-control'], 'public, max-age=60');
    const { id, controller, verificationMethod, authentication, assertionMethod } = answer.json;
    assert.equal(id, instance);
    assert.equal(controller, instance);
    const { keys } = (await t.call('GET', '/.well-known/jwks.json')).json;
    assert.deepEqual(
      verificationMethod.map(({ publicKeyJwk }: { publicKeyJwk: { n: string } }) => publicKeyJwk.n),
      keys.map(({ n }: { n: string }) => n),
    );
    assert.deepEqual(authentication, [`${instance}#${keys[0].kid}`]);
    assert.deepEqual(assertionMethod, authentication);
  });
});

describe('JWT_PREVIOUS_PUBLIC_KEYS', () => {
  it('a previous key stays an assertion method in every document, but not an authentication method', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const earlier = await exportJWK(publicKey);
    const changed = await startApp({
      BASE_URL: 'https://id.example.com',
      JWT_PREVIOUS_PUBLIC_KEYS: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    });
    const { agentId } = await changed.agent();
    for (const url of ['/.well-known/did.json', `/agents/${agentId}/did.json`]) {
      const document = (await changed.call('GET', url)).json;
      const [now, before] = document.verificationMethod;
      assert.equal(before.publicKeyJwk.n, earlier.n);
      assert.deepEqual(document.assertionMethod, [now.id, before.id]);
      assert.ok(!document.authentication.includes(before.id));
    }
  });
});

describe('service_did_documents_generated_total', () => {
  it('counts every document on every route, and nothing else', async () => {
    const [{ agentId }, { agentId: gone }] = [await make(), await make()];
    await t.call('DELETE', `${api}/agents/${gone}`, { token });
    for (const [url, more] of [
      ['/.well-known/did.json', 1],
      [`${api}/agents/${agentId}/did`, 1],
      [`/agents/${agentId}/did.json`, 1],
      [`${api}/agents/${agentId}/did/resolve`, 1],
      [`${api}/agents/${gone}/did/resolve`, 1],
      [`${api}/agents/${gone}/did`, 0],
      [`${api}/agents/${randomUUID()}/did`, 0],
      [`${api}/agents/${agentId}/did/card`, 0],
      [`${api}/agents/${agentId}/did/card?format=badge`, 0],
    ] as const) {
      const before = await counted();
      await t.call('GET', url, { token });
      assert.equal((await counted()) - before, more, url);
    }
  });
});

describe('GET /agents/{agentId}/did', () => {
  it("200: the agent's keys are authentication methods, the instance's key is an assertion method only", async () => {
    const agent = await make({ capabilities: ['resume:read', 'resume:score'] });
    const keys = [
      { ...(await publicJwk('ec')), kid: 'ec/1+a=', alg: 'ES256', use: 'sig', key_ops: ['verify'] },
      { ...(await publicJwk('rsa')), kid: 'rsa', alg: 'PS256' },
      { ...(await publicJwk('ed25519')), kid: 'ed' },
    ];
    await register(agent.agentId, keys);
    const before = await counted();
    const answer = await did(agent.agentId);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['cache-control'], 'public, max-age=60');
    assert.equal(await counted(), before + 1);

    const self = `${instance}:agents:${agent.agentId}`;
    const own = ['ec/1+a=', 'rsa', 'ed'].map((kid) => `${self}#${kid}`);
    const document = answer.json;
    assert.equal(document.id, self);
    assert.equal(document.controller, instance);
    assert.equal(document['@context'][0], 'https://www.w3.org/ns/did/v1');
    assert.deepEqual(document.authentication, own);
    const instanceMethod = (await t.call('GET', '/.well-known/did.json')).json.verificationMethod[0];
    assert.deepEqual(document.assertionMethod, [...own, instanceMethod.id]);
    assert.deepEqual(document.verificationMethod.at(-1), instanceMethod);
    assert.deepEqual(document.agntcy, {
      agentId: agent.agentId,
      agentType: 'screener',
      capabilities: ['resume:read', 'resume:score'],
      deploymentEnv: 'production',
      owner: 'talent-team',
      version: '1.0.0',
    });
    for (const { type, publicKeyJwk } of document.verificationMethod) {
      assert.equal(type, 'JsonWebKey2020');
      for (const [member, value] of Object.entries(publicKeyJwk)) {
        assert.ok(['kty', 'crv', 'x', 'y', 'n', 'e', 'use', 'kid'].includes(member), member);
        assert.equal(typeof value, 'string');
      }
    }
    assert.equal(document.verificationMethod[0].publicKeyJwk.kid, 'ec/1+a=');
    assert.deepEqual((await t.call('GET', `/agents/${agent.agentId}/did.json`)).json, document);
    // Ids are case-insensitive; the document has the lower-case form.
    assert.equal((await did(agent.agentId.toUpperCase())).json.id, self);
  });

  it('has no duplicate ids: 400 VALIDATION_ERROR for a key named like a service', async () => {
    const { agentId } = await make();
    const key = await publicJwk('ec');
    const { service } = (await did(agentId)).json;
    const fragments = service.map(({ id }: { id: string }) => id.split('#')[1]);
    assert.deepEqual(fragments, ['agent-card', 'a2a', 'oasf', 'badge']);
    for (const kid of fragments) {
      const put = await t.call('PUT', `${api}/agents/${agentId}/keys`, {
        token,
        payload: {
          keys: [
            { ...key, kid: 'fine' },
            { ...key, kid },
          ],
        },
      });
      assert.equal(`${put.status} ${put.json.code}`, '400 VALIDATION_ERROR');
      const [{ field, message }] = put.json.details.fields;
      assert.equal(field, 'keys[1]');
      assert.match(message, new RegExp(`kid ${kid}, which is the id of a service`));
    }
    await register(agentId, [
      { ...key, kid: 'A2A' },
      { ...key, kid: 'badge.1' },
    ]);
    const document = (await did(agentId)).json;
    const ids = [...document.verificationMethod, ...document.service].map(({ id }: { id: string }) => id);
    assert.equal(new Set(ids).size, 7);
    const self = `${instance}:agents:${agentId}`;
    assert.deepEqual(document.authentication, [`${self}#A2A`, `${self}#badge.1`]);
  });

  it('404 AGENT_NOT_FOUND for an unknown agent, 400 for a malformed id', async () => {
    for (const url of [
      `${api}/agents/${randomUUID()}/did`,
      `/agents/${randomUUID()}/did.json`,
      `${api}/agents/${randomUUID()}/did/card`,
      `${api}/agents/${randomUUID()}/did/card?format=badge`,
      `/agents/${randomUUID()}/.well-known/agent-card.json`,
    ]) {
      const answer = await t.call('GET', url);
      assert.equal(`${answer.status} ${answer.json.code}`, '404 AGENT_NOT_FOUND', url);
      assert.equal(answer.headers['cache-control'], 'no-store');
    }
    for (const url of [`${api}/agents/x/did`, '/agents/x/did.json', `${api}/agents/%00/did/card`]) {
      const answer = await t.call('GET', url);
      assert.equal(`${answer.status} ${answer.json.code}`, '400 VALIDATION_ERROR', url);
    }
  });

  it('410 AGENT_DECOMMISSIONED once decommissioned; resolution says deactivated; no card', async () => {
    const { agentId } = await make();
    await register(agentId, [await publicJwk('ec')]);
    await t.call('DELETE', `${api}/agents/${agentId}`, { token });
    for (const url of [`${api}/agents/${agentId}/did`, `/agents/${agentId}/did.json`]) {
      const answer = await t.call('GET', url);
      assert.equal(`${answer.status} ${answer.json.code}`, '410 AGENT_DECOMMISSIONED');
    }
    const { didDocument, didDocumentMetadata } = (await resolve(agentId)).json;
    assert.equal(didDocumentMetadata.deactivated, true);
    assert.deepEqual(didDocument.authentication, []);
    assert.deepEqual(
      didDocument.verificationMethod.map(({ controller }: { controller: string }) => controller),
      [instance],
    );
    for (const format of ['', 'a2a', 'oasf', 'badge'])
      assert.equal((await card(agentId, format)).json.code, 'AGENT_NOT_FOUND');
  });

  it('200 while suspended, without authentication methods; no format is signed', async () => {
    const { agentId } = await make();
    await register(agentId, [await publicJwk('ec')]);
    await patch(agentId, { status: 'suspended' });
    const { authentication, verificationMethod } = (await did(agentId)).json;
    assert.deepEqual(authentication, []);
    assert.equal(verificationMethod.length, 2);
    assert.equal((await resolve(agentId)).json.didDocumentMetadata.deactivated, false);
    assert.equal((await card(agentId)).status, 200);
    for (const format of ['a2a', 'oasf', 'badge']) assert.equal((await card(agentId, format)).status, 404);
    await patch(agentId, { status: 'active' });
    assert.equal((await did(agentId)).json.authentication.length, 1);
    assert.equal((await card(agentId, 'badge')).status, 200);
  });

  it('follows the organization: no authentication methods while suspended, deactivated when deleted', async () => {
    const { organizationId, agentId } = await makeTarget('organizationId');
    await register(agentId, [await publicJwk('ec')]);
    const organization = `${api}/organizations/${organizationId}`;
    await t.call('PATCH', organization, { token, payload: { status: 'suspended' } });
    assert.deepEqual((await did(agentId)).json.authentication, []);
    assert.equal((await card(agentId, 'badge')).status, 404);
    await t.call('DELETE', organization, { token });
    assert.equal((await did(agentId)).status, 410);
    assert.equal((await resolve(agentId)).json.didDocumentMetadata.deactivated, true);
  });
});

describe('GET /agents/{agentId}/did/resolve', () => {
  it('200 with the resolution profile, for any agent of the organization', async () => {
    const { organizationId, agentId } = await makeTarget('organizationId');
    const { token: plain } = await agentIn(organizationId, []);
    const answer = await resolve(agentId, plain);
    assert.equal(answer.status, 200, answer.text);
    const type = String(answer.headers['content-type']);
    assert.match(type, /^application\/ld\+json; ?profile="https:\/\/w3id.org\/did-resolution"/);
    const { didDocument, didDocumentMetadata, didResolutionMetadata } = answer.json;
    assert.deepEqual(didDocument, (await did(agentId)).json);
    assert.deepEqual(Object.keys(didDocumentMetadata).sort(), ['created', 'deactivated', 'updated']);
    assert.equal(didResolutionMetadata.contentType, 'application/did+ld+json');
    assert.ok(Math.abs(Date.parse(didResolutionMetadata.retrieved) - t.clock.now()) < 60_000);
  });

  it('404 AGENT_NOT_FOUND for the agent of another organization, 401 without a token', async () => {
    const [{ agentId }, { organizationId }] = [
      await makeTarget('organizationId'),
      await makeTarget('organizationId'),
    ];
    const { token: foreign } = await agentIn(organizationId, ['agents:read', 'agents:write'], 'admin');
    assert.equal((await resolve(agentId, foreign)).json.code, 'AGENT_NOT_FOUND');
    assert.equal((await t.call('GET', `${api}/agents/${agentId}/did/resolve`)).status, 401);
    assert.equal((await resolve(randomUUID())).json.code, 'AGENT_NOT_FOUND');
    assert.equal((await resolve('x')).json.code, 'VALIDATION_ERROR');
  });
});

describe('POLICIES_DIR without a policy for it', () => {
  it('403 FORBIDDEN to resolve, for unknown agents too, with one audit event', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-policies-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(
      join(folder, 'own.cedar'),
      'permit (principal, action == Action::"organizations:list", resource);',
    );
    const strict = await startApp({ POLICIES_DIR: folder });
    const bearer = await strict.token();
    for (const agentId of [strict.operator.agentId, randomUUID()]) {
      const answer = await strict.call('GET', `${api}/agents/${agentId}/did/resolve`, { token: bearer });
      assert.equal(`${answer.status} ${answer.json.code}`, '403 FORBIDDEN');
    }
    const refused = await strict.sql("select 1 from audit_events where action = 'policy.refused'");
    assert.equal(refused.length, 2);
  });
});

describe('a signed format', () => {
  const signed = async (agentId: string) => {
    const envelope = (await card(agentId, 'badge')).json;
    const { credentialSubject } = decodeJwt(envelope.id.split(',')[1]) as {
      credentialSubject: { badge: Record<string, unknown> };
    };
    return {
      a2a: (await card(agentId, 'a2a')).json,
      oasf: (await card(agentId, 'oasf')).json,
      badge: credentialSubject.badge as Record<'description' | 'authors' | 'annotations', never>,
    };
  };

  it('200: names the organization by its id and registered name; the owner is a separate field', async () => {
    const { organizationId } = await makeTarget('organizationId');
    const organization = `${api}/organizations/${organizationId}`;
    const { agentId } = await make({ organization_id: organizationId, owner: 'Another Company' });
    for (const name of ['Some team', 'Renamed <team>']) {
      await t.call('PATCH', organization, { token, payload: { name } });
      const { a2a, oasf, badge } = await signed(agentId);
      assert.deepEqual(a2a.provider, { organization: name, url: 'https://id.example.com:8443' });
      const { params } = a2a.capabilities.extensions[0];
      assert.deepEqual([params.owner, params.organizationId], ['Another Company', organizationId]);
      for (const record of [oasf, badge]) {
        assert.deepEqual(record.authors, [name]);
        const annotations: Record<string, string> = record.annotations;
        assert.equal(annotations.owner, 'Another Company');
        assert.equal(annotations.organizationId, organizationId);
      }
      for (const { description } of [a2a, oasf, badge]) {
        assert.ok(String(description).includes(name));
        assert.ok(!String(description).includes('Another Company'));
      }
    }
    assert.equal((await card(agentId)).json.owner, 'Another Company');
  });
});

describe('GET /agents/{agentId}/did/card', () => {
  it('200 with the nine fields; the name is the local part of the e-mail', async () => {
    const email = `sorter+${randomUUID().slice(0, 8)}@example.com`;
    const { agentId } = await make({ email });
    const answer = await card(agentId);
    const { issuedAt, ...rest } = answer.json;
    assert.deepEqual(rest, {
      did: `${instance}:agents:${agentId}`,
      name: email.slice(0, email.indexOf('@')),
      agentType: 'screener',
      capabilities: ['resume:read'],
      owner: 'talent-team',
      version: '1.0.0',
      deploymentEnv: 'production',
      identityProvider: 'https://id.example.com:8443',
    });
    assert.ok(Math.abs(Date.parse(issuedAt) - t.clock.now()) < 60_000);
    assert.equal(answer.headers['cache-control'], 'public, max-age=60');
  });

  it('400 VALIDATION_ERROR for an unknown format', async () => {
    const { agentId } = await make();
    for (const format of ['pdf', 'A2A', '__proto__', 'card', 'a2a&format=oasf']) {
      const answer = await card(agentId, format);
      assert.equal(`${answer.status} ${answer.json.code}`, '400 VALIDATION_ERROR', format);
    }
  });
});
