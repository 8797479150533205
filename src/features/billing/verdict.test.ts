import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SubscriptionStatus } from '../../kernel/ports/payments.ts';
import type { StoredSubscription } from './store.ts';
import { givenBy, judge, judgeAnswer, planAfter } from './verdict.ts';

type Known = Parameters<typeof judgeAnswer>[0];
type Told = Parameters<typeof judge>[1];

const told = (changes: Partial<Told> = {}): Told => ({
  subscriptionId: 'a',
  status: 'active',
  tier: 'pro',
  subscribedAt: '2026-01-01T00:00:00.000Z',
  ...changes,
});
const known = (changes: Partial<StoredSubscription> = {}): Known => ({
  subscriptionId: 'a',
  status: 'active',
  grantedTier: 'pro',
  subscribedAt: '2026-01-01T00:00:00.000Z',
  asOf: '2026-02-01T00:00:00.000Z',
  ...changes,
});
const earlier = '2026-01-31T23:59:59.999Z';
const same = '2026-02-01T00:00:00.000Z';
const later = '2026-02-01T00:00:00.001Z';

describe('what an event means for what is known', () => {
  for (const [what, before, event, at, verdict] of [
    ['nothing is known', undefined, told(), same, 'apply'],
    ['it happened later', known(), told(), later, 'apply'],
    ['it happened before', known(), told(), earlier, 'late'],
    ['it happened in the same moment', known(), told(), same, 'ask'],
    ['the subscription has ended', known({ status: 'canceled', grantedTier: null }), told(), later, 'late'],
    ['another one is paid as well', known(), told({ subscriptionId: 'b' }), later, 'ask'],
    ['another one is not paid', known(), told({ subscriptionId: 'b', status: 'incomplete' }), later, 'late'],
    ['another one ends', known(), told({ subscriptionId: 'b', status: 'canceled' }), later, 'late'],
    [
      'a newer one follows one that gives nothing',
      known({ status: 'canceled', grantedTier: null }),
      told({ subscriptionId: 'b', subscribedAt: '2026-03-01T00:00:00.000Z' }),
      earlier,
      'apply',
    ],
    [
      'an older one is paid, the newer gives nothing',
      known({ status: 'canceled', grantedTier: null }),
      told({ subscriptionId: 'b', subscribedAt: '2025-03-01T00:00:00.000Z' }),
      later,
      'ask',
    ],
    [
      'an older one ends, the newer gives nothing',
      known({ status: 'incomplete', grantedTier: null }),
      told({ subscriptionId: 'b', status: 'canceled', subscribedAt: '2025-03-01T00:00:00.000Z' }),
      later,
      'late',
    ],
  ] as const) {
    it(`${verdict} when ${what}`, () => assert.equal(judge(before, event, at), verdict));
  }
  it('once asked: the same one counts as it is; another one if it is paid, and not older than one that is', () => {
    const [older, newer] = ['2025-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'];
    const b = (changes: Partial<Told>) => told({ subscriptionId: 'b', ...changes });
    assert.equal(judgeAnswer(known(), told({ status: 'canceled' })), 'apply');
    assert.equal(judgeAnswer(known(), b({ subscribedAt: newer })), 'apply');
    assert.equal(judgeAnswer(known(), b({ subscribedAt: newer, status: 'canceled' })), 'late');
    assert.equal(judgeAnswer(known(), b({ subscribedAt: older })), 'late');
    assert.equal(judgeAnswer(known({ grantedTier: null }), b({ subscribedAt: older })), 'apply');
  });
  it('however its events are shuffled and repeated, a life ends as it ended', () => {
    const status = fc.constantFrom<SubscriptionStatus>('incomplete', 'active', 'past_due');
    const lives = fc.record({
      statuses: fc.array(status, { minLength: 1, maxLength: 8 }),
      ends: fc.boolean(),
      keys: fc.array(fc.nat(), { minLength: 20, maxLength: 20 }),
    });
    fc.assert(
      fc.property(lives, ({ statuses, ends, keys }) => {
        const life = [...statuses, ...(ends ? (['canceled'] as const) : [])].map((status, second) => ({
          ...told({ status }),
          at: new Date(second * 1000 + 1).toISOString(),
        }));
        const arrivals = [...life, ...life].sort((a, b) => {
          const key = (x: typeof a) => keys[life.indexOf(x) % keys.length] ?? 0;
          return key(a) - key(b);
        });
        let now: Known | undefined;
        for (const event of arrivals) {
          // Asked about the same moment, the provider says what the event says: it is the same event.
          if (judge(now, event, event.at) === 'late') continue;
          now = known({ status: event.status, grantedTier: givenBy(event), asOf: event.at });
        }
        assert.equal(now?.status, life.at(-1)?.status);
      }),
    );
  });
});

describe('the plan after a payment, or the end of one', () => {
  for (const [plan, gave, gives, after] of [
    ['free', null, 'pro', 'pro'],
    ['free', null, null, 'free'],
    ['pro', 'pro', 'pro', 'pro'],
    ['pro', 'pro', 'enterprise', 'enterprise'],
    ['enterprise', 'enterprise', 'pro', 'pro'],
    ['pro', 'pro', null, 'free'],
    // From here on the operator has chosen the plan.
    ['enterprise', null, 'pro', 'enterprise'],
    ['enterprise', 'pro', null, 'enterprise'],
    ['pro', null, 'enterprise', 'enterprise'],
    ['pro', null, null, 'pro'],
    ['free', 'pro', 'pro', 'free'],
    ['free', 'pro', null, 'free'],
    ['pro', 'enterprise', null, 'pro'],
  ] as const) {
    it(`${plan}, of which it gave ${gave ?? 'nothing'} and gives ${gives ?? 'nothing'}: ${after}`, () =>
      assert.equal(planAfter(plan, gave, gives), after));
  }
});
