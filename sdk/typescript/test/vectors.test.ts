/** The vectors that all SDKs share: sdk/vectors.json. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { JSONWebKeySet } from 'jose';
import type { AuditExportCase } from '../../../test/support/sdk/export-changes.ts';
import type { WebhookCase } from '../../../test/support/sdk/webhook-cases.ts';
import {
  AuditExportError,
  createVerifier,
  requireDetail,
  type Subjects,
  TokenError,
  verifyAuditExport,
  verifyWebhook,
  WebhookError,
} from '../src/sdk.ts';

interface TokenEntry {
  readonly name: string;
  readonly acceptAnyOrganization: boolean;
  readonly subjects: Subjects;
  readonly token: string;
  readonly at?: number;
  readonly require?: {
    readonly scopes?: readonly string[];
    readonly maxDepth?: number;
    readonly detail?: string;
  };
}

interface Vectors {
  readonly tokens: {
    readonly issuer: string;
    readonly audience: string;
    readonly organizationId: string;
    readonly jwks: JSONWebKeySet;
    readonly accepted: readonly (TokenEntry & { readonly verified: object })[];
    readonly refused: readonly (TokenEntry & { readonly reason: string; readonly code: string })[];
  };
  readonly webhooks: readonly WebhookCase[];
  readonly auditExports: readonly (AuditExportCase & { readonly line?: number })[];
}

const { tokens, webhooks, auditExports }: Vectors = JSON.parse(
  readFileSync(new URL('../../vectors.json', import.meta.url), 'utf8'),
);

const verify = async ({ token, acceptAnyOrganization, subjects, at, require }: TokenEntry) => {
  const { issuer, audience, organizationId, jwks } = tokens;
  const verifier = createVerifier({
    ...{ issuer, audience, jwks, subjects, revocation: 'none' },
    ...(acceptAnyOrganization ? { acceptAnyOrganization } : { organizationId }),
    platform: at === undefined ? {} : { now: () => at * 1000 },
  });
  const verified = await verifier.verify({ headers: { authorization: `Bearer ${token}` } }, require);
  if (require?.detail !== undefined)
    assert.equal(requireDetail(verified, require.detail).type, require.detail);
  return verified;
};

describe('tokens that are accepted', () => {
  for (const each of tokens.accepted)
    it(each.name, async () => {
      const { claims, chainId = null, ...verified } = await verify(each);
      assert.deepEqual({ ...verified, chainId }, each.verified);
    });
});

describe('tokens that are refused', () => {
  for (const each of tokens.refused)
    it(`${each.code}: ${each.name}`, async () => {
      await assert.rejects(verify(each), (error) => {
        assert.ok(error instanceof TokenError);
        assert.equal(error.code, each.code);
        assert.equal(error.status, each.code.startsWith('insufficient_') ? 403 : 401);
        assert.ok(error.message.includes(each.reason), error.message);
        assert.match(error.wwwAuthenticate, /^Bearer( [\x20-\x7e]*)?$/);
        return true;
      });
    });
});

describe('webhooks', () => {
  const asHeaders = ({ headers }: WebhookCase) =>
    new Headers(
      Object.entries(headers).flatMap(([name, values]) =>
        [values].flat().map((value): [string, string] => [name, value]),
      ),
    );
  const isAscii = (each: WebhookCase) =>
    Object.values(each.headers)
      .flat()
      .every((value) => /^[\x20-\x7e]*$/.test(value));

  for (const each of webhooks) {
    const { name, body, headers, secrets, now, valid, reason } = each;
    it(`${valid ? 'accepted' : reason}: ${name}`, async () => {
      for (const rawBody of [body, new TextEncoder().encode(body), new TextEncoder().encode(body).buffer])
        for (const form of isAscii(each) ? [headers, asHeaders(each)] : [headers]) {
          const result = verifyWebhook(rawBody, form, secrets, { now: now * 1000 });
          if (valid) assert.deepEqual(await result, JSON.parse(body));
          else
            await assert.rejects(result, (error) => error instanceof WebhookError && error.code === reason);
        }
    });
  }
});

describe('audit exports', () => {
  async function* stream(lines: readonly string[]) {
    yield* lines;
  }

  for (const { name, lines, checkpoint, jwks, log, valid, problem, line, ...expected } of auditExports)
    it(`${valid ? 'intact' : problem}: ${name}`, async () => {
      const { witnessed = null, day = null } = expected;
      const keys = { jwks: jwks as JSONWebKeySet, ...(log && { log }) };
      for (const source of [lines, stream(lines)]) {
        const result = verifyAuditExport(source, checkpoint, keys);
        if (valid) {
          const { kind, signed, ...counts } = JSON.parse(lines.findLast((text) => text !== '') as string);
          const { at, organizationId, ...found } = await result;
          assert.deepEqual(found, { ...counts, day, witnessed });
        } else
          await assert.rejects(result, (error) => {
            assert.ok(error instanceof AuditExportError);
            assert.deepEqual([error.code, error.line], [problem, line]);
            return true;
          });
      }
    });
});

it('only the listener on loopback uses Node.js, so that the rest works in workers and browsers', () => {
  const folder = fileURLToPath(new URL('../src', import.meta.url));
  for (const file of globSync('**/*.ts', { cwd: folder }).filter((path) => path !== 'loopback.ts'))
    assert.doesNotMatch(
      readFileSync(join(folder, file), 'utf8'),
      /from 'node:|\bBuffer\.|\bprocess\.|\brequire\(/,
      file,
    );
});
