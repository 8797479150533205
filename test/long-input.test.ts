/** Validation costs linear time: a request with one long field does not delay other requests. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from './support/harness.ts';

const t = await startApp();
const token = await t.token();

const length = 20_000;
const text = `${'a'.repeat(length)}\u0001`;
const blank = `${' '.repeat(length)}\u0001`;
const numbers = Array.from({ length: 20_000 }, (_, index) => index);
const objects = Array.from({ length: 4_000 }, (_, index) => ({ at: index }));
const values = [text, blank, numbers, objects, [text], { url: text, value: text, model: text, e: text }];

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly uniqueItems?: boolean;
  readonly maxItems?: number;
}

const withBodies = t.app.routes.filter(({ schema }) => schema.body);
const fieldsOf = (body: unknown) => Object.keys((body as Shape).properties ?? {});

const formWith = (field: string, value: string) => ({
  payload: new URLSearchParams({ [field]: value }).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
});

/** Processor time of the whole process, in milliseconds. */
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('a body with one long field', () => {
  it('costs at most 50 times the median, in every field of every route', async () => {
    const costs: { what: string; ms: number; again: () => Promise<number> }[] = [];
    for (const { id, method, path, accepts, schema } of withBodies) {
      const url = path.replace(/:\w+/g, () => randomUUID());
      for (const field of fieldsOf(schema.body)) {
        for (const value of accepts === 'form' ? [text, blank] : values) {
          const request =
            accepts === 'form' ? formWith(field, String(value)) : { payload: { [field]: value } };
          const ask = () =>
            cost(async () => {
              const { status } = await t.call(method, url, { token, ...request });
              assert.ok(status < 500, `${id} answers ${status} to a long ${field}`);
            });
          const what = `${id} ${field} ${JSON.stringify(value).slice(0, 20)}`;
          costs.push({ what, ms: await ask(), again: ask });
        }
      }
    }
    assert.ok(costs.length > 300, `${costs.length} were tried`);
    costs.sort((one, other) => one.ms - other.ms);
    const median = costs[Math.floor(costs.length / 2)]?.ms ?? Number.NaN;
    // A second run excludes the cost of unrelated work in the process.
    for (const { what, ms, again } of costs.slice(-10)) {
      const least = Math.min(ms, await again());
      assert.ok(least < 50 * median, `${what}: ${least} ms, where half of them take ${median} ms`);
    }
  });

  it('gets 400 with the length errors only', async () => {
    const { status, json } = await t.call('POST', '/api/v1/marketplace/listings', {
      token,
      payload: { title: text, endpoints: numbers },
    });
    assert.equal(status, 400);
    assert.deepEqual(
      json.details.fields.map(({ field }: { field: string }) => field),
      ['title', 'endpoints'],
    );
  });
});

it('every list with uniqueItems has maxItems', () => {
  const unbounded: string[] = [];
  const look = (shape: Shape, where: string) => {
    if (shape.uniqueItems && shape.maxItems === undefined) unbounded.push(where);
    for (const [name, inner] of Object.entries(shape.properties ?? {})) look(inner, `${where}.${name}`);
    for (const inner of [...(shape.items ? [shape.items] : []), ...(shape.anyOf ?? [])]) look(inner, where);
  };
  for (const { id, schema } of withBodies) look(schema.body as Shape, id);
  assert.deepEqual(unbounded, []);
});
