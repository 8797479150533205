/** The e-mail address that identifies the agent of a client: its client id at the domain of the import. */
import { CommandError } from '../../../command-error.ts';
import { quoted } from '../../../terminal.ts';
import type { Client } from './realm.ts';

/** RFC 5321 §4.5.3.1. */
const maxLocalPart = 64;

export function createEmails(domain: string) {
  const taken = new Map<string, string>();
  return {
    of({ clientId, path }: Client): string {
      const local = clientId
        .toLowerCase()
        .replace(/[^a-z0-9._+-]+/g, '-')
        .replace(/\.{2,}/g, '.')
        .replace(/^[.-]+|[.-]+$/g, '');
      if (local === '' || local.length > maxLocalPart)
        throw new CommandError(
          `${path}.clientId ${quoted(clientId)} gives no e-mail address for an agent: it must have 1 to ${maxLocalPart} letters, digits and . _ + -. Rename the client, or leave it out with --without`,
        );
      const other = taken.get(local);
      if (other !== undefined)
        throw new CommandError(
          `${path}.clientId ${quoted(clientId)} and ${quoted(other)} give the same e-mail address ${local}@${domain}. Rename one, or leave it out with --without`,
        );
      taken.set(local, clientId);
      return `${local}@${domain}`;
    },
  };
}
