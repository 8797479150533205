/** verifyAuditExport with downloads of a real server. The vectors have the changed exports. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JSONWebKeySet } from 'jose';
import { listen } from '../../../test/support/clients/listening.ts';
import { recordEvents } from '../../../test/support/scenarios/audit-log.ts';
import { AuditExportError, createClient, readLines, verifyAuditExport } from '../src/sdk.ts';

const t = await listen();
const { issuer, operator } = t;
const client = createClient({ issuer, clientId: operator.clientId, auth: operator.clientSecret });
const organizationId = t.app.ids.uuid();
await recordEvents(t, organizationId, 2_500);
const jwks = (await (await fetch(`${issuer}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
const download = (query = '') => client.fetch(`${issuer}/api/v1/audit/export${query}`);

describe('an export of the server', () => {
  it('is intact as a stream, with all organizations or one', async () => {
    const all = await verifyAuditExport(readLines((await download()).body), undefined, { jwks });
    assert.deepEqual([all.organizationId, all.chains], [null, 2]);
    const one = (await download(`?organizationId=${organizationId}`)).body;
    const { at, ...result } = await verifyAuditExport(readLines(one), undefined, { jwks });
    assert.deepEqual(result, { organizationId, day: null, chains: 1, events: 2_500, witnessed: null });
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000);
  });

  it('contains the checkpoint that was kept, as an object or as JSON', async () => {
    const { data } = await client.api.listAuditCheckpoints({ query: { organizationId, limit: 1 } });
    const [checkpoint] = data as unknown as [{ signed: string; inclusion: { checkpoint: string } }];
    const text = await (await download()).text();
    for (const kept of [checkpoint, JSON.stringify(checkpoint), `${JSON.stringify(checkpoint)}\n`])
      await verifyAuditExport(text.split('\n'), kept, { jwks });
    await assert.rejects(
      verifyAuditExport(text.split('\n'), { ...checkpoint, inclusion: null }, { jwks }),
      (error) => error instanceof AuditExportError && error.code === 'EXTERNAL_CHECKPOINT_MISSING',
    );
  });

  it('a changed event: the error has its line, link and event, and how much was verified', async () => {
    const lines = (await (await download(`?organizationId=${organizationId}`)).text()).split('\n');
    const place = lines.findIndex((line) => line.includes('"sequence":1500,'));
    const { eventId } = JSON.parse(lines[place] as string);
    const changed = lines.with(place, (lines[place] as string).replace('192.0.2.1', '192.0.2.9'));
    await assert.rejects(verifyAuditExport(changed, undefined, { jwks }), (error) => {
      assert.ok(error instanceof AuditExportError);
      const { code, line, sequence, events } = error;
      assert.deepEqual(
        { code, line, sequence, events },
        { code: 'EVENT_CHANGED', line: place + 1, sequence: 1_500, events: 1_500 },
      );
      assert.deepEqual([error.organizationId, error.eventId], [organizationId, eventId]);
      return true;
    });
  });

  it('stops the download at the first problem', async () => {
    let isCancelled = false;
    const endless = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode('{"kind":"export","version":2}\n'));
      },
      cancel() {
        isCancelled = true;
      },
    });
    await assert.rejects(
      verifyAuditExport(readLines(endless), undefined, { jwks }),
      (error) =>
        error instanceof AuditExportError && error.code === 'EXPORT_HEADER_INVALID' && error.line === 2,
    );
    assert.ok(isCancelled);
  });
});

describe('arguments', () => {
  it('TypeError: a text instead of lines, no keys, or no checkpoint', async () => {
    await assert.rejects(verifyAuditExport('{"kind":"export"}', undefined, { jwks }), TypeError);
    for (const wrong of [undefined, {}, { jwks: {} }, { jwks: [] }])
      await assert.rejects(verifyAuditExport([], undefined, wrong as { jwks: typeof jwks }), TypeError);
    for (const wrong of ['{', '{}', '{"signed":1}', '{"signed":"x","inclusion":{}}', 1, []])
      await assert.rejects(verifyAuditExport([], wrong as string, { jwks }), TypeError);
  });
});

describe('readLines', () => {
  it('joins chunks at any byte, and ends without a line break', async () => {
    const text = '{"a":"ü—🔑"}\n\n{"b":1}\nlast';
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 2, 3, 1_000]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.slice(at * size, (at + 1) * size),
      );
      const lines: string[] = [];
      for await (const line of readLines(ReadableStream.from(chunks))) lines.push(line);
      assert.deepEqual(lines, text.split('\n'));
    }
    for await (const _ of readLines(null)) assert.fail('no line');
  });
});
