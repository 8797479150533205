/** Witnessing over HTTP: rounds, the checkpoint that is served, the evidence, and witnesses that fail or lie. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { leafHash } from '../../../sdk/typescript/src/audit/merkle.ts';
import { formatKnownSize } from '../../../sdk/typescript/src/transparency/add-checkpoint.ts';
import { judgeCheckpoint } from '../../../sdk/typescript/src/transparency/judge-checkpoint.ts';
import { parseVerifierKey, signatureTypes } from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import { verifyInclusion } from '../../../sdk/typescript/src/transparency/verify-proof.ts';
import { startApp, type TestApp } from '../../../test/support/harness.ts';
import type { RequestHandler } from '../../../test/support/peers/receivers.ts';
import {
  type Cosigner,
  cosignBody,
  createCosigner,
  newLogKey,
  startFakeWitness,
  startWitness,
  verifierKeyOf,
  witnessVariables,
} from '../../../test/support/peers/witnesses.ts';
import { until } from '../../../test/support/programs.ts';

const AUDIT_LOG_KEY = newLogKey();
const logKey = verifierKeyOf(AUDIT_LOG_KEY);

/** Links the events of one change, and lets the log grow. */
async function grow(t: TestApp): Promise<void> {
  await t.agent();
  await t.app.audit.linkAll();
  await t.app.instanceLog.grow();
}

/** A round of the witnesses, which is due by then. */
async function round(t: TestApp): Promise<void> {
  t.clock.advance(5_000);
  assert.equal(await t.app.instanceLog.witness(), 'done');
}

const checkpointText = async (t: TestApp) => (await t.call('GET', '/log/checkpoint')).text;
const sizeOf = (text: string) => Number(text.split('\n')[1]);
/** The log is the first. */
const namesIn = (text: string) => {
  const lines = text.split('\n').filter((line) => line.startsWith('— '));
  const [first, ...others] = lines.map((line) => line.split(' ')[1]);
  return [first, ...others.toSorted()];
};
const witnessesOf = async (t: TestApp) =>
  (await t.call('GET', '/api/v1/audit/witnesses', { token: await t.token() })).json;
const keyIn = (line: string) => parseVerifierKey(line.split(' ')[0] ?? '', signatureTypes.cosignature);

