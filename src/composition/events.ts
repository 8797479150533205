/**
 * Events: the ledger and its listeners. The audit log, webhooks, streams, usage counters and caches hear of each change in its
 * transaction, in the order of the list below.
 */

import { createStatementReader } from '../adapters/keys/keys.ts';
import { zstd } from '../adapters/zstd.ts';
import { invalidateAgents } from '../features/agents/feature.ts';
import { createAudit, readTreeHeads } from '../features/audit/feature.ts';
import { revokeChainsWithAgent, revokeChainsWithPerson } from '../features/delegation/feature.ts';
import { createEventStream } from '../features/events/feature.ts';
import { createIdempotency } from '../features/idempotency/feature.ts';
import { createInstanceLog } from '../features/instance-log/feature.ts';
import { findLenders } from '../features/people/feature.ts';
import { createProvisionedProofs } from '../features/provisioned-proofs/feature.ts';
import { resourceReads } from '../features/resources/feature.ts';
import { createSignals } from '../features/signals/feature.ts';
import { createStreams } from '../features/streams/feature.ts';
import { createTokenStatuses } from '../features/tokens/feature.ts';
import { createUsage, shardFrom, type UsageDeps } from '../features/usage/feature.ts';
import { createDeliveries } from '../features/webhooks/feature.ts';
import { findPolicyPower } from '../features/workload-identity/feature.ts';
import { createPace, rest, restUntil } from '../kernel/concurrency/pace.ts';
import { createVault } from '../kernel/data/vault.ts';
import type { LedgerListener } from '../kernel/domain-event.ts';
import { createInvalidatingCache } from '../kernel/invalidating-cache.ts';
import { createLedger } from '../kernel/ledger.ts';
import { createRecordRefusal, createRefusalsLoop } from '../kernel/refusals.ts';
import type { Foundations } from './foundations.ts';
import { openStreaming } from './open.ts';

/** Parts of features that are made later, because they record in the ledger themselves. */
interface CircularDeps {
  readonly limitsOf: UsageDeps['limitsOf'];
  readonly findLinks: Parameters<typeof createTokenStatuses>[0]['findLinks'];
  readonly listings: LedgerListener;
  readonly approvals: LedgerListener;
  readonly sessions: LedgerListener;
}

export async function createEvents(base: Foundations, later: CircularDeps) {
  const { config, log, clock, outbound, metrics, ids, db, kv, signer } = base;
  const instanceLog = createInstanceLog({
    db,
    clock,
    log,
    metrics,
    outbound,
    logKey: config.auditLogKey,
    host: new URL(config.baseUrl).host,
    policy: config.auditWitnesses,
    intervalSeconds: config.auditWitnessInterval,
    readTreeHeads,
    elapsed: () => performance.now(),
  });
  const audit = createAudit({
    db,
    clock,
    log,
    metrics,
    signer,
    readStatement: createStatementReader(),
    logEvidence: instanceLog.evidence,
    continuation: instanceLog.continuation,
    archive: base.archiveStorage && {
      storage: base.archiveStorage,
      compression: zstd,
      hasWitnesses: config.auditWitnesses !== undefined,
      pace: createPace({ requests: base.requests, pause: rest, elapsed: () => performance.now() }),
    },
  });
  const eventStream = createEventStream({ feed: audit.feed, log, metrics });
  const usage = createUsage({ db, clock, shard: shardFrom(ids), limitsOf: later.limitsOf });
  const cache = createInvalidatingCache({ kv, clock, metrics });
  const { findTargets, findPersonTarget } = resourceReads;
  const statuses = createTokenStatuses({
    db,
    clock,
    cache,
    findLinks: later.findLinks,
    findTargets,
    findPersonTarget,
    findLenders,
  });
  const streaming = await openStreaming(config, base.openSeparatePool);
  const streams = streaming && createStreams({ ...streaming, clock, log, metrics });
  const vault = createVault(config.dataEncryptionKey, config.dataEncryptionPreviousKeys);
  const deliveries = createDeliveries({
    db,
    clock,
    ids,
    log,
    metrics,
    outbound,
    vault,
    requests: base.requests,
    settings: {
      enabled: config.webhooksEnabled,
      timeoutMs: config.webhookDeliveryTimeoutMs,
      maxAttempts: config.webhookMaxRetries,
      concurrency: config.webhookWorkerConcurrency,
      // A tenant must not read services of the operator's network.
      keepResponses: !(config.multiTenant && config.webhookAllowPrivateTargets),
    },
    pause: rest,
    elapsed: () => performance.now(),
    countDelivery: (organizationId, agentId) => usage.count(organizationId, agentId, 'webhook_deliveries'),
  });
  const signals = createSignals({
    db,
    clock,
    ids,
    log,
    metrics,
    signer,
    outbound,
    vault,
    issuer: config.baseUrl,
    pushEnabled: config.webhooksEnabled,
    findLending: resourceReads.findLending,
    pause: restUntil,
  });
  const provisionedProofs = createProvisionedProofs({ db, clock, findPolicyPower });
  const idempotency = createIdempotency({ db, clock, log, vault });
  const ledger = createLedger({
    clock,
    ids,
    // Listeners that may wait for a lock come first: a cache's invalidation must outlast all that follows it until the commit.
    listeners: [
      audit.listener,
      usage.planListener,
      revokeChainsWithAgent,
      revokeChainsWithPerson,
      provisionedProofs.listener,
      later.approvals,
      later.sessions,
      later.listings,
      idempotency.listener,
      signals.listener,
      deliveries.listener,
      statuses.listener,
      invalidateAgents(cache),
      usage.listener,
      ...(streams ? [streams.listener] : []),
    ],
  });
  const refusals = { loops: [createRefusalsLoop({ db, clock, ledger, metrics })] };
  const recordRefusal = createRecordRefusal({ db, ledger, metrics });
  return {
    audit,
    instanceLog,
    eventStream,
    usage,
    cache,
    statuses,
    streams,
    vault,
    deliveries,
    signals,
    idempotency,
    ledger,
    refusals,
    provisionedProofs,
    recordRefusal,
  };
}

export type Events = Awaited<ReturnType<typeof createEvents>>;
