/** The rows of all routes: those of matrix-rows.ts, and those that the test of a slice exports as `access`. */
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Row, rows as shared, succeedingOtherwise } from './matrix-rows.ts';

const root = new URL('../../', import.meta.url);
const slices = globSync('src/features/**/*-slice.test.ts', { cwd: fileURLToPath(root) });
const tests: { readonly access: Readonly<Record<string, Row>> }[] = await Promise.all(
  slices.map((file) => import(new URL(`${file}?rows`, root).href)),
);

export const rows: Readonly<Record<string, Row>> = Object.assign(
  {},
  shared,
  ...tests.map(({ access }) => access),
);

/** A request that succeeds for the operator. */
export const succeeding = (id: string): Row['request'] | undefined =>
  succeedingOtherwise[id] ?? rows[id]?.request;