describe('witnesses', async () => {
  const one = await startWitness('witness.example/one', [logKey]);
  const two = await startWitness('witness.example/two', [logKey]);
  const t = await startApp({ AUDIT_LOG_KEY, ...witnessVariables([one, two], 2) });

  it('200: before the first round, no witness and the newest checkpoint', async () => {
    const empty = await witnessesOf(t);
    assert.deepEqual([empty.quorum, empty.witnessed, empty.logKey], [2, null, null]);
    await grow(t);
    assert.deepEqual(namesIn(await checkpointText(t)), ['countersign.test/log']);
    const { witnessed, witnesses, logKey: shown } = await witnessesOf(t);
    assert.deepEqual([witnessed, shown], [null, logKey]);
    // They were asked once, before the log began.
    assert.deepEqual(
      witnesses,
      [one, two].map(({ name, line }) => ({
        name,
        verifierKey: line.split(' ')[0],
        checkpointSize: null,
        time: null,
        failing: null,
      })),
    );
  });

  it('200: after a round, the checkpoint has the cosignatures, and the quorum is in all answers', async () => {
    await round(t);
    const text = await checkpointText(t);
    assert.deepEqual(namesIn(text), ['countersign.test/log', one.name, two.name]);
    const policy = {
      logKey: parseVerifierKey(logKey, signatureTypes.note),
      witnesses: [one, two].map(({ line }) => keyIn(line)),
      quorum: 2,
    };
    const { witnessedAt = 0, checkpoint } = await judgeCheckpoint(text, policy);
    const { quorum, witnessed, witnesses } = await witnessesOf(t);
    assert.equal(quorum, 2);
    assert.deepEqual(
      { ...witnessed, witnesses: witnessed.witnesses.toSorted() },
      {
        checkpointSize: checkpoint.size,
        time: new Date(witnessedAt * 1_000).toISOString(),
        witnesses: [one.name, two.name],
      },
    );
    for (const { checkpointSize, failing } of witnesses)
      assert.deepEqual([checkpointSize, failing], [checkpoint.size, null]);
    const verified = await t.call('GET', '/api/v1/audit/verify', { token: await t.token() });
    assert.deepEqual([verified.json.verified, verified.json.witnessed], [true, witnessed]);
  });

  it('serves the newest checkpoint that the witnesses have seen, not a newer one', async () => {
    const before = await checkpointText(t);
    await grow(t);
    assert.equal(await checkpointText(t), before);
    await round(t);
    const after = await checkpointText(t);
    assert.ok(sizeOf(after) > sizeOf(before));
    assert.deepEqual(namesIn(after).slice(1), [one.name, two.name]);
  });

  it('idle when all have cosigned; busy until the next round is due, also in another process', async () => {
    // Far longer than this test takes.
    const variables = { AUDIT_LOG_KEY, ...witnessVariables([one, two], 2), AUDIT_WITNESS_INTERVAL: '100' };
    const nodes = [await startApp(variables, t), await startApp(variables, t)] as const;
    assert.equal(await nodes[0].app.instanceLog.witness(), 'idle');
    await grow(t);
    t.clock.advance(5_000);
    const results = await Promise.all(nodes.map(({ app }) => app.instanceLog.witness()));
    assert.deepEqual(results.toSorted(), ['busy', 'done']);
    await grow(t);
    for (const { app } of nodes) assert.equal(await app.instanceLog.witness(), 'busy');
    t.clock.advance(100_000);
    await round(t);
    assert.equal(
      sizeOf(await checkpointText(t)),
      (await t.app.instanceLog.evidence.checkpoint(t.app.db))?.size,
    );
  });

  it('proves each tree head in the tree of the checkpoint with a quorum', async () => {
    const { evidence } = t.app.instanceLog;
    const at = await evidence.checkpoint(t.app.db);
    assert.ok(at?.hasQuorum && at.text === (await checkpointText(t)));
    const root = Buffer.from(at.text.split('\n')[2] ?? '', 'base64').toString('hex');
    const heads = await t.sql<{ number: string; signed: string }>(
      'select number, signed from audit_tree_heads order by number',
    );
    for (const { number, signed } of heads) {
      const place = await evidence.prove(t.app.db, at, Number(number));
      assert.equal(place === undefined, Number(number) > at.highestTreeHead, number);
      if (place)
        assert.ok(verifyInclusion({ leafHash: leafHash(signed), size: at.size, root, ...place }), number);
    }
    assert.equal(await evidence.prove(t.app.db, at, at.firstTreeHead - 1), undefined);
    assert.equal(await evidence.prove(t.app.db, { ...at, logNumber: 7 }, at.firstTreeHead), undefined);
  });

  it('a witness that was unavailable cosigns the newest checkpoint when it is back; the quorum has an age until then', async () => {
    const age = async () => {
      const line = (await t.call('GET', '/metrics')).text.match(/^service_audit_quorum_age_seconds (.*)$/m);
      return Number(line?.[1]);
    };
    assert.equal(await age(), 0);
    const before = (await witnessesOf(t)).witnessed;
    await two.stop();
    await grow(t);
    await round(t);
    assert.deepEqual(namesIn(await checkpointText(t)).slice(1), [one.name]);
    const { witnessed, witnesses } = await witnessesOf(t);
    assert.deepEqual(witnessed, before);
    assert.deepEqual(
      witnesses.map(({ failing }: { failing: string | null }) => failing),
      [null, 'it cannot be reached'],
    );
    t.clock.advance(30_000);
    assert.ok((await age()) >= 30);
    await two.restart();
    await round(t);
    assert.deepEqual(namesIn(await checkpointText(t)).slice(1), [one.name, two.name]);
    assert.equal(await age(), 0);
    assert.equal((await witnessesOf(t)).witnesses[1].failing, null);
  });

  it('another list of witnesses judges what there is', async () => {
    const stricter = await startApp({ AUDIT_LOG_KEY, ...witnessVariables([one], 1) }, t);
    assert.deepEqual((await witnessesOf(stricter)).witnessed.witnesses, [one.name]);
    const stranger = await startFakeWitness('witness.example/three', () => (_, response) => {
      response.writeHead(404).end();
    });
    const other = await startApp({ AUDIT_LOG_KEY, ...witnessVariables([one, stranger], 2) }, t);
    assert.equal((await witnessesOf(other)).witnessed, null);
    const none = await startApp({ AUDIT_LOG_KEY }, t);
    const { quorum, witnessed, witnesses } = await witnessesOf(none);
    assert.deepEqual([quorum, witnessed, witnesses], [null, null, []]);
  });

  it('the log gets a line when a witness begins to fail, and when it cosigns again; each failure counts', async () => {
    const own = await startApp({ AUDIT_LOG_KEY, LOG_LEVEL: 'info', ...witnessVariables([one, two], 2) }, t);
    await two.stop();
    await grow(t);
    await round(own);
    await round(own);
    await two.restart();
    await round(own);
    const lines = own.logs.map((line) => JSON.parse(line)).filter(({ witness }) => witness === two.name);
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['witness does not cosign; checkpoints lack its cosignature', 'witness cosigns again'],
    );
    const metrics = (await own.call('GET', '/metrics')).text;
    assert.match(metrics, /service_audit_witness_failures_total\{witness="witness\.example\/two"\} 2/);
    assert.match(metrics, /service_audit_witness_failures_total\{witness="witness\.example\/one"\} 0/);
  });
});

