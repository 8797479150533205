/** Boundaries in time, with a fixed clock and a fake database. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../kernel/fail.ts';
import type { CredentialDeps } from './feature.ts';
import type { Credential } from './schema.ts';
import { createCredentialService } from './service.ts';
import { createCredentialUses } from './uses.ts';

const now = Date.parse('2030-01-01T00:00:00.000Z');
const isoAt = (time: number) => new Date(time).toISOString();

describe('the last use of a credential', () => {
  function createFixture() {
    const state = { now, isDown: false };
    const written: number[] = [];
    const db = {
      run: async (_name: string, { values }: { values: unknown[] }) => {
        if (state.isDown) throw new Error('no database');
        written.push((values[0] as string[]).length);
      },
    };
    const uses = createCredentialUses({ db, clock: { now: () => state.now } } as unknown as CredentialDeps);
    return { ...uses, state, written };
  }

  it('is written once a minute, forwards and backwards', async () => {
    const { recordUse, flushUses, state, written } = createFixture();
    await flushUses();
    assert.deepEqual(written, []);
    for (const offset of [0, 59_999, -59_999]) {
      state.now = now + offset;
      recordUse('a');
      await flushUses();
    }
    assert.deepEqual(written, [1]);
    state.now = now + 60_000;
    recordUse('a');
    await flushUses();
    assert.deepEqual(written, [1, 1]);
  });
  it('is written later when the database was unavailable, and a newer use wins', async () => {
    const { recordUse, flushUses, state, written } = createFixture();
    state.isDown = true;
    recordUse('a');
    await assert.rejects(flushUses(), /no database/);
    state.isDown = false;
    state.now = now + 60_000;
    recordUse('a');
    recordUse('b');
    await flushUses();
    assert.deepEqual(written, [2]);
  });
  it('is not recorded while 30000 others wait', async () => {
    const { recordUse, flushUses, written } = createFixture();
    for (let count = 0; count < 30_001; count += 1) recordUse(String(count));
    await flushUses();
    recordUse('30000');
    await flushUses();
    assert.deepEqual(written, [30_000, 1]);
  });
});

it('a secret is valid when an active credential has it', async () => {
  for (const [found, expected] of [
    [{ credentialId: 'credential-1' }, true],
    [undefined, false],
  ] as const) {
    const deps = { db: { maybe: async () => found }, clock: { now: () => now } };
    const service = createCredentialService(deps as unknown as CredentialDeps, { flushUses: async () => {} });
    assert.equal(await service.isValidSecret('agent-1', 'cs_x'), expected);
  }
});

describe('the expiry of a credential', () => {
  const stored = (expiresAt: string | null): Credential => ({
    credentialId: 'credential-1',
    clientId: 'agent-1',
    name: null,
    status: 'active',
    createdAt: isoAt(0),
    expiresAt,
    revokedAt: null,
    lastUsedAt: null,
  });
  function createService(expiresAt: string | null = null) {
    const tx = { run: async () => {}, maybe: async () => stored(expiresAt) };
    const agent = { agentId: 'agent-1', organizationId: 'o', status: 'active', allowedScopes: [] };
    const deps = {
      db: { transaction: (work: (given: typeof tx) => unknown) => work(tx) },
      clock: { now: () => now },
      ids: { secret: () => 'cs_new', uuid: () => 'credential-2' },
      ledger: { record: async () => {} },
      lockAgent: async () => agent,
      refuseImpersonation: async () => {},
    };
    return createCredentialService(deps as unknown as CredentialDeps, { flushUses: async () => {} });
  }
  const caller = {} as never;
  const path = { agentId: 'agent-1', credentialId: 'credential-1' };
  const refused = (error: unknown) => error instanceof ApiError && error.code === 'VALIDATION_ERROR';

  it('must be later than now', async () => {
    const { generate, rotate } = createService();
    for (const time of [now, now - 1]) {
      await assert.rejects(generate(caller, 'agent-1', { expiresAt: isoAt(time) }), refused);
      await assert.rejects(rotate(caller, path, { expiresAt: isoAt(time) }), refused);
    }
    const { expiresAt } = await generate(caller, 'agent-1', { expiresAt: isoAt(now + 1) });
    assert.equal(expiresAt, isoAt(now + 1));
  });
  it('stays in a rotation until it has passed', async () => {
    for (const expiresAt of [null, isoAt(now + 1)])
      assert.equal((await createService(expiresAt).rotate(caller, path, {})).expiresAt, expiresAt);
    await assert.rejects(createService(isoAt(now)).rotate(caller, path, {}), refused);
    assert.equal((await createService(isoAt(now)).rotate(caller, path, { expiresAt: null })).expiresAt, null);
  });
});
