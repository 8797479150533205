import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SignInPrompt } from '../kernel/ports/openid-provider.ts';
import type { Outbound } from '../kernel/ports/outbound.ts';
import { createOpenIdProvider } from './openid-connect.ts';

const clock = { now: () => 0 } as never;
const secrets = { state: 'a', nonce: 'b', codeVerifier: 'c'.repeat(43) };

/** The parameters of the authorization request that depend on the prompt. */
async function asked(issuer: string, listed: readonly string[] | undefined, prompt?: SignInPrompt) {
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    ...(listed && { prompt_values_supported: listed }),
  };
  const outbound = {
    send: async () => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(metadata)),
    }),
  } as unknown as Outbound;
  const settings = { issuer, clientId: 'id', clientSecret: 'secret', name: 'Company', scopes: ['openid'] };
  const provider = createOpenIdProvider(settings, { outbound, clock, redirectUri: 'https://us.example/cb' });
  const { searchParams } = new URL(await provider.authorizationUrl(secrets, prompt));
  return ['prompt', 'max_age', 'login_hint'].map((name) => searchParams.get(name));
}

const company = 'https://login.company.example';
const google = 'https://accounts.google.com';
const again = { reauthenticate: true };
const other = { switchAccount: true };
const cases: [string, readonly string[] | undefined, SignInPrompt | undefined, (string | null)[]][] = [
  [company, undefined, undefined, [null, null, null]],
  [company, undefined, { loginHint: 'ada' }, [null, null, 'ada']],
  [company, undefined, again, ['login', '0', null]],
  [company, undefined, other, ['login', null, null]],
  [company, ['none', 'login', 'consent'], { ...again, ...other }, ['login', '0', null]],
  [company, ['none', 'login', 'select_account'], again, ['login', '0', null]],
  [company, ['none', 'login', 'select_account'], other, ['select_account', null, null]],
  [company, ['login', 'select_account'], { ...again, ...other }, ['login select_account', '0', null]],
  [google, undefined, again, ['select_account', '0', null]],
  [google, undefined, other, ['select_account', null, null]],
];

it('asks with prompts that the provider knows', async () => {
  for (const [issuer, listed, prompt, expected] of cases)
    assert.deepEqual(await asked(issuer, listed, prompt), expected, JSON.stringify([issuer, listed, prompt]));
});
