/** One line about an event, from the fields of its metadata that people look for first. */
import type { AuditEvent } from '../../../api/generated.ts';

const telling = [
  'reason',
  'scope',
  'scopes',
  'resource',
  'identifier',
  'changed',
  'status',
  'credentialId',
  'chainId',
];
const most = 2;
const longest = 160;

const textOf = (value: unknown): string =>
  Array.isArray(value)
    ? value.map(textOf).join(' ')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);

export const summaryOf = ({ metadata }: AuditEvent): string =>
  telling
    .filter(
      (name) => metadata[name] !== undefined && metadata[name] !== null && textOf(metadata[name]) !== '',
    )
    .slice(0, most)
    .map((name) => `${name} ${textOf(metadata[name]).slice(0, longest)}`)
    .join(' · ');
