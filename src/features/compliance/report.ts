import { limits } from '../../contract/limits.ts';
import { isoTime } from '../../kernel/clock.ts';
import { KvUnavailable } from '../../kernel/ports/kv.ts';
import type { ComplianceDeps } from './feature.ts';
import type { ComplianceReport } from './schema.ts';
import { countWritingAgents, readApprovals } from './store.ts';
import type { Verification } from './verification.ts';

export interface Reports {
  /** With the list of approvals only for those who may read it. */
  of(organizationId: string, reader: { mayListApprovals: boolean }): Promise<ComplianceReport>;
}

type Report = Omit<ComplianceReport, 'from_cache'>;

/** How long a request waits for the verification of new agents: enough for some thousands. The loop does the rest. */
const verificationTimeoutMs = 3_000;
/** Repeats for agents that were registered during the verification. */
const maxAttempts = 3;

const { days, maxListed } = limits.complianceApprovals;
const dayMs = 86_400_000;

/** The number is the version of the cached format. */
const keyOf = (organizationId: string) => `compliance:3:report:${organizationId}`;

export function createReports(deps: ComplianceDeps, verification: Verification): Reports {
  const { db, kv, clock, metrics, audit } = deps;
  /** Concurrent requests share one report. */
  const inFlight = new Map<string, Promise<Report>>();

  const verifyAgents = async (organizationId: string) => {
    const until = clock.now() + verificationTimeoutMs;
    for (let attempt = 1; ; attempt += 1) {
      const inTime = await verification.verifyUntil(organizationId, until);
      const counts = await verification.count(organizationId);
      const done = inTime && counts.checked === counts.active;
      if (done || !inTime || attempt === maxAttempts) return { ...counts, done };
    }
  };

  const generate = async (organizationId: string): Promise<Report> => {
    const { active, verified, conforming, done } = await verifyAgents(organizationId);
    const { holders, agents } = await countWritingAgents(db, organizationId);
    const now = clock.now();
    const since = new Date(now - days * dayMs).toISOString();
    const approvals = await readApprovals(db, organizationId, {
      since,
      now: new Date(now).toISOString(),
      maxListed,
    });
    const report: Report = {
      tenantId: organizationId,
      generatedAt: isoTime(clock),
      agntcyConformance: done && conforming === active,
      agentCount: agents,
      writingAgentCount: holders,
      verifiedAgentCount: verified,
      auditChainIntegrity: await audit.of(organizationId),
      approvals: { since, ...approvals },
    };
    metrics.count('service_compliance_reports_generated_total', {});
    // An incomplete report is not cached.
    if (done) await cacheReport(report);
    else verification.unfinished.add(organizationId);
    return report;
  };

  const cacheReport = (report: Report) =>
    withKvFallback(undefined, async () => {
      const ttlMs = limits.complianceReportCacheSeconds * 1_000;
      await kv.set(keyOf(report.tenantId), JSON.stringify(report), { ttlMs });
    });

  const shownTo = ({ approvals, ...report }: Report, mayListApprovals: boolean): Report =>
    mayListApprovals ? { ...report, approvals } : { ...report, approvals: { ...approvals, data: null } };

  return {
    async of(organizationId, { mayListApprovals }) {
      const cached = readReport(await withKvFallback(null, () => kv.get(keyOf(organizationId))));
      if (cached?.tenantId === organizationId)
        return { ...shownTo(cached, mayListApprovals), from_cache: true };
      const report = inFlight.get(organizationId) ?? generate(organizationId);
      inFlight.set(organizationId, report);
      try {
        return { ...shownTo(await report, mayListApprovals), from_cache: false };
      } finally {
        inFlight.delete(organizationId);
      }
    },
  };
}

/** Undefined when the cached text is not a report. */
function readReport(text: string | null): Report | undefined {
  try {
    return JSON.parse(text ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** The cache only saves work: without Redis every report is a new one. */
async function withKvFallback<T>(fallback: T, command: () => Promise<T>): Promise<T> {
  try {
    return await command();
  } catch (error) {
    if (error instanceof KvUnavailable) return fallback;
    throw error;
  }
}
