/**
 * The standard variables OTEL_* that concern traces, as far as this service supports them. Other programs of the operator read the same
 * variables, and the specification asks for a warning instead of a failure: a bad value turns tracing off, and the service starts.
 * The exporter reads endpoint, headers, timeout, compression and certificates itself; here they are checked.
 */
import { accessSync, constants } from 'node:fs';
import type { Environment } from '../../kernel/config/config.ts';

const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** OTLP over HTTP, in both encodings. OTLP over gRPC would need a client of its own, and every collector takes HTTP too. */
export const protocols = ['http/protobuf', 'http/json'] as const;

export interface TracingSettings {
  readonly exporter: 'otlp' | 'console';
  readonly protocol: (typeof protocols)[number];
  readonly sampler: (typeof samplerNames)[number];
  /** The sampled share of traces, for the samplers by ratio. */
  readonly ratio: number;
  /** Whether the trace context of incoming requests is used. */
  readonly acceptsContext: boolean;
  readonly batches: {
    readonly maxQueueSize?: number;
    readonly maxExportBatchSize?: number;
    readonly scheduledDelayMillis?: number;
    readonly exportTimeoutMillis?: number;
  };
}

type TracingState =
  | { readonly kind: 'off' }
  | { readonly kind: 'on'; readonly settings: TracingSettings }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

/** An empty variable counts as not set. */
const variableOf = (env: Environment, name: string): string | undefined => env[name]?.trim() || undefined;

/** The variable for traces goes before the one for all signals. */
const exporterVariable = (env: Environment, name: string): string | undefined =>
  [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`].find(
    (each) => variableOf(env, each) !== undefined,
  );

export function readTracingState(env: Environment): TracingState {
  const exporters = wordsOf(env, 'OTEL_TRACES_EXPORTER');
  const isDisabled = variableOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  const isRequested = exporters.length > 0 || exporterVariable(env, 'ENDPOINT') !== undefined;
  if (isDisabled || !isRequested || exporters.includes('none')) return { kind: 'off' };

  const problems: string[] = [];
  const settings: TracingSettings = {
    exporter: exporterOf(exporters, problems),
    protocol: protocolOf(env),
    sampler: samplerOf(env, problems),
    ratio: ratioOf(env, problems),
    acceptsContext:
      variableOf(env, 'OTEL_PROPAGATORS') === undefined ||
      wordsOf(env, 'OTEL_PROPAGATORS').includes('tracecontext'),
    batches: batchesOf(env, problems),
  };
  if (settings.exporter === 'otlp') checkExporter(env, problems);
  return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'on', settings };
}

export const isTracingOn = (env: Environment): boolean => readTracingState(env).kind === 'on';

const wordsOf = (env: Environment, name: string): string[] =>
  (variableOf(env, name) ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

function exporterOf(exporters: readonly string[], problems: string[]): TracingSettings['exporter'] {
  const [exporter = 'otlp', ...others] = exporters;
  if (others.length === 0 && (exporter === 'otlp' || exporter === 'console')) return exporter;
  problems.push('OTEL_TRACES_EXPORTER must be otlp, console or none');
  return 'otlp';
}

/** `checkExporter` reports an unknown one. */
const protocolOf = (env: Environment): TracingSettings['protocol'] => {
  const variable = exporterVariable(env, 'PROTOCOL');
  return protocols.find((each) => variable && each === variableOf(env, variable)) ?? 'http/protobuf';
};

/** The specification's default is `parentbased_always_on`: with it, any client could switch the traces of its requests off. */
function samplerOf(env: Environment, problems: string[]): TracingSettings['sampler'] {
  const name = variableOf(env, 'OTEL_TRACES_SAMPLER') ?? 'always_on';
  const known = samplerNames.find((each) => each === name);
  if (!known) problems.push(`OTEL_TRACES_SAMPLER must be one of ${samplerNames.join(', ')}`);
  return known ?? 'always_on';
}

function ratioOf(env: Environment, problems: string[]): number {
  const text = variableOf(env, 'OTEL_TRACES_SAMPLER_ARG');
  const isUsed = variableOf(env, 'OTEL_TRACES_SAMPLER')?.endsWith('traceidratio');
  if (text === undefined || !isUsed) return 1;
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  problems.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1');
  return 1;
}

function batchesOf(env: Environment, problems: string[]): TracingSettings['batches'] {
  const integer = (name: string, min: number, max: number): number | undefined => {
    const text = variableOf(env, name);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (Number.isInteger(number) && number >= min && number <= max) return number;
    problems.push(`${name} must be a whole number from ${min} to ${max}`);
    return undefined;
  };
  const maxQueueSize = integer('OTEL_BSP_MAX_QUEUE_SIZE', 1, 1_000_000);
  const maxExportBatchSize = integer('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1, 100_000);
  const scheduledDelayMillis = integer('OTEL_BSP_SCHEDULE_DELAY', 1, 3_600_000);
  const exportTimeoutMillis = integer('OTEL_BSP_EXPORT_TIMEOUT', 1, 3_600_000);
  return {
    ...(maxQueueSize !== undefined && { maxQueueSize }),
    ...(maxExportBatchSize !== undefined && { maxExportBatchSize }),
    ...(scheduledDelayMillis !== undefined && { scheduledDelayMillis }),
    ...(exportTimeoutMillis !== undefined && { exportTimeoutMillis }),
  };
}

function checkExporter(env: Environment, problems: string[]): void {
  const check = (name: string, isValid: (value: string) => boolean, rule: string) => {
    const variable = exporterVariable(env, name);
    if (variable !== undefined && !isValid(env[variable]?.trim() ?? ''))
      problems.push(`${variable} must be ${rule}`);
  };
  const isReadable = (path: string) => {
    try {
      accessSync(path, constants.R_OK);
      return true;
    } catch {
      return false;
    }
  };
  check('ENDPOINT', (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ''), 'an http or https URL');
  check(
    'PROTOCOL',
    (protocol) => protocols.some((each) => each === protocol),
    'http/protobuf or http/json (port 4318 of a collector); grpc is not supported',
  );
  check('TIMEOUT', (text) => /^[1-9]\d{0,7}$/.test(text), 'a number of milliseconds');
  check('COMPRESSION', (text) => text === 'gzip' || text === 'none', 'gzip or none');
  check('HEADERS', (text) => text.split(',').every((pair) => /^[^=]+=/.test(pair)), 'a list of name=value');
  for (const name of ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'])
    check(name, isReadable, 'the path of a file that this process can read');
}

/** Where traces go, for messages: without user, password and parameters. */
export function shownEndpoint(env: Environment): string {
  const url = URL.parse(variableOf(env, exporterVariable(env, 'ENDPOINT') ?? '') ?? 'http://localhost:4318');
  return url ? `${url.protocol}//${url.host}` : 'the collector';
}
