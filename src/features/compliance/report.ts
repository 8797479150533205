import { limits } from '../../contract/limits.ts';
import { isoTime } from '../../kernel/clock.ts';
import { KvUnavailable } from '../../kernel/ports/kv.ts';
import type { ComplianceDeps } from './deps.ts';
import type { ComplianceReport } from './schema.ts';
import { countLiving } from './store.ts';
import type { Verification } from './verification.ts';

export interface Reports {
  of(organizationId: string): Promise<ComplianceReport>;
}

type Report = Omit<ComplianceReport, 'from_cache'>;

/** How long somebody who asks waits for agents that were never looked at: some thousands of them. The rest is done by the loop. */
const waitMs = 3_000;
/** Agents that are registered meanwhile are looked at too, as long as that comes to an end. */
const attempts = 3;

/** The number changes with the shape of what is kept. */
const keyOf = (organizationId: string) => `compliance:1:report:${organizationId}`;

export function createReports(deps: ComplianceDeps, verification: Verification): Reports {
  const { db, kv, clock, metrics, audit } = deps;
  /** Of those that ask at once, one has the work done. */
  const underWay = new Map<string, Promise<Report>>();

  const verifyAgents = async (organizationId: string) => {
    const until = clock.now() + waitMs;
    for (let attempt = 1; ; attempt += 1) {
      const inTime = await verification.proceed(organizationId, until);
      const counts = await verification.count(organizationId);
      const done = inTime && counts.checked === counts.active;
      if (done || !inTime || attempt === attempts) return { ...counts, done };
    }
  };

  const generate = async (organizationId: string): Promise<Report> => {
    const { active, verified, conforming, done } = await verifyAgents(organizationId);
    const report: Report = {
      tenantId: organizationId,
      generatedAt: isoTime(clock),
      agntcyConformance: done && conforming === active,
      agentCount: await countLiving(db, organizationId),
      verifiedAgentCount: verified,
      auditChainIntegrity: await audit.of(organizationId),
    };
    metrics.count('service_compliance_reports_generated_total', {});
    // What is not known yet is not kept: the next to ask is told more.
    if (done) await keep(report);
    else verification.unfinished.add(organizationId);
    return report;
  };

  const keep = (report: Report) =>
    withoutKv(undefined, async () => {
      const ttlMs = limits.complianceReportCacheSeconds * 1_000;
      await kv.set(keyOf(report.tenantId), JSON.stringify(report), { ttlMs });
    });

  return {
    async of(organizationId) {
      const kept = readReport(await withoutKv(null, () => kv.get(keyOf(organizationId))));
      if (kept?.tenantId === organizationId) return { ...kept, from_cache: true };
      const report = underWay.get(organizationId) ?? generate(organizationId);
      underWay.set(organizationId, report);
      try {
        return { ...(await report), from_cache: false };
      } finally {
        underWay.delete(organizationId);
      }
    },
  };
}

/** What is no report of ours, whoever put it there, is as good as nothing. */
function readReport(text: string | null): Report | undefined {
  try {
    return JSON.parse(text ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** The store only saves work: without it every report is a new one. */
async function withoutKv<T>(otherwise: T, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof KvUnavailable) return otherwise;
    throw error;
  }
}