describe('a witness that fails or lies', async () => {
  const text =
    (status: number, body = '') =>
    (): RequestHandler =>
    (_, response) =>
      void response.writeHead(status).end(body);
  const lines =
    (make: (body: string, signer: Cosigner) => Promise<string>) =>
    (signer: Cosigner): RequestHandler =>
    async ({ body }, response) =>
      void response.end(await make(body, signer));
  const now = () => Math.floor(Date.now() / 1_000);

  const answers: Readonly<Record<string, readonly [(signer: Cosigner) => RequestHandler, RegExp]>> = {
    'signs with another key': [
      lines((body) => cosignBody(body, createCosigner('witness.example/liar'))),
      /no cosignature by its key/,
    ],
    'signs another text': [
      lines((body, signer) => cosignBody(body, signer, { change: (note) => note.replace('.test', '.best') })),
      /not its own/,
    ],
    'cosigns a larger tree': [
      lines((body, signer) =>
        cosignBody(body, signer, {
          change: (note) => note.replace(/\n(\d+)\n/, (_, size) => `\n${size}0\n`),
        }),
      ),
      /not its own/,
    ],
    'has a time in the future': [
      lines((body, signer) => cosignBody(body, signer, { time: now() + 3_600 })),
      /in the future/,
    ],
    'has a time before the checkpoint': [
      lines((body, signer) => cosignBody(body, signer, { time: now() - 3_600 })),
      /before the checkpoint was signed/,
    ],
    'answers with garbage': [text(200, 'a lot of \u0000 garbage'), /not valid/],
    'answers with nothing': [text(200), /not valid/],
    'answers with HTML': [text(200, '<html></html>\n'), /not valid/],
    'answers 400': [text(400), /malformed \(400\)/],
    'answers 403': [text(403), /refused the checkpoint \(403\)/],
    'answers 404': [text(404), /does not know the log \(404\)/],
    'answers 500': [text(500), /status 500/],
    'answers 429': [text(429), /status 429/],
    redirects: [
      () => (_, response) =>
        void response.writeHead(307, { location: 'http://127.0.0.1:1/add-checkpoint' }).end(),
      /status 307/,
    ],
    'answers 409 for ever': [text(409, formatKnownSize(0)), /another size again/],
    'answers 409 with garbage': [text(409, 'a size'), /not valid/],
    'sends a gigabyte': [
      () => (_, response) => {
        response.writeHead(200);
        const chunk = Buffer.alloc(1 << 20, 'x');
        const more = () => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', more);
        more();
      },
      /too long/,
    ],
    'drops the connection': [() => (_, response) => void response.destroy(), /cannot be reached/],
  };

  const honest = await startWitness('witness.example/honest', [logKey]);
  const liar = await startFakeWitness('witness.example/liar', text(404));
  // A witness has five seconds to answer.
  const slowly = { AUDIT_LOG_KEY, AUDIT_WITNESS_INTERVAL: '5' };
  const t = await startApp({ ...witnessVariables([honest, liar], 1), ...slowly });

  for (const [what, [answer, reason]] of Object.entries(answers))
    it(`nothing is kept of one that ${what}, and the other cosigns`, async () => {
      liar.answerWith(answer);
      await grow(t);
      await round(t);
      const { witnessed, witnesses } = await witnessesOf(t);
      assert.deepEqual(namesIn(await checkpointText(t)).slice(1), [honest.name]);
      assert.deepEqual(witnessed.witnesses, [honest.name]);
      assert.equal(witnessed.checkpointSize, sizeOf(await checkpointText(t)));
      assert.match(witnesses[1].failing, reason);
      assert.equal(witnesses[1].checkpointSize, null);
      const { verified } = (await t.call('GET', '/api/v1/audit/verify', { token: await t.token() })).json;
      assert.equal(verified, true);
    });

  it('keeps the cosignature of a witness that becomes honest, and none whose time goes back', async () => {
    liar.answerWith(lines((body, signer) => cosignBody(body, signer)));
    await grow(t);
    await round(t);
    const { witnesses } = await witnessesOf(t);
    assert.deepEqual(
      [witnesses[1].failing, witnesses[1].checkpointSize],
      [null, sizeOf(await checkpointText(t))],
    );
    liar.answerWith(lines((body, signer) => cosignBody(body, signer, { time: now() - 60 })));
    await grow(t);
    await round(t);
    const later = (await witnessesOf(t)).witnesses[1];
    assert.match(later.failing, /before that of its last one/);
    assert.deepEqual([later.checkpointSize, later.time], [witnesses[1].checkpointSize, witnesses[1].time]);
    assert.deepEqual(namesIn(await checkpointText(t)).slice(1), [honest.name]);
  });

  const slow: Readonly<Record<string, RequestHandler>> = {
    'does not answer': () => {},
    'sends its answer byte by byte': (_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(timer));
    },
  };
  for (const [what, answer] of Object.entries(slow))
    it(`one that ${what} delays no other, no token and no growth`, async () => {
      let isOpen = 0;
      liar.answerWith(() => (request, response, incoming) => {
        isOpen += 1;
        response.on('close', () => {
          isOpen -= 1;
        });
        return answer(request, response, incoming);
      });
      await grow(t);
      t.clock.advance(5_000);
      const before = sizeOf(await checkpointText(t));
      const running = t.app.instanceLog.witness();
      const quorum = await until('the other has cosigned', async () => {
        const text = await checkpointText(t);
        return sizeOf(text) > before ? { text, isOpen } : undefined;
      });
      assert.equal(quorum.isOpen, 1, 'it still hangs');
      assert.deepEqual(namesIn(quorum.text).slice(1), [honest.name]);
      await grow(t);
      assert.equal(await running, 'done');
      assert.match((await witnessesOf(t)).witnesses[1].failing, /in time/);
    });

  it('one that does not answer delays no token at the start of a process, and only the first pass of its sequencer', async () => {
    const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>();
    liar.answerWith(() => () => ask());
    const own = await startApp({ ...witnessVariables([liar], 1), ...slowly }, t);
    let hasLinked = false;
    const linking = own.app.audit.linkAll().then(() => {
      hasLinked = true;
    });
    await isAsked;
    await own.agent();
    assert.equal(hasLinked, false, 'it still waits for the witness');
    await linking;
    t.clock.advance(5_000);
    const requests = liar.received.length;
    const running = own.app.instanceLog.witness().then(() => 'ended');
    await until('the round waits for the witness', async () => liar.received.length > requests || undefined);
    const sizeOfLog = async () => (await t.sql('select size::int from instance_logs'))[0]?.size as number;
    const before = await sizeOfLog();
    await grow(own);
    assert.ok((await sizeOfLog()) > before);
    assert.equal(await Promise.race([running, 'waits']), 'waits');
    await running;
  });

  it('of three, one alone does not stop the log: two that agree are enough', async () => {
    const second = await startWitness('witness.example/second', [logKey]);
    const alone = await startApp({ AUDIT_LOG_KEY, ...witnessVariables([honest, second, liar], 2) }, t);
    const ofOtherTree =
      () =>
      ({ body }: { body: string }, response: ServerResponse) => {
        const [, old, size = ''] = /^old (\d+)\n(?:[^\n]+\n)*\n[^\n]+\n(\d+)\n/.exec(body) ?? [];
        response.writeHead(409).end(old === size ? '' : formatKnownSize(Number(size)));
      };
    for (const answer of [text(409, formatKnownSize(1_000_000)), text(422), ofOtherTree]) {
      liar.answerWith(answer);
      await grow(alone);
      await round(alone);
      await grow(alone);
      await round(alone);
      assert.deepEqual(namesIn(await checkpointText(alone)).slice(1), [honest.name, second.name]);
      assert.match((await witnessesOf(alone)).witnesses[2].failing, /it knows/);
    }
    // Without the second, it may be right.
    await second.stop();
    liar.answerWith(text(409, formatKnownSize(1_000_000)));
    await grow(alone);
    await round(alone);
    await assert.rejects(grow(alone), /witness\.example\/liar knows a tree of 1000000 entries/);
    await second.restart();
    await round(alone);
    await grow(alone);
  });
});
