/** Signing in by a secret, step by step, with fake ports: what changes between the first check and the lock. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../kernel/fail.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import type { ConsoleDeps } from '../feature.ts';
import type { Sessions } from './service.ts';
import { createSignIn } from './sign-in.ts';

type SignInEligibility = NonNullable<Awaited<ReturnType<ConsoleDeps['findEligibility']>>>;

const clientId = '00000000-0000-4000-8000-00000000000A';
const agentId = clientId.toLowerCase();
const eligible: SignInEligibility = {
  organizationId: 'o',
  organizationStatus: 'active',
  needsProof: false,
  scopes: [],
};

interface Fixture {
  /** Of the first check, and of the one under the lock. */
  readonly credentials?: readonly (string | undefined)[];
  readonly eligibility?: SignInEligibility | undefined;
}

function createFixture({ credentials = ['credential-1', 'credential-1'], ...given }: Fixture = {}) {
  const eligibility = 'eligibility' in given ? given.eligibility : eligible;
  const left = [...credentials];
  const counted: unknown[] = [];
  const refusals: Record<string, unknown>[] = [];
  const created: object[] = [];
  const used: string[] = [];
  const asked: string[] = [];
  const signIn = createSignIn(
    {
      db: {
        transaction: (work: (tx: object) => unknown) =>
          work({ afterCommit: (task: () => void) => task(), maybe: async () => undefined }),
        maybe: async () => undefined,
      },
      clock: { now: () => 0 },
      findCredential: async (_db: unknown, id: string) => {
        asked.push(id);
        return left.shift();
      },
      recordUse: (id: string) => used.push(id),
      findEligibility: async () => eligibility,
      lockEligibility: async () => eligibility,
    } as unknown as ConsoleDeps,
    {
      requireSafeCookies() {},
      recordRefusal: async (_origin: unknown, refusal: Record<string, unknown>) =>
        void refusals.push(refusal),
      create: async (_tx: unknown, _origin: unknown, session: object) => {
        created.push(session);
        return 'set-cookie';
      },
    } as unknown as Sessions,
  );
  const run = async (body: object) => {
    try {
      return await signIn({
        body,
        cookies: undefined,
        origin: {},
        countAgainst: async (subject: unknown) => void counted.push(subject),
      } as unknown as Parameters<typeof signIn>[0]);
    } catch (error) {
      if (error instanceof ApiError) return `${error.code}: ${error.message}`;
      throw error;
    }
  };
  return { run, counted, refusals, created, used, asked };
}
const body = { clientId, clientSecret: 'secret' };
const wrongSecret = /^UNAUTHORIZED: Client authentication failed/;

describe('signing in by a secret', () => {
  it('begins a session of the credential, counts against the client and records the use', async () => {
    const { run, counted, created, used, refusals } = createFixture();
    assert.equal(await run(body), 'set-cookie');
    assert.deepEqual(counted, [{ clientId: agentId }]);
    const session = {
      method: 'client',
      agentId,
      organizationId: 'o',
      scopes: [],
      credentialId: 'credential-1',
    };
    assert.deepEqual(created, [session]);
    assert.deepEqual([used, refusals], [['credential-1'], []]);
  });
  it('401 UNAUTHORIZED for a wrong secret, counted against the address', async () => {
    const { run, counted, created, refusals } = createFixture({ credentials: [] });
    assert.match(await run(body), wrongSecret);
    assert.deepEqual([counted, created], [['address'], []]);
    assert.equal(refusals[0]?.agentId, agentId);
  });
  it('401 UNAUTHORIZED for a client id that is no UUID, with the same look-up', async () => {
    const { run, asked } = createFixture({ credentials: [] });
    assert.match(await run({ ...body, clientId: 'x' }), wrongSecret);
    assert.deepEqual(asked, [nilUuid]);
  });
  it('401 UNAUTHORIZED when the secret ends between the check and the lock', async () => {
    const { run, created, used } = createFixture({ credentials: ['credential-1', undefined] });
    assert.match(await run(body), wrongSecret);
    assert.deepEqual([created, used], [[], []]);
  });
  it('401 UNAUTHORIZED when the agent ends between the check and the lock', async () => {
    const { run, created, refusals } = createFixture({ eligibility: undefined });
    assert.match(await run(body), wrongSecret);
    assert.deepEqual(created, []);
    assert.equal(refusals[0]?.organizationId, nilUuid);
  });
  it('401 UNAUTHORIZED with the problem of the agent', async () => {
    const eligibility = { ...eligible, problem: 'the agent is suspended' };
    const { run, created } = createFixture({ eligibility });
    assert.equal(await run(body), 'UNAUTHORIZED: The agent is suspended.');
    assert.deepEqual(created, []);
  });
  it('403 ORG_SUSPENDED for a proven client only', async () => {
    const eligibility = { ...eligible, organizationStatus: 'suspended', problem: 'suspended' } as const;
    assert.match(await createFixture({ eligibility }).run(body), /^ORG_SUSPENDED/);
    assert.match(await createFixture({ eligibility, credentials: [] }).run(body), wrongSecret);
  });
  for (const wrong of [
    {},
    { clientId },
    { clientSecret: 'secret' },
    { code: 'c', clientId },
    { code: 'c', clientSecret: 'secret' },
    { code: 'c', ...body },
  ])
    it(`400 VALIDATION_ERROR with ${Object.keys(wrong).join(' and ') || 'nothing'}`, async () => {
      const { run, asked } = createFixture();
      assert.match(await run(wrong), /^VALIDATION_ERROR/);
      assert.deepEqual(asked, []);
    });
});

it('a code is judged by its prefix, and an unknown one counts against the address', async () => {
  const { run, counted, refusals } = createFixture();
  assert.match(await run({ code: 'unknown' }), /^UNAUTHORIZED: The link was used already/);
  assert.deepEqual(counted, ['address']);
  assert.equal(refusals[0]?.method, 'link');
});
