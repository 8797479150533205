import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  accepted,
  acceptedBySdks,
  refused,
  refusedBySdks,
  type TokenCase,
} from '../support/scaffold/access-token-cases.ts';
import { webhookCases } from '../support/sdk/webhook-cases.ts';

interface SignedCase {
  readonly name: string;
  readonly acceptAnyOrganization: boolean;
  readonly subjects: string;
  readonly token: string;
}

const file: {
  accepted: readonly (SignedCase & { verified: object })[];
  refused: readonly (SignedCase & { reason: string; code: string })[];
} = JSON.parse(
  readFileSync(new URL('../../scaffolds/shared/testdata/access-token-cases.json', import.meta.url), 'utf8'),
);

const decode = ({ name, acceptAnyOrganization, subjects, token }: SignedCase) => {
  const [header, payload] = token
    .split('.', 2)
    .map((part) => JSON.parse(`${Buffer.from(part, 'base64url')}`));
  return { name, acceptAnyOrganization, subjects, header, payload };
};

const declared = ({ name, acceptAnyOrganization, subjects, header, payload }: TokenCase) => ({
  name,
  acceptAnyOrganization,
  subjects,
  header,
  payload,
});

test('the signed tokens are the declared cases (npm run token-cases writes them)', () => {
  assert.deepEqual(
    file.accepted.map((each) => ({ ...decode(each), verified: each.verified })),
    accepted.map((each) => ({ ...declared(each), verified: each.verified })),
  );
  assert.deepEqual(
    file.refused
      .filter(({ name }) => !name.startsWith('not a token'))
      .map((each) => ({ ...decode(each), reason: each.reason, code: each.code })),
    refused.map((each) => ({ ...declared(each), reason: each.reason, code: each.code ?? 'invalid_token' })),
  );
});

test('case names are unique', () => {
  for (const cases of [file.accepted, file.refused])
    assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length);
});

test('sdk/vectors.json has these tokens, the further cases of the SDKs, and the declared webhooks', () => {
  const { tokens, webhooks } = JSON.parse(
    readFileSync(new URL('../../sdk/vectors.json', import.meta.url), 'utf8'),
  );
  const written = <T>(value: T): unknown => JSON.parse(JSON.stringify(value));
  assert.deepEqual(tokens.accepted.slice(0, file.accepted.length), file.accepted);
  assert.deepEqual(
    tokens.accepted
      .slice(file.accepted.length)
      .map((each: SignedCase & TokenCase & { verified: object }) => ({
        ...decode(each),
        ...(written({ verified: each.verified, at: each.at, require: each.require }) as object),
      })),
    acceptedBySdks.map(({ verified, at, require, ...each }) => ({
      ...declared(each),
      ...(written({ verified, at, require }) as object),
    })),
  );
  assert.deepEqual(
    tokens.refused.map(({ name }: SignedCase) => name),
    [...file.refused, ...refusedBySdks].map(({ name }) => name),
  );
  assert.deepEqual(webhooks, written(webhookCases));
});
