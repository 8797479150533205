/** A plan as text: one line per change, then its fields, old → new. */

import type { Io } from '../../io.ts';
import { print, printIn } from '../../terminal.ts';
import { type Change, labelOf } from './change.ts';
import { type FieldChange, shown } from './compare.ts';

const signs = { create: '+', update: '~', delete: '-' } as const;
const colours = { create: 'green', update: 'yellow', delete: 'red' } as const;
const verbs = { create: 'to create', update: 'to change', delete: 'to delete' } as const;

export function printPlan(io: Io, changes: readonly Change[]): void {
  for (const change of changes) {
    const { action, organization, fields, remark, irreversible } = change;
    const owner = organization === undefined ? '' : ` (organization ${organization})`;
    printIn(io, colours[action], `${signs[action]} ${labelOf(change)}${owner}`);
    if (remark !== undefined) printIn(io, 'red', `    ${irreversible ? 'CANNOT BE UNDONE: ' : ''}${remark}`);
    const width = Math.max(0, ...fields.map(({ field }) => field.length));
    for (const field of fields) print(io, `    ${field.field.padEnd(width)}  ${describe(change, field)}`);
  }
  print(io, `\n${summaryOf(changes)}`);
}

export function summaryOf(changes: readonly Change[]): string {
  const counts = Object.entries(verbs).flatMap(([action, verb]) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : [`${count} ${verb}`];
  });
  return counts.length === 0 ? 'No difference.' : `${counts.join(', ')}.`;
}

function describe({ action }: Change, { from, to }: FieldChange): string {
  if (action === 'create') return itemsOf(to);
  if (action === 'delete') return itemsOf(from);
  const [before, after] = [listOf(from), listOf(to)];
  if (!before || !after) return `${itemsOf(from)} → ${itemsOf(to)}`;
  const added = after.filter((name) => !before.includes(name)).map((name) => `+ ${name}`);
  const removed = before.filter((name) => !after.includes(name)).map((name) => `- ${name}`);
  return [...added, ...removed].join(', ');
}

const itemsOf = (value: unknown): string => {
  const items = listOf(value);
  return items ? items.join(', ') || 'none' : shown(value);
};

/** The items of a list, or the labels of an agent; undefined for a single value. */
function listOf(value: unknown): string[] | undefined {
  if (Array.isArray(value)) return value.map(item);
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).map(([key, one]) => `${shown(key)}:${shown(one)}`);
}

/** A scope of a resource as `name (description)`. */
function item(value: unknown): string {
  const { name, description, ...rest } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  if (name === undefined || Object.keys(rest).length > 0) return shown(value);
  return description === null || description === undefined
    ? shown(name)
    : `${shown(name)} (${shown(description)})`;
}

/** The same for programs. */
export const planAsJson = ({ action, kind, name, organization, fields, remark, irreversible }: Change) => ({
  action,
  kind,
  name,
  ...(organization !== undefined && { organization }),
  fields: fields.map(({ field, from, to }) => ({ field, from: from ?? null, to: to ?? null })),
  ...(remark !== undefined && { remark }),
  irreversible: irreversible ?? false,
});
