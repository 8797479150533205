/** What the commands of the audit log have in common: their options, and how they print a finding. */
import { describePublicKey } from '../../adapters/keys/keys.ts';
import type { Finding } from '../../audit-app.ts';
import { loadVariable } from '../../kernel/config/config.ts';
import type { PublicKey } from '../../kernel/ports/signer.ts';
import type { DevelopmentInstance } from '../development-instance.ts';
import type { Io } from '../io.ts';
import { quoted } from '../terminal.ts';
import { readJwks } from './trust.ts';

/** Valid as far as it goes, but nothing proves that it is complete. */
const isNotProven = (code: Finding['code']) => code === 'EXPORT_WITHOUT_STATEMENT';

export const describe = ({ code, organizationId, sequence, eventId, problem }: Finding): string =>
  [
    `${isNotProven(code) ? 'NOT PROVEN' : 'NOT INTACT'}: ${quoted(problem)}`,
    `  code          ${code}`,
    ...(organizationId === undefined ? [] : [`  organization  ${quoted(organizationId)}`]),
    ...(sequence === undefined ? [] : [`  sequence      ${sequence}`]),
    ...(eventId === undefined ? [] : [`  event         ${quoted(eventId)}`]),
  ].join('\n');

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** The public keys of the instance: of a file, or those that are configured, or those of the instance of `dev`. */
export async function readRoots(
  io: Io,
  { keys }: { readonly keys?: string },
  findInstance?: () => DevelopmentInstance | undefined,
): Promise<readonly PublicKey[]> {
  if (keys !== undefined) return readJwks(keys);
  const development = findInstance?.();
  development?.requireTrust(
    'its keys would decide what is intact',
    'Give the public keys of the instance with --keys',
  );
  const { env } = development ?? io;
  const publicKeys = [
    loadVariable('jwtPublicKey', env),
    ...(loadVariable('jwtPreviousPublicKeys', env) ?? []),
  ];
  return Promise.all(publicKeys.map(describePublicKey));
}
