/** Requests for approval as rows, for the reports about them. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { TestApp } from '../harness.ts';

interface ApprovalRow {
  readonly organizationId: string;
  readonly agentId: string;
  readonly status: 'pending' | 'approved' | 'denied' | 'expired' | 'canceled';
  /** Milliseconds. */
  readonly createdAt: number;
  readonly decidedAt?: number;
  readonly expiresAt?: number;
  readonly decidedBy?: string;
}

const isoOf = (time: number) => new Date(time).toISOString();

export async function insertApprovalRow(sql: TestApp['sql'], row: ApprovalRow): Promise<string> {
  const approvalId = randomUUID();
  const { organizationId, agentId, status, createdAt, decidedAt, decidedBy = null } = row;
  const support = status === 'approved' && decidedBy ? [{ personId: decidedBy, at: isoOf(createdAt) }] : [];
  await sql(
    `insert into approvals
       (approval_id, auth_req_hash, organization_id, agent_id, audience, scopes, access_seconds, status, approvals,
        decided_by, decided_at, poll_seconds, created_at, expires_at)
     values ($1, $2, $3, $4, 'https://orders.example.com', '{orders:read}', 3600, $5, $6, $7, $8, 5, $9, $10)`,
    [
      ...[approvalId, randomBytes(32), organizationId, agentId, status, JSON.stringify(support), decidedBy],
      ...[decidedAt === undefined ? null : isoOf(decidedAt), isoOf(createdAt)],
      isoOf(row.expiresAt ?? createdAt + 86_400_000),
    ],
  );
  return approvalId;
}
