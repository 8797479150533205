/** Changes of the requests that are addressed to the person in the session, while they happen. */

import type { EventType } from '../../contract/events.ts';
import Type from '../../contract/json-schema.ts';
import { fail } from '../../kernel/fail.ts';
import { type RouteEntry, rootRoute, session } from '../../kernel/http/route.ts';
import { findAddressed } from './deciders-store.ts';
import type { ApprovalDeps } from './feature.ts';
import type { ApprovalStatus } from './schema.ts';

const statusAfter = {
  'approval.requested': 'pending',
  'approval.supported': 'pending',
  'approval.approved': 'approved',
  'approval.denied': 'denied',
  'approval.expired': 'expired',
  'approval.canceled': 'canceled',
} as const satisfies Partial<Record<EventType, ApprovalStatus>>;

type ApprovalEvent = keyof typeof statusAfter;

const example = `retry: 3000

event: approval
data: {"approvalId":"0198c0de-79ff-7b11-8a00-5c6d7e8f9a0b","status":"pending"}

: heartbeat

`;

export const ownApprovalEventRoutes = ({
  db,
  clock,
  openStream,
}: Pick<ApprovalDeps, 'db' | 'clock' | 'openStream'>): RouteEntry[] => [
  rootRoute({
    id: 'streamOwnApprovals',
    summary: 'Watch the requests that are addressed to you as server-sent events',
    description:
      'It starts with the events after it was opened: read the list again after each time that it opens.',
    tag: 'Console',
    access: session(),
    limit: 'caller',
    quota: 'free',
    hidden: true,
    method: 'GET',
    url: '/console/api/me/approvals/events',
    produces: 'text/event-stream',
    longLived: true,
    schema: {
      response: {
        200: Type.String({
          description: 'Messages `approval` with `{approvalId, status}`. Comments keep the connection open.',
          examples: [example],
        }),
      },
    },
    errors: ['FORBIDDEN'],
    async handler({ caller, header, endSignal, recheckAccess }) {
      const { personId } =
        caller.person ?? fail('FORBIDDEN', { message: 'Only a person has requests: sign in as a person.' });
      const messages = await openStream({
        caller,
        types: Object.keys(statusAfter) as ApprovalEvent[],
        async textFor({ action, metadata }) {
          const approvalId = String((metadata as { approvalId: unknown }).approvalId);
          const approval = await findAddressed(db, personId, approvalId, new Date(clock.now()));
          const data = { approvalId, status: statusAfter[action as ApprovalEvent] };
          return approval ? `event: approval\ndata: ${JSON.stringify(data)}\n\n` : '';
        },
        ended: endSignal(),
        recheckAccess,
      });
      header('cache-control', 'no-store');
      // nginx would buffer the stream.
      header('x-accel-buffering', 'no');
      return messages;
    },
  }),
];
