/** The client scenarios of the MCP conformance package, with our SDK as the client's OAuth. */
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { skipWithout } from '../support/harness.ts';
import { findProgram, startProgram } from '../support/programs.ts';

const program = findProgram('conformance');
const client = fileURLToPath(new URL('mcp-conformance-client.ts', import.meta.url));

interface Scenario {
  readonly name: string;
  /** Checks of the package that must be among those that passed. */
  readonly checks: readonly string[];
  /** The error of our client, where it has to give up. */
  readonly refusal?: RegExp;
  readonly specVersion?: string;
}

const latest = '2026-07-28';
const issuerMismatch = /code: 'issuer_mismatch'/;

const scenarios: readonly Scenario[] = [
  { name: 'auth/client-credentials-basic', checks: ['client-credentials-basic-auth'] },
  { name: 'auth/client-credentials-jwt', checks: ['client-credentials-jwt-verified'] },
  { name: 'auth/wif-jwt-bearer', checks: ['wif-assertion-verified'] },
  {
    name: 'auth/enterprise-managed-authorization',
    checks: ['complete-flow-token-exchange', 'complete-flow-jwt-bearer'],
  },
  {
    name: 'auth/dpop',
    checks: [
      'sep-1932-client-token-request-proof',
      'sep-1932-client-dpop-auth-scheme',
      'sep-1932-client-fresh-proof',
    ],
  },
  { name: 'auth/dpop-nonce', checks: ['sep-1932-client-as-nonce', 'sep-1932-client-rs-nonce'] },
  { name: 'auth/basic-cimd', checks: ['cimd-client-id-used'] },
  {
    name: 'auth/token-endpoint-auth-none',
    checks: [
      'token-endpoint-auth-method',
      'resource-parameter-consistency',
      'resource-parameter-matches-prm',
    ],
  },
  { name: 'auth/scope-from-www-authenticate', checks: ['scope-from-www-authenticate'] },
  { name: 'auth/scope-from-scopes-supported', checks: ['scope-from-scopes-supported'] },
  { name: 'auth/scope-omitted-when-undefined', checks: ['scope-omitted-when-undefined'] },
  { name: 'auth/scope-step-up', checks: ['scope-step-up-initial', 'scope-step-up-escalation'] },
  {
    name: 'auth/scope-step-up',
    specVersion: latest,
    checks: ['scope-step-up-escalation', 'sep-2350-scope-union-on-reauth'],
  },
  { name: 'auth/scope-retry-limit', checks: ['scope-retry-limit'], refusal: /mcp:admin/ },
  { name: 'auth/iss-supported', checks: ['sep-2468-client-compare-iss-supported'] },
  { name: 'auth/iss-not-advertised', checks: ['sep-2468-client-proceed-no-iss'] },
  {
    name: 'auth/iss-supported-missing',
    checks: ['sep-2468-client-reject-missing-iss'],
    refusal: issuerMismatch,
  },
  {
    name: 'auth/iss-wrong-issuer',
    checks: ['sep-2468-client-compare-iss-supported'],
    refusal: issuerMismatch,
  },
  {
    name: 'auth/iss-unexpected',
    checks: ['sep-2468-client-compare-iss-unadvertised'],
    refusal: issuerMismatch,
  },
  { name: 'auth/iss-normalized', checks: ['sep-2468-client-no-normalization'], refusal: issuerMismatch },
  {
    name: 'auth/metadata-issuer-mismatch',
    checks: ['sep-2468-client-validate-metadata-issuer'],
    refusal: /they are of https:\/\/attacker\.example\.com/,
  },
  {
    name: 'auth/resource-mismatch',
    checks: ['resource-mismatch-rejected'],
    refusal: /they are of https:\/\/evil\.example\.com\/mcp/,
  },
];

describe('the MCP conformance package, with our SDK as client', () => {
  for (const { name, checks, refusal, specVersion } of scenarios)
    it(`passes ${name}${specVersion === undefined ? '' : ` of ${specVersion}`}`, async (context) => {
      if (program === undefined)
        return skipWithout(context, 'conformance (@modelcontextprotocol/conformance)');
      const run = startProgram(
        process.execPath,
        [
          ...[realpathSync(program), 'client', '--scenario', name, '--timeout', '120000'],
          ...['--command', `${process.execPath} ${client}`],
          ...(specVersion === undefined ? [] : ['--spec-version', specVersion]),
        ],
        { env: { PATH: process.env.PATH } },
      );
      const status = await run.gone();
      const output = stripVTControlCharacters(run.output());
      assert.equal(status, 0, output);
      assert.match(output, /Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/);
      for (const check of checks) assert.match(output, new RegExp(`\\[${check} *\\] SUCCESS`));
      assert.equal(/Client exited with code/.test(output), refusal !== undefined, output);
      if (refusal) assert.match(output, refusal);
    });
});
