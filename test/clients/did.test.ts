/** Verifiers that know only a DID: official resolvers over TLS, `jose` alone, and the official A2A SDK. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { type AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import canonicalize from 'canonicalize';
import { type DIDDocument, Resolver, type VerificationMethod } from 'did-resolver';
import {
  compactVerify,
  exportJWK,
  type FlattenedJWS,
  flattenedVerify,
  importJWK,
  type JWK,
  SignJWT,
} from 'jose';
import { getResolver } from 'web-did-resolver';
import { agentTypes } from '../../src/contract/identity.ts';
import { BadgeCredential, OasfRecord } from '../../src/features/did/formats.ts';
import { oasfRecordSchema } from '../support/clients/oasf.ts';
import { listenSecurely } from '../support/clients/tls.ts';
import { newAgent } from '../support/harness.ts';

const t = await listenSecurely();
const token = await t.token();
const instanceDid = `did:web:${t.host}`;
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const agent = (
  await t.call('POST', '/api/v1/agents', {
    token,
    payload: newAgent({ email: 'sorter@example.com', capabilities: ['resume:read'] }),
  })
).json;
const agentDid = `${instanceDid}:agents:${agent.agentId}`;
await t.call('PUT', `/api/v1/agents/${agent.agentId}/keys`, {
  token,
  payload: { keys: [{ ...(await exportJWK(publicKey)), kid: 'own' }] },
});

const resolver = new Resolver(getResolver() as never);
const resolve = async (did: string): Promise<DIDDocument> => {
  const { didDocument, didResolutionMetadata } = await resolver.resolve(did);
  assert.equal(didResolutionMetadata.error, undefined, JSON.stringify(didResolutionMetadata));
  assert.equal(didDocument?.id, did);
  return didDocument as DIDDocument;
};

/** The key that a DID URL names, if the DID document lists it for that purpose. */
async function keyFor(document: DIDDocument, url: string, purpose: 'assertionMethod' | 'authentication') {
  assert.ok(document[purpose]?.includes(url), `${url} is no ${purpose}`);
  const method = document.verificationMethod?.find(({ id }: VerificationMethod) => id === url);
  return (await importJWK(
    method?.publicKeyJwk as JWK,
    method?.publicKeyJwk?.kty === 'EC' ? 'ES256' : 'RS256',
  )) as CryptoKey;
}

/** Unchecked type: a wrong shape fails the assertions that follow. */
const card = async <Shape extends object>(format: string): Promise<Shape> => {
  const response = await fetch(`${t.baseUrl}/api/v1/agents/${agent.agentId}/did/card?format=${format}`);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  return (await response.json()) as Shape;
};

const ajv = new Ajv({ allErrors: true, strict: false });
(addFormats as unknown as (ajv: Ajv) => void)(ajv);
const valid = (schema: object, value: unknown) => {
  const validate = ajv.compile(schema);
  return validate(value) ? true : ajv.errorsText(validate.errors);
};

/** Changes the signed content; the signature must become invalid. */
const tampered = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value).replace('talent-team', 'other-team')) as T;

describe('did-resolver with web-did-resolver', () => {
  it('resolves the instance and an agent over TLS', async () => {
    const instance = await resolve(instanceDid);
    const document = await resolve(agentDid);
    assert.equal(document.controller, instance.id);
    assert.deepEqual(document.authentication, [`${agentDid}#own`]);
  });

  it('finds the authentication key of the agent', async () => {
    const signed = await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
    const key = await keyFor(await resolve(agentDid), `${agentDid}#own`, 'authentication');
    await compactVerify(signed, key);
  });

  it('reports a decommissioned agent as not found', async () => {
    const { agentId } = (await t.call('POST', '/api/v1/agents', { token, payload: newAgent() })).json;
    await t.call('DELETE', `/api/v1/agents/${agentId}`, { token });
    const { didResolutionMetadata } = await resolver.resolve(`${instanceDid}:agents:${agentId}`);
    assert.equal(didResolutionMetadata.error, 'notFound');
  });
});

