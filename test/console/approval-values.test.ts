/** The logic behind the pages of approvals. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exactText, fieldsOf } from '../../console/src/components/detail-fields.ts';
import { durationText } from '../../console/src/components/duration-text.ts';
import {
  valuesOf as apiValuesOf,
  changeOf,
  newDetailType,
  problemsOf,
} from '../../console/src/pages/apis/dialogs/api-values.ts';
import {
  approvalOf,
  chosenOf,
  durationsOf,
  firstChoice,
  wantedOf,
} from '../../console/src/pages/approvals/approval-words.ts';
import {
  policyOf,
  policyProblems,
  valuesOf,
} from '../../console/src/pages/organization/approvals/approval-policy.ts';
import { decisionTime } from '../../console/src/pages/overview/decision-time.ts';

describe('the details of an action', () => {
  it('one row for each value, whatever it is nested in', () => {
    const detail = {
      amount: 120.5,
      payee: { name: 'ACME', verified: true, note: null },
      items: [{ sku: 'a' }, 'b', []],
      empty: {},
      blank: '',
    };
    assert.deepEqual(
      fieldsOf(detail).map(({ path, value, kind }) => [path.join(' › '), value, kind]),
      [
        ['amount', '120.5', 'number'],
        ['blank', '', 'word'],
        ['payee › name', 'ACME', 'text'],
        ['payee › verified', 'yes', 'word'],
        ['payee › note', 'nothing', 'word'],
        ['items › 1 › sku', 'a', 'text'],
        ['items › 2', 'b', 'text'],
        ['items › 3', 'empty list', 'word'],
        ['empty', 'empty', 'word'],
      ],
    );
  });

  it('names that JavaScript knows are names like others', () => {
    const detail = JSON.parse('{"__proto__": {"toString": 1}, "constructor": "x"}');
    assert.deepEqual(
      fieldsOf(detail).map(({ path }) => path),
      [['constructor'], ['__proto__', 'toString']],
    );
  });

  it('nothing invisible stays invisible', () => {
    assert.equal(exactText('a\u202Eb\u0000c\u2066d\u200Be\u3164f\u2028g'), 'a␣b␣c␣d␣e␣f␣g');
    assert.equal(exactText('one\n\n\ttwo\r'), 'one↵\n↵\n⇥two␣');
    assert.equal(exactText('<b>ö 👩‍🚀</b>'), '<b>ö 👩‍🚀</b>');
  });
});

describe('an approval', () => {
  const asked = { scopes: ['orders:read', 'orders:refund'], accessExpiresIn: 5_400 };

  it('names scopes, or the types of details without scopes', () => {
    assert.equal(
      wantedOf({ scopes: asked.scopes, authorizationDetails: null }),
      'orders:read, orders:refund',
    );
    assert.equal(
      wantedOf({ scopes: [], authorizationDetails: [{ type: 'payment' }, { type: 'refund' }] }),
      'payment, refund',
    );
  });

  it('says times exactly', () => {
    for (const [seconds, text] of [
      [60, '1 minute'],
      [61, '1 minute 1 second'],
      [3_600, '1 hour'],
      [5_400, '1 hour 30 minutes'],
      [86_400, '1 day'],
      [86_399, '23 hours 59 minutes 59 seconds'],
    ] as const)
      assert.equal(durationText(seconds), text);
  });

  it('offers no longer time than was asked for', () => {
    assert.deepEqual(durationsOf(asked), [300, 900, 3_600, 5_400]);
    assert.deepEqual(durationsOf({ accessExpiresIn: 60 }), [60]);
    assert.deepEqual(durationsOf({ accessExpiresIn: 300 }), [300]);
  });

  it('begins as it was asked for, without passing on, and then names nothing', () => {
    assert.deepEqual(approvalOf(asked, firstChoice(asked)), {
      decision: 'approve',
      allowRedelegation: false,
    });
  });

  it('names what is narrower, in the order of the request', () => {
    const choice = { scopes: ['orders:refund', 'admin'], accessExpiresIn: '900', allowRedelegation: true };
    assert.deepEqual(chosenOf(asked, choice), ['orders:refund']);
    assert.deepEqual(approvalOf(asked, choice), {
      decision: 'approve',
      scopes: ['orders:refund'],
      accessExpiresIn: 900,
      allowRedelegation: true,
    });
  });

  it('is none without a scope, unless the details say it all', () => {
    const choice = { scopes: [], accessExpiresIn: '900', allowRedelegation: false };
    assert.equal(approvalOf(asked, choice), undefined);
    assert.deepEqual(approvalOf({ ...asked, scopes: [] }, choice), {
      decision: 'approve',
      accessExpiresIn: 900,
      allowRedelegation: false,
    });
  });
});

describe('an approval policy', () => {
  it('is what its form says', () => {
    const policy = { maxAccessSeconds: 600, selfApproval: true, requireTwo: ['https://a.example'] };
    assert.deepEqual(policyOf(valuesOf(policy)), policy);
    assert.deepEqual(policyProblems(valuesOf(policy)), {});
  });

  it('the longest access is from a minute to a day', () => {
    for (const maxAccessSeconds of [59, 86_401, '', 60.5, 'x'])
      assert.deepEqual(
        Object.keys(policyProblems({ maxAccessSeconds, selfApproval: false, requireTwo: [] })),
        ['maxAccessSeconds'],
        String(maxAccessSeconds),
      );
  });
});

describe('the actions of an API', () => {
  const values = {
    ...apiValuesOf(undefined),
    identifier: 'https://orders.example',
    name: 'Orders',
  };
  const [scope] = values.scopes;
  if (scope) scope.name = 'orders:read';

  it('become types with a description and a schema', () => {
    const type = { ...newDetailType(' payment ', ' A payment '), schema: '{"type":"object"}' };
    const filled = { ...values, authorizationDetailTypes: [type] };
    assert.deepEqual(problemsOf(filled), {});
    assert.deepEqual(changeOf(filled).authorizationDetailTypes, [
      { type: 'payment', description: 'A payment', schema: { type: 'object' } },
    ]);
    assert.deepEqual(changeOf(values).authorizationDetailTypes, []);
  });

  it('names each type once, and its schema is a JSON object', () => {
    const types = [
      { ...newDetailType('payment'), schema: '{' },
      { ...newDetailType('payment'), schema: '[]' },
      { ...newDetailType('Payment!'), schema: 'null' },
    ];
    assert.deepEqual(Object.keys(problemsOf({ ...values, authorizationDetailTypes: types })).sort(), [
      'authorizationDetailTypes.0.schema',
      'authorizationDetailTypes.1.schema',
      'authorizationDetailTypes.1.type',
      'authorizationDetailTypes.2.schema',
      'authorizationDetailTypes.2.type',
    ]);
  });
});

it('the time to a decision is as exact as a person needs it', () => {
  assert.deepEqual([0, 42.4, 119, 300, 12_600, 259_200].map(decisionTime), [
    '0 s',
    '42 s',
    '119 s',
    '5 min',
    '3.5 h',
    '3 days',
  ]);
});
