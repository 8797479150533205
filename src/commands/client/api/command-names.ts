/**
 * Which command each operation is. The rule reads the path: the group is the last collection in it (a segment that is followed by
 * an id somewhere), the verb is the rest of the path, or else the first word of the operation id. Exceptions are in tables.
 */
import type { Operation } from './document.ts';

export interface CommandName {
  readonly group: string;
  readonly verb: string;
}

/** Collections whose segment is not the best name. */
const groups: Readonly<Record<string, string>> = {
  '/marketplace/agents': 'marketplace',
  '/marketplace/listings': 'listings',
};

const irregular: Readonly<Record<string, readonly [group: string, verb: string]>> = {
  // `audit verify` and `audit export` work on the database, or offline.
  verifyAudit: ['audit', 'check'],
  exportAudit: ['audit', 'download'],
  // `audit archive` reads the storage itself.
  listAuditArchives: ['audit', 'archived-days'],
  getAuditArchive: ['audit', 'download-day'],
  // `shares list` lists the shares of one resource.
  listReceivedShares: ['shares', 'received'],
  trustPartner: ['partners', 'trust'],
  verifyPartnerToken: ['partners', 'verify'],
  getDid: ['agents', 'did'],
  resolveDid: ['agents', 'resolve-did'],
  getAgentCard: ['agents', 'card'],
  replayWebhookDeliveries: ['deliveries', 'replay-many'],
  getActivityAnalytics: ['analytics', 'activity'],
  introspectToken: ['tokens', 'introspect'],
  revokeToken: ['tokens', 'revoke'],
  issueIdToken: ['tokens', 'id-token'],
  getClientPolicy: ['client-policy', 'get'],
  putClientPolicy: ['client-policy', 'set'],
  getApproval: ['approvals', 'show'],
  getApprovalPolicy: ['approval-policy', 'get'],
  putApprovalPolicy: ['approval-policy', 'set'],
  // The paths are those of the Shared Signals Framework, with the stream's id in the query or the body.
  createSignalStream: ['signals', 'create'],
  getSignalStream: ['signals', 'list'],
  updateSignalStream: ['signals', 'update'],
  replaceSignalStream: ['signals', 'replace'],
  deleteSignalStream: ['signals', 'delete'],
  getSignalStreamStatus: ['signals', 'status'],
  setSignalStreamStatus: ['signals', 'set-status'],
  verifySignalStream: ['signals', 'verify'],
  addSignalSubject: ['signals', 'add-subject'],
  removeSignalSubject: ['signals', 'remove-subject'],
  pollSignals: ['signals', 'poll'],
};

/** First words of operation ids that are not the best verb. */
const verbs: Readonly<Record<string, string>> = { generate: 'create', put: 'set' };

/** Operations that are no command of this kind, and why. */
export const withoutCommand: Readonly<Record<string, string>> = {
  issueToken: '`countersign token` gets tokens, and every command gets its own',
  exchangeOutsideToken: 'a workload sends it, with the token of its platform',
  forwardAuth: 'the proxy of an API sends it, with the token of its client',
  receiveBillingEvent: 'the payment provider sends it',
  streamEvents: '`countersign audit tail` and `countersign listen` read the stream',
  createConsoleLink: '`countersign console` prints the link',
  scaffoldAgent: '`countersign scaffold` unpacks the project',
  requestApproval: '`countersign approvals request` asks, and can wait for the decision',
};

interface Shortcut {
  readonly name: CommandName;
  readonly operation: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly summary: string;
}

const shortcutsOf = (
  group: string,
  operation: string,
  verbs: Readonly<Record<string, readonly [body: Shortcut['body'], summary: string]>>,
): Shortcut[] =>
  Object.entries(verbs).map(([verb, [body, summary]]) => ({
    name: { group, verb },
    operation,
    body,
    summary,
  }));

/** Frequent changes that the API expresses as a field. */
export const shortcuts: readonly Shortcut[] = [
  ...shortcutsOf('agents', 'updateAgent', {
    suspend: [
      { status: 'suspended' },
      'Suspend an agent: it gets no tokens, and introspection refuses its live ones',
    ],
    reactivate: [{ status: 'active' }, 'Reactivate a suspended agent'],
  }),
  ...shortcutsOf('organizations', 'updateOrganization', {
    suspend: [{ status: 'suspended' }, 'Suspend an organization with all its agents'],
    reactivate: [{ status: 'active' }, 'Reactivate a suspended organization'],
  }),
  ...shortcutsOf('people', 'updatePerson', {
    suspend: [
      { status: 'suspended' },
      "Suspend a person: the person's sessions end, and for good all that agents may do for the person",
    ],
    activate: [{ status: 'active' }, 'Activate a suspended person'],
  }),
  ...shortcutsOf('connections', 'updateConnection', {
    disable: [{ status: 'disabled' }, 'Disable a connection: the sessions that began through it end at once'],
    enable: [{ status: 'active' }, 'Enable a disabled connection'],
  }),
  ...shortcutsOf('listings', 'updateListing', {
    publish: [{ status: 'published' }, 'Publish a listing of the marketplace'],
  }),
  ...shortcutsOf('webhooks', 'updateWebhook', {
    pause: [{ active: false }, 'Stop the deliveries of a webhook'],
    resume: [{ active: true }, 'Start the deliveries of a webhook again'],
  }),
];

/** `paths` are those of all operations. */
export function nameOf({ id, method, path }: Operation, paths: readonly string[]): CommandName {
  const exception = irregular[id];
  if (exception) return { group: exception[0], verb: exception[1] };
  const segments = path.split('/').slice(1);
  const isCollection = (end: number) => {
    const prefix = `/${segments.slice(0, end).join('/')}/{`;
    return !segments[end - 1]?.startsWith('{') && paths.some((other) => other.startsWith(prefix));
  };
  const ends = segments.map((_, index) => index + 1).filter(isCollection);
  const end = ends.at(-1) ?? 1;
  const group = groups[`/${segments.slice(0, end).join('/')}`] ?? segments[end - 1] ?? '';
  const rest = segments.slice(end).filter((segment) => !segment.startsWith('{'));
  return { group, verb: verbFrom(id, method, rest) };
}

function verbFrom(id: string, method: string, rest: readonly string[]): string {
  const first = /^[a-z]+/.exec(id)?.[0] ?? '';
  const verb = verbs[first] ?? first;
  if (rest.length === 0) return verb;
  const noun = rest.join('-');
  return method === 'GET' || method === 'POST' ? noun : `${verb}-${noun}`;
}
