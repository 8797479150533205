/** Requests as text for a terminal. */
import { type OperationId, operations } from './generated.ts';
import { type AnyInput, pathOf } from './request.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The request as a curl command with a Bearer token of `$TOKEN`, for the public API. */
export function curlOf(id: OperationId, input: AnyInput = {}, origin: string = location.origin): string {
  const { method } = operations[id];
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(origin + pathOf(id, input))}`,
    '-H "Authorization: Bearer $TOKEN"',
  ];
  if (input.body !== undefined)
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(input.body))}`);
  return lines.join(' \\\n  ');
}
