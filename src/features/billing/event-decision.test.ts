import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SubscriptionStatus } from '../../kernel/ports/payments.ts';
import { decide, decideAfterLookup, grantedTierOf, planAfter } from './event-decision.ts';
import type { StoredSubscription } from './store.ts';

type Known = Parameters<typeof decideAfterLookup>[0];
type Reported = Parameters<typeof decide>[1];

const reported = (changes: Partial<Reported> = {}): Reported => ({
  subscriptionId: 'a',
  status: 'active',
  tier: 'pro',
  subscribedAt: '2026-01-01T00:00:00.000Z',
  ...changes,
});
const stored = (changes: Partial<StoredSubscription> = {}): Known => ({
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

describe('the decision about an event', () => {
  for (const [what, before, event, at, decision] of [
    ['nothing is stored', undefined, reported(), same, 'apply'],
    ['it happened later', stored(), reported(), later, 'apply'],
    ['it happened before', stored(), reported(), earlier, 'late'],
    ['it happened at the same time', stored(), reported(), same, 'lookup'],
    [
      'the subscription has ended',
      stored({ status: 'canceled', grantedTier: null }),
      reported(),
      later,
      'late',
    ],
    ['another one is paid as well', stored(), reported({ subscriptionId: 'b' }), later, 'lookup'],
    [
      'another one is not paid',
      stored(),
      reported({ subscriptionId: 'b', status: 'incomplete' }),
      later,
      'late',
    ],
    ['another one ends', stored(), reported({ subscriptionId: 'b', status: 'canceled' }), later, 'late'],
    [
      'a newer one follows one that grants nothing',
      stored({ status: 'canceled', grantedTier: null }),
      reported({ subscriptionId: 'b', subscribedAt: '2026-03-01T00:00:00.000Z' }),
      earlier,
      'apply',
    ],
    [
      'an older one is paid, the newer grants nothing',
      stored({ status: 'canceled', grantedTier: null }),
      reported({ subscriptionId: 'b', subscribedAt: '2025-03-01T00:00:00.000Z' }),
      later,
      'lookup',
    ],
    [
      'an older one ends, the newer grants nothing',
      stored({ status: 'incomplete', grantedTier: null }),
      reported({ subscriptionId: 'b', status: 'canceled', subscribedAt: '2025-03-01T00:00:00.000Z' }),
      later,
      'late',
    ],
  ] as const) {
    it(`${decision} when ${what}`, () => assert.equal(decide(before, event, at), decision));
  }
  it('after a lookup: the same subscription applies; another one if it is paid and not older than a paid one', () => {
    const [older, newer] = ['2025-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'];
    const b = (changes: Partial<Reported>) => reported({ subscriptionId: 'b', ...changes });
    assert.equal(decideAfterLookup(stored(), reported({ status: 'canceled' })), 'apply');
    assert.equal(decideAfterLookup(stored(), b({ subscribedAt: newer })), 'apply');
    assert.equal(decideAfterLookup(stored(), b({ subscribedAt: newer, status: 'canceled' })), 'late');
    assert.equal(decideAfterLookup(stored(), b({ subscribedAt: older })), 'late');
    assert.equal(decideAfterLookup(stored({ grantedTier: null }), b({ subscribedAt: older })), 'apply');
  });
  it('in any order and with repeats, the events of a subscription lead to its last state', () => {
    const status = fc.constantFrom<SubscriptionStatus>('incomplete', 'active', 'past_due');
    const histories = fc.record({
      statuses: fc.array(status, { minLength: 1, maxLength: 8 }),
      ends: fc.boolean(),
      keys: fc.array(fc.nat(), { minLength: 20, maxLength: 20 }),
    });
    fc.assert(
      fc.property(histories, ({ statuses, ends, keys }) => {
        const history = [...statuses, ...(ends ? (['canceled'] as const) : [])].map((status, second) => ({
          ...reported({ status }),
          at: new Date(second * 1000 + 1).toISOString(),
        }));
        const arrivals = [...history, ...history].sort((a, b) => {
          const key = (x: typeof a) => keys[history.indexOf(x) % keys.length] ?? 0;
          return key(a) - key(b);
        });
        let now: Known | undefined;
        for (const event of arrivals) {
          // For the same time the provider reports the state of the event: it is the same event.
          if (decide(now, event, event.at) === 'late') continue;
          now = stored({ status: event.status, grantedTier: grantedTierOf(event), asOf: event.at });
        }
        assert.equal(now?.status, history.at(-1)?.status);
      }),
    );
  });
});

describe('the plan after a payment or the end of a subscription', () => {
  for (const [plan, gave, gives, after] of [
    ['free', null, 'pro', 'pro'],
    ['free', null, null, 'free'],
    ['pro', 'pro', 'pro', 'pro'],
    ['pro', 'pro', 'enterprise', 'enterprise'],
    ['enterprise', 'enterprise', 'pro', 'pro'],
    ['pro', 'pro', null, 'free'],
    // From here on an operator has set the plan.
    ['enterprise', null, 'pro', 'enterprise'],
    ['enterprise', 'pro', null, 'enterprise'],
    ['pro', null, 'enterprise', 'enterprise'],
    ['pro', null, null, 'pro'],
    ['free', 'pro', 'pro', 'free'],
    ['free', 'pro', null, 'free'],
    ['pro', 'enterprise', null, 'pro'],
  ] as const) {
    it(`${after} after ${plan}, when the granted tier changes from ${gave ?? 'none'} to ${gives ?? 'none'}`, () =>
      assert.equal(planAfter(plan, gave, gives), after));
  }
});
