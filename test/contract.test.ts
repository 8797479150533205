/** Compares the contract with the names of the spec in fixtures/spec-words.json. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { errorGroups, errors, tokenErrors } from '../src/contract/errors.ts';
import { webhookEvents } from '../src/contract/events.ts';
import { plans } from '../src/contract/limits.ts';
import { metrics } from '../src/contract/metrics.ts';
import { isScope, scopes } from '../src/contract/scopes.ts';
import { createMetrics } from '../src/kernel/observability/metrics.ts';

interface SpecWords {
  errors: Record<string, number>;
  tokenErrors: Record<string, number>;
  metrics: Record<string, { type: string; labels: string[] }>;
  events: string[];
  scopes: string[];
}

const spec: SpecWords = JSON.parse(
  readFileSync(new URL('fixtures/spec-words.json', import.meta.url), 'utf8'),
);

describe('the contract', () => {
  it('has every error of the spec under its status, and no other in the spec group', () => {
    const ours = Object.fromEntries(
      Object.entries(errorGroups.spec).map(([code, { status }]) => [code, status]),
    );
    assert.deepEqual(ours, spec.errors);
    assert.deepEqual(errors.AGENT_DECOMMISSIONED.alsoStatus, [410, 422]);
  });
  it('has the errors we add', () => {
    assert.deepEqual(
      Object.fromEntries(Object.entries(errorGroups.added).map(([code, { status }]) => [code, status])),
      {
        PARTNER_ALREADY_EXISTS: 409,
        TRUST_POLICY_NOT_FOUND: 404,
        TRUST_POLICY_ALREADY_EXISTS: 409,
        RESOURCE_NOT_FOUND: 404,
        RESOURCE_ALREADY_EXISTS: 409,
        RESOURCE_LIMIT_EXCEEDED: 403,
        GRANT_NOT_FOUND: 404,
        SHARE_NOT_FOUND: 404,
        SHARE_DECLINED: 409,
        SHARE_LIMIT_EXCEEDED: 403,
        RESOURCE_NOT_VERIFIED: 422,
        MEMBER_NOT_FOUND: 404,
        LAST_ADMIN: 409,
        PERSON_NOT_FOUND: 404,
        PERSON_ALREADY_EXISTS: 409,
        CONNECTION_NOT_FOUND: 404,
        CONNECTION_ALREADY_EXISTS: 409,
        CONNECTION_LIMIT_EXCEEDED: 403,
        AUTHORIZATION_REQUEST_NOT_FOUND: 404,
        AUTHORIZATION_REQUEST_DECIDED: 409,
        APPROVAL_NOT_FOUND: 404,
        APPROVAL_NOT_PENDING: 409,
        APPROVAL_LIMIT_EXCEEDED: 429,
        IDEMPOTENCY_KEY_REUSED: 409,
        IDEMPOTENCY_KEY_MISMATCH: 422,
        LISTING_NOT_FOUND: 404,
        ARCHIVE_NOT_FOUND: 404,
        LOG_NOT_FOUND: 404,
        LOG_TILE_NOT_FOUND: 404,
        LISTING_ALREADY_EXISTS: 409,
        SIGNAL_STREAM_NOT_FOUND: 404,
        SIGNAL_STREAM_LIMIT_EXCEEDED: 403,
        SUBSCRIPTION_NOT_FOUND: 404,
        BILLING_DISABLED: 404,
        BILLING_PAGE_NOT_FOUND: 404,
        BILLING_PAGE_CLOSED: 410,
      },
    );
  });
  it('has the token endpoint errors of the spec', () => {
    for (const [code, status] of Object.entries(spec.tokenErrors)) {
      assert.equal(tokenErrors[code as keyof typeof tokenErrors], status, code);
    }
  });
  it('has exactly the metrics of the spec and those added to it, each with its type and labels', () => {
    const ours = Object.fromEntries(
      Object.entries(metrics).map(([name, { type, labels }]) => [name, { type, labels: [...labels] }]),
    );
    const added = {
      service_overload_rejections_total: { type: 'counter', labels: ['queue'] },
      service_audit_linking_delayed: { type: 'gauge', labels: [] },
      service_audit_oldest_unlinked_seconds: { type: 'gauge', labels: [] },
      service_audit_instance_log_stopped: { type: 'gauge', labels: [] },
      service_audit_quorum_age_seconds: { type: 'gauge', labels: [] },
      service_audit_witness_failures_total: { type: 'counter', labels: ['witness'] },
      service_audit_archive_failures_total: { type: 'counter', labels: ['cause'] },
      service_audit_archive_oldest_pending_seconds: { type: 'gauge', labels: [] },
      service_audit_pending_dropped_total: { type: 'counter', labels: [] },
      service_stream_outbox_pending: { type: 'gauge', labels: ['stream'] },
      service_audit_refusals_suppressed_total: { type: 'counter', labels: [] },
      service_refusals_total: { type: 'counter', labels: ['code'] },
      service_webhook_attempts_total: { type: 'counter', labels: ['outcome'] },
      service_webhook_organizations: { type: 'gauge', labels: ['outcome'] },
      service_webhook_oldest_due_seconds: { type: 'gauge', labels: [] },
      service_signals_written_total: { type: 'counter', labels: ['event_type'] },
      service_signals_delivered_total: { type: 'counter', labels: ['method'] },
      service_signal_push_failures_total: { type: 'counter', labels: [] },
      service_signal_oldest_undelivered_seconds: { type: 'gauge', labels: [] },
      service_cache_lookups_total: { type: 'counter', labels: ['cache', 'result'] },
      service_batch_size: { type: 'histogram', labels: ['batch'] },
      service_batch_wait_seconds: { type: 'histogram', labels: ['batch'] },
      service_queue_depth: { type: 'gauge', labels: ['queue'] },
      service_db_errors_total: { type: 'counter', labels: ['kind'] },
      service_db_pool_size: { type: 'gauge', labels: [] },
      service_redis_errors_total: { type: 'counter', labels: ['command'] },
      service_redis_available: { type: 'gauge', labels: [] },
      service_signing_key_since_timestamp_seconds: { type: 'gauge', labels: [] },
      service_stream_outbox_oldest_seconds: { type: 'gauge', labels: ['stream'] },
      service_event_streams_open: { type: 'gauge', labels: [] },
      service_loop_rounds_total: { type: 'counter', labels: ['loop', 'outcome'] },
      service_background_worker: { type: 'gauge', labels: [] },
      service_clock_skew_seconds: { type: 'gauge', labels: [] },
      service_build_info: { type: 'gauge', labels: ['version', 'node'] },
    };
    assert.deepEqual(ours, { ...spec.metrics, ...added });
  });
  it('registers every metric at the start, so that /metrics lists it', async () => {
    const text = await createMetrics().text();
    for (const [name, { type }] of Object.entries(spec.metrics))
      assert.match(text, new RegExp(`^# TYPE ${name} ${type}$`, 'm'));
  });
  it('omits a gauge until it is set', async () => {
    const metrics = createMetrics();
    assert.doesNotMatch(await metrics.text(), /^service_audit_chain_integrity /m);
    metrics.gauge('service_audit_chain_integrity', 1);
    assert.match(await metrics.text(), /^service_audit_chain_integrity 1$/m);
  });
  it('has exactly the webhook events and scopes of the spec and those that we add', () => {
    const added = ['created', 'updated', 'deleted', 'shared', 'unshared'].map((verb) => `resource.${verb}`);
    const shares = ['share.offered', 'share.accepted', 'share.declined'];
    const named = (noun: string, ...verbs: string[]) => verbs.map((verb) => `${noun}.${verb}`);
    const security = [
      ...named('delegation', 'created', 'revoked'),
      ...named('trust_policy', 'created', 'updated', 'deleted'),
      ...named('member', 'added', 'changed', 'removed'),
      ...named('person', 'created', 'changed', 'removed', 'suspended', 'activated'),
      ...named('connection', 'created', 'updated', 'deleted'),
      ...named('consent', 'granted', 'denied', 'revoked'),
      ...named('approval', 'requested', 'approved', 'denied', 'expired', 'canceled'),
      'client.registered',
      ...named('session', 'created', 'ended', 'refused'),
      ...['token.refused', 'policy.refused'],
    ];
    const events = [...spec.events, ...added, ...shares, ...security, 'grant.changed', 'grant.removed'];
    assert.deepEqual([...webhookEvents].sort(), events.sort());
    assert.deepEqual([...scopes].sort(), [...spec.scopes, 'resources:read', 'resources:write'].sort());
    assert.equal(isScope('admin:everything'), false);
  });
  it('has the figures of the plans', () => {
    assert.deepEqual(Object.values(plans.free), [25, 1_000, 1_000, 10_000]);
    assert.deepEqual(Object.values(plans.pro), [1_000, 100_000, 100_000, 1_000_000]);
    assert.deepEqual(new Set(Object.values(plans.enterprise)), new Set([2_147_483_647]));
  });
});
