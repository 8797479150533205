/** How the server checks each control, and where to look for oneself. */
import type { Output } from '../../api/request.ts';

export type Control = Output<'getControls'>['controls'][number];

export interface Evidence {
  /** How the result was found. */
  readonly check: string;
  /** A page with the same facts. */
  readonly page?: { readonly to: string; readonly label: string; readonly search?: Record<string, string> };
}

export const evidence: Readonly<Record<string, Evidence>> = {
  'CC6.1': {
    check:
      'Reads 10,000 stored credentials: each is a SHA-256 hash of 32 bytes, and none begins like a secret.',
    page: { to: '/agents', label: 'Agents and their credentials' },
  },
  'CC6.1-KEYS': {
    check: 'Looks at the type and the size of every published signing key.',
    page: { to: '/settings', label: 'Signing keys' },
  },
  'CC6.2': {
    check: 'Looks for active credentials of up to 10,000 decommissioned agents.',
    page: { to: '/agents', label: 'Decommissioned agents', search: { status: 'decommissioned' } },
  },
  'CC6.3': { check: 'Asks the policy engine about an anonymous request. It must refuse.' },
  'CC6.3-SCOPES': {
    check: 'Counts the agents that hold scopes of the Countersign API that change something.',
  },
  'CC6.3-APPROVALS': {
    check: 'Reads up to 10,000 approvals: each names the person who decided.',
  },
  'CC6.6': {
    check: 'Compares RATE_LIMIT_PER_MINUTE with a limit that still has an effect.',
  },
  'CC6.7': {
    check:
      'Looks at the public address of the instance (BASE_URL). In development, an address of this computer needs no TLS.',
  },
  'CC7.1': {
    check:
      'Reads the privileges and triggers of all tables with audit evidence: each change or deletion must be refused.',
  },
  'CC7.2': {
    check: 'Verifies hashes and signatures of the audit log, newest events first.',
    page: { to: '/audit', label: 'Verify the audit log in your browser' },
  },
  'C1.1': {
    check: 'Looks whether the key for stored secrets is configured.',
    page: { to: '/webhooks', label: 'Webhooks' },
  },
  'C1.2': { check: 'Looks for days of the audit log that are older than the retention.' },
  'A1.2': {
    check: 'Reads fsync, full_page_writes and synchronous_commit of PostgreSQL.',
  },
  'A1.3': {
    check: 'The service cannot see backups, so it does not say that they can be restored.',
  },
};
