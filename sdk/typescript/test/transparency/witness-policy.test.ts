import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatVerifierKey, signatureTypes } from '../../src/transparency/verifier-key.ts';
import { maxWitnesses, parseWitnessPolicy } from '../../src/transparency/witness-policy.ts';
import { signerOf } from './support.ts';

const keyOf = (name: string, seed: number) => signerOf(name, signatureTypes.cosignature, seed).key;
const [k1, k2] = [keyOf('w1.example', 2), keyOf('w2.example', 3)];
const [v1, v2] = [formatVerifierKey(k1), formatVerifierKey(k2)];
const problemsOf = (...lines: readonly string[]) => parseWitnessPolicy(lines.join('\n')).problems;

describe('the file of witnesses', () => {
  it('has a key and a URL per line, and the quorum', () => {
    assert.deepEqual(
      parseWitnessPolicy(`${v1} https://w1.example/\n${v2} http://w2.example:8080/log\nquorum 2\n`),
      {
        policy: {
          witnesses: [
            { key: k1, url: 'https://w1.example' },
            { key: k2, url: 'http://w2.example:8080/log' },
          ],
          quorum: 2,
        },
      },
    );
  });

  it('may have comments, empty lines, tabs, any order and the line ends of Windows', () => {
    const file = `# ours\r\n\r\nquorum 1 # of one\r\n\t${v1}\t https://w1.example   # in Bern\r\n  # end`;
    assert.deepEqual(parseWitnessPolicy(file).policy, {
      witnesses: [{ key: k1, url: 'https://w1.example' }],
      quorum: 1,
    });
  });

  it('names each problem with its line', () => {
    const ofLog = formatVerifierKey(signerOf('w3.example', signatureTypes.note, 4).key);
    assert.deepEqual(
      problemsOf(
        '# witnesses',
        `${v1} https://w1.example`,
        `${v1.slice(0, -2)}AA https://w2.example`,
        `${ofLog} https://w3.example`,
        v2,
        `${v2} https://w2.example more`,
        `${v2} w2.example`,
        `${v2} ftp://w2.example`,
        `${v2} https://me:secret@w2.example`,
        `${v2} https://w2.example/?a=b`,
        `${v2} https://w2.example/#a`,
        'quorum',
        'quorum 0',
        'quorum 1 2',
        'quorum 01',
      ),
      [
        'line 3: the key id is not that of this name and key',
        'line 4: the key has type 0x01, not 0x04',
        'line 5: a line has a verifier key and a URL, or is `quorum N`',
        'line 6: a line has a verifier key and a URL, or is `quorum N`',
        'line 7: the URL is not one',
        'line 8: the URL is not one of https or http',
        'line 9: the URL has a user name or password',
        'line 10: the URL has a query or fragment',
        'line 11: the URL has a query or fragment',
        'line 12: the quorum is one number from 1: `quorum N`',
        'line 13: the quorum is one number from 1: `quorum N`',
        'line 14: the quorum is one number from 1: `quorum N`',
        'line 15: the quorum is one number from 1: `quorum N`',
        'line 13: a second quorum',
        'line 14: a second quorum',
        'line 15: a second quorum',
      ],
    );
  });

  it('has each name, key and URL once', () => {
    const sameName = formatVerifierKey(keyOf('w1.example', 9));
    const sameKey = formatVerifierKey(keyOf('w9.example', 2));
    assert.deepEqual(
      problemsOf(
        `${v1} https://w1.example`,
        `${sameName} https://w8.example`,
        `${sameKey} https://w9.example`,
        `${v2} https://W1.example:443/`,
        'quorum 1',
      ),
      [
        'line 2: the name is that of the witness in line 1',
        'line 3: the key is that of the witness in line 1',
        'line 4: the URL is that of the witness in line 1',
      ],
    );
  });

  it('has exactly one quorum, which its witnesses can reach', () => {
    assert.deepEqual(problemsOf(`${v1} https://w1.example`, ''), [
      'line 2: the file ends without a line `quorum N`',
    ]);
    assert.deepEqual(problemsOf(''), ['line 1: the file ends without a line `quorum N`']);
    assert.deepEqual(problemsOf('quorum 1'), ['line 1: the quorum is 1, but there are 0 witnesses']);
    assert.deepEqual(problemsOf(`${v1} https://w1.example`, 'quorum 2'), [
      'line 2: the quorum is 2, but there is 1 witness',
    ]);
    assert.deepEqual(problemsOf('quorum 1', `${v1} https://w1.example`, 'quorum 1'), [
      'line 3: a second quorum',
    ]);
  });

  it('says nothing of a quorum that only a wrong line puts out of reach', () => {
    assert.deepEqual(problemsOf(`${v1} https://w1.example`, v2, 'quorum 2'), [
      'line 2: a line has a verifier key and a URL, or is `quorum N`',
    ]);
  });

  it('is bounded', () => {
    const line = (at: number) => `${formatVerifierKey(keyOf(`w${at}`, at))} https://w${at}.example`;
    const lines = Array.from({ length: maxWitnesses + 1 }, (_, at) => line(at));
    assert.deepEqual(problemsOf('quorum 1', ...lines), [
      `line ${maxWitnesses + 2}: more than ${maxWitnesses} witnesses`,
    ]);
    assert.equal(
      parseWitnessPolicy(['quorum 1', ...lines.slice(1)].join('\n')).policy?.witnesses.length,
      maxWitnesses,
    );
    assert.deepEqual(problemsOf('#'.repeat(65_537)), ['the file has more than 65536 characters']);
  });
});
