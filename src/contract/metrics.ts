/**
 * Every metric of GET /metrics: name, type, labels, and how the figures of several processes are aggregated. Label values come from
 * fixed sets. For client ids and organizations, kernel/observability/metrics.ts bounds the number of distinct values and counts
 * the rest as `other`.
 */

interface MetricDefinition {
  readonly type: 'counter' | 'histogram' | 'gauge';
  readonly help: string;
  readonly labels: readonly string[];
  /** Counters and histograms are summed by default; gauges must set this. */
  readonly acrossProcesses?: 'sum' | 'min' | 'max';
  readonly buckets?: readonly number[];
}

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const querySeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];
const waitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const batchSizes = [1, 2, 5, 10, 20, 50, 100];
const commandSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1];

export const metrics = {
  service_tokens_issued_total: { type: 'counter', help: 'Access tokens issued.', labels: ['scope'] },
  service_agents_registered_total: {
    type: 'counter',
    help: 'Agents registered.',
    labels: ['deployment_env'],
  },
  service_http_requests_total: {
    type: 'counter',
    help: 'HTTP responses by route pattern.',
    labels: ['method', 'route', 'status_code'],
  },
  service_rate_limit_hits_total: {
    type: 'counter',
    help: 'Requests refused by the rate limit; `anonymous` for unauthenticated requests.',
    labels: ['client_id'],
  },
  service_refusals_total: {
    type: 'counter',
    help: 'Requests answered with an error, by the code of the API or of OAuth.',
    labels: ['code'],
  },
  service_overload_rejections_total: {
    type: 'counter',
    help: 'Requests refused with 503 because a queue was full or the wait too long: `work` for a queue of requests, `database_connections` for the wait for a connection.',
    labels: ['queue'],
  },
  service_webhook_dead_letters_total: {
    type: 'counter',
    help: 'Webhook deliveries that failed after the last attempt, in all processes of the instance.',
    labels: ['event_type'],
    // Stored in the database: every process shows the same total.
    acrossProcesses: 'max',
  },
  service_webhook_attempts_total: {
    type: 'counter',
    help: 'Webhook attempts whose result is recorded: `delivered`, `failed` (it is tried again) or `dead_letter`.',
    labels: ['outcome'],
  },
  service_webhook_organizations: {
    type: 'gauge',
    help: 'Organizations whose newest webhook attempt within an hour was `delivered` or `failed`, as far as this process made the attempts.',
    labels: ['outcome'],
    // Several processes send for the same organization.
    acrossProcesses: 'max',
  },
  service_webhook_oldest_due_seconds: {
    type: 'gauge',
    help: 'For how long the oldest webhook delivery has been due, among receivers whose last attempt did not fail, or the oldest event has waited for its deliveries; 0 when none is due. Absent with `WEBHOOKS_ENABLED=false`.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_signals_written_total: {
    type: 'counter',
    help: 'Signals written, by the last part of the event type. One for each organization that learns of an end.',
    labels: ['event_type'],
  },
  service_signals_delivered_total: {
    type: 'counter',
    help: 'Signals that receivers acknowledged, by `method` `poll` or `push`.',
    labels: ['method'],
  },
  service_signal_push_failures_total: {
    type: 'counter',
    help: 'Signals that a push receiver did not accept; they are sent again.',
    labels: [],
  },
  service_signal_oldest_undelivered_seconds: {
    type: 'gauge',
    help: 'For how long the oldest signal has waited, among push streams without failures and streams that were polled within a minute; 0 when none waits.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_tenant_api_calls_total: {
    type: 'counter',
    help: 'API calls by organization.',
    labels: ['org_id', 'tier'],
  },
  service_billing_limit_rejections_total: {
    type: 'counter',
    help: 'Requests refused by a plan limit.',
    labels: ['org_id', 'limit_type'],
  },
  service_did_documents_generated_total: { type: 'counter', help: 'DID documents generated.', labels: [] },
  service_oidc_tokens_issued_total: { type: 'counter', help: 'Tokens issued by OIDC exchange.', labels: [] },
  service_federation_events_total: { type: 'counter', help: 'Federation events.', labels: ['event_type'] },
  service_delegation_chains_created_total: {
    type: 'counter',
    help: 'Delegation chains created.',
    labels: [],
  },
  service_compliance_reports_generated_total: {
    type: 'counter',
    help: 'Compliance reports generated (cache misses).',
    labels: [],
  },
  service_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the request line to the last byte of the response.',
    labels: ['method', 'route', 'status_code'],
    buckets: requestSeconds,
  },
  service_cache_lookups_total: {
    type: 'counter',
    help: 'Look-ups in a cache, by `result` `hit` or `miss`: `access_tokens` (verified signatures), `client_secrets`, `policy_decisions`, and `shared` (rows of the database that are kept in Redis).',
    labels: ['cache', 'result'],
  },
  service_batch_size: {
    type: 'histogram',
    help: 'Requests that shared one transaction or query.',
    labels: ['batch'],
    buckets: batchSizes,
  },
  service_batch_wait_seconds: {
    type: 'histogram',
    help: 'How long the first request of a batch waited for its start.',
    labels: ['batch'],
    buckets: waitSeconds,
  },
  service_queue_depth: {
    type: 'gauge',
    help: 'Requests that wait in a queue of this process.',
    labels: ['queue'],
    acrossProcesses: 'sum',
  },
  service_db_query_duration_seconds: {
    type: 'histogram',
    help: 'Duration of one named query, including the wait for a connection.',
    labels: ['operation'],
    buckets: querySeconds,
  },
  service_db_errors_total: {
    type: 'counter',
    help: 'Failed queries by kind: `unavailable`, `timeout`, `read_only`, `resources` (of the server), `conflict` (deadlock or lock timeout; most are retried), `constraint`, `other`.',
    labels: ['kind'],
  },
  service_redis_command_duration_seconds: {
    type: 'histogram',
    help: 'Duration of one key-value command.',
    labels: ['command'],
    buckets: commandSeconds,
  },
  service_redis_errors_total: {
    type: 'counter',
    help: 'Key-value commands that failed or were not sent, because the store is unavailable.',
    labels: ['command'],
  },
  service_redis_available: {
    type: 'gauge',
    help: '1 while Redis accepts writes, 0 while it does not. Absent with `REDIS_URL=memory:`.',
    labels: [],
    acrossProcesses: 'min',
  },
  service_credentials_expiring_soon_total: {
    type: 'gauge',
    help: 'Active credentials that expire within 7 days.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_signing_key_since_timestamp_seconds: {
    type: 'gauge',
    help: 'When the current signing key signed the audit log for the first time, in seconds since 1970.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_audit_refusals_suppressed_total: {
    type: 'counter',
    help: 'Refusals of unauthenticated requests that were counted instead of recorded in the audit log.',
    labels: [],
  },
  service_audit_chain_integrity: {
    type: 'gauge',
    help: '1 while the audit chain verifies, 0 when it is broken.',
    labels: [],
    acrossProcesses: 'min',
  },
  service_audit_linking_delayed: {
    type: 'gauge',
    help: '1 while audit events wait for more than five seconds to be linked, or the sequencer cannot get its lock.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_audit_oldest_unlinked_seconds: {
    type: 'gauge',
    help: 'Age of the oldest audit event that is not linked; 0 while none is older than a second.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_audit_quorum_age_seconds: {
    type: 'gauge',
    help: 'For how long a checkpoint of the instance log has waited for a quorum of its witnesses; 0 while the newest has one. Absent without `AUDIT_WITNESSES`.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_audit_instance_log_stopped: {
    type: 'gauge',
    help: '1 while the instance log cannot go on, because its next checkpoint would contradict what it has signed. Absent without `AUDIT_LOG_KEY`.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_audit_witness_failures_total: {
    type: 'counter',
    help: 'Requests to a witness that brought no valid cosignature.',
    labels: ['witness'],
  },
  service_audit_pending_dropped_total: {
    type: 'counter',
    help: 'Audit events that a process stopped tracking before it saw them linked, because it tracked too many.',
    labels: [],
  },
  service_stream_outbox_pending: {
    type: 'gauge',
    help: 'Events that wait to be published to a configured stream; 100000 stands for that many or more.',
    labels: ['stream'],
    acrossProcesses: 'max',
  },
  service_stream_outbox_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest event that waits to be published to a configured stream; 0 when none waits.',
    labels: ['stream'],
    acrossProcesses: 'max',
  },
  service_audit_archive_failures_total: {
    type: 'counter',
    help: 'Days of the audit log that were not archived in an attempt, archived files that could not be read, and rounds of retention that dropped nothing for this. By cause: `storage` (it does not work), `content` (a file is not what belongs there), `log` (the log of the day is not intact) or `retention`.',
    labels: ['cause'],
  },
  service_audit_archive_oldest_pending_seconds: {
    type: 'gauge',
    help: 'How long ago the oldest day ended that should be archived and is not; 0 when there is none. Absent without `AUDIT_ARCHIVE_URL`.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_event_streams_open: {
    type: 'gauge',
    help: 'Open event streams (`GET /events`, and those of people in the console).',
    labels: [],
    acrossProcesses: 'sum',
  },
  service_db_pool_size: {
    type: 'gauge',
    help: 'Database connections that the pool may open.',
    labels: [],
    acrossProcesses: 'sum',
  },
  service_db_pool_active_connections: {
    type: 'gauge',
    help: 'Database connections in use.',
    labels: [],
    acrossProcesses: 'sum',
  },
  service_db_pool_waiting_requests: {
    type: 'gauge',
    help: 'Queries waiting for a database connection.',
    labels: [],
    acrossProcesses: 'sum',
  },
  service_loop_rounds_total: {
    type: 'counter',
    help: 'Rounds of the background loops: `ok`, `skipped` (a purge, while the clock is ahead of the database), `postponed` (the database is unavailable) or `failed`.',
    labels: ['loop', 'outcome'],
  },
  service_background_worker: {
    type: 'gauge',
    help: '1 in a process that runs all background loops, 0 with `serve --no-worker`.',
    labels: [],
    acrossProcesses: 'max',
  },
  service_clock_skew_seconds: {
    type: 'gauge',
    help: "This machine's clock minus the database's.",
    labels: [],
    acrossProcesses: 'max',
  },
  service_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels name the versions of Countersign and Node.',
    labels: ['version', 'node'],
    acrossProcesses: 'max',
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof metrics;
type OfType<T extends MetricDefinition['type']> = {
  [N in MetricName]: (typeof metrics)[N]['type'] extends T ? N : never;
}[MetricName];
export type CounterName = OfType<'counter'>;
export type HistogramName = OfType<'histogram'>;
export type GaugeName = OfType<'gauge'>;
export type LabelsOf<N extends MetricName> = (typeof metrics)[N]['labels'][number];