describe('a badge', () => {
  it('verifies with the resolved keys and jose alone, by the issuer’s document and by the agent’s', async () => {
    const envelope = await card<{ type: string; id: string }>('badge');
    assert.equal(envelope.type, 'EnvelopedVerifiableCredential');
    const [media, jws = ''] = envelope.id.split(',');
    assert.equal(media, 'data:application/vc+jwt');
    for (const did of [instanceDid, agentDid]) {
      const document = await resolve(did);
      const { payload, protectedHeader } = await compactVerify(jws, ({ kid = '' }) =>
        keyFor(document, kid, 'assertionMethod'),
      );
      assert.equal(protectedHeader.typ, 'vc+jwt');
      const credential = JSON.parse(Buffer.from(payload).toString());
      assert.equal(valid(BadgeCredential, credential), true);
      assert.equal(credential.issuer, instanceDid);
      assert.deepEqual(credential.type, ['VerifiableCredential', 'AgentBadge']);
      assert.equal(credential.credentialSubject.id, agentDid);
      assert.equal(credential.credentialSubject.badge.name, 'sorter');
      assert.equal(valid(oasfRecordSchema, credential.credentialSubject.badge), true);
      assert.ok(Date.parse(credential.validUntil) > t.clock.now());
    }
    const [header = '', payload = '', signature = ''] = jws.split('.');
    const other = Buffer.from(Buffer.from(payload, 'base64url').toString().replace('sorter', 'sneaky'));
    const document = await resolve(instanceDid);
    await assert.rejects(
      compactVerify(`${header}.${other.toString('base64url')}.${signature}`, ({ kid = '' }) =>
        keyFor(document, kid, 'assertionMethod'),
      ),
      { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' },
    );
  });
});

interface SignedRecord {
  readonly schema_version: string;
  readonly annotations: { readonly did: string; readonly organizationId: string };
  readonly signature: { readonly content_bundle: string; readonly signature: string };
}

describe('an OASF record', () => {
  it('matches its schema, and its signature verifies with the agent’s DID document', async () => {
    const record = await card<SignedRecord>('oasf');
    assert.equal(valid(OasfRecord, record), true);
    assert.equal(record.schema_version, '0.7.0');
    assert.equal(record.annotations.did, agentDid);
    assert.equal(record.annotations.organizationId, agent.organizationId);
    const document = await resolve(agentDid);
    const verify = async ({ signature, ...covered }: SignedRecord) => {
      const [header = '', , value = ''] = Buffer.from(signature.content_bundle, 'base64')
        .toString()
        .split('.');
      assert.equal(Buffer.from(value, 'base64url').toString('base64'), signature.signature);
      const payload = Buffer.from(canonicalize(covered) as string).toString('base64url');
      await compactVerify(`${header}.${payload}.${value}`, ({ kid = '' }) =>
        keyFor(document, kid, 'assertionMethod'),
      );
    };
    await verify(record);
    await assert.rejects(verify(tampered(record)), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' });
  });

  it('is a valid OASF 0.7.0 record for every agent type, and names no skill that the capabilities do not name', async () => {
    const skillsOf = async (changes: object) => {
      const payload = newAgent({ ...changes });
      const { agentId } = (await t.call('POST', '/api/v1/agents', { token, payload })).json;
      const { json } = await t.call('GET', `/api/v1/agents/${agentId}/did/card?format=oasf`);
      assert.equal(valid(oasfRecordSchema, json), true);
      assert.equal(valid(OasfRecord, json), true);
      return json.skills.map(({ id }: { id: number }) => id);
    };
    for (const agentType of agentTypes) assert.deepEqual(await skillsOf({ agentType }), []);
    const capabilities = ['resume:read', 'natural_language_generation:summarization'];
    assert.deepEqual(await skillsOf({ agentType: 'screener', capabilities }), [10202]);
  });

  it('is refused by both schemas when its skill mixes the id and name of two classes', async () => {
    const record = await card<{ skills: object[] }>('oasf');
    const [id, name] = [10901, 'natural_language_processing/text_classification/topic_labeling'];
    assert.equal(valid(oasfRecordSchema, { ...record, skills: [{ id, name }] }), true);
    for (const skill of [
      { id: 10902, name },
      { id, name: 'natural_language_processing/guessing' },
      { id: 1 },
    ])
      for (const schema of [oasfRecordSchema, OasfRecord])
        assert.notEqual(valid(schema, { ...record, skills: [skill] }), true);
  });

  it('is refused by the schema when a required field is missing', async () => {
    const record = await card<Record<string, unknown>>('oasf');
    for (const field of [
      'name',
      'version',
      'schema_version',
      'description',
      'authors',
      'created_at',
      'skills',
      'locators',
    ]) {
      const { [field]: _, ...rest } = record;
      for (const schema of [oasfRecordSchema, OasfRecord]) assert.notEqual(valid(schema, rest), true, field);
    }
  });
});

describe('the A2A SDK', () => {
  it('reads the card at its well-known URL and verifies its signature with the DID document', async () => {
    const found = await new DefaultAgentCardResolver().resolve(
      t.baseUrl,
      `/agents/${agent.agentId}/.well-known/agent-card.json`,
    );
    assert.equal(found.name, 'sorter');
    assert.deepEqual(
      found.skills.map(({ id }) => id),
      ['resume:read'],
    );
    const document = await resolve(agentDid);
    const verify = verifyAgentCardSignature((kid) => keyFor(document, kid, 'assertionMethod'));
    await verify(found);
    assert.equal(found.capabilities?.extensions[0]?.params?.organizationId, agent.organizationId);
    assert.deepEqual(canonicalize(await card<object>('a2a')), canonicalize(found));
    await assert.rejects(verify(tampered(found) as AgentCard), /No valid signatures/);
  });

  it('signs a card that also verifies by RFC 7515 and RFC 8785 alone', async () => {
    const { signatures, supportedInterfaces, ...covered } = await card<{
      signatures: [Pick<FlattenedJWS, 'protected' | 'signature'>];
      supportedInterfaces: unknown[];
    }>('a2a');
    assert.deepEqual(supportedInterfaces, []);
    const payload = Buffer.from(canonicalize(covered) as string).toString('base64url');
    const document = await resolve(agentDid);
    await flattenedVerify({ payload, ...signatures[0] }, (header: { kid?: string } | undefined) =>
      keyFor(document, header?.kid ?? '', 'assertionMethod'),
    );
  });
});
