/**
 * An OTLP collector on loopback that keeps the spans. It decodes OTLP/HTTP: protobuf by the field numbers of the specification, JSON by its
 * names.
 */
import { gunzipSync } from 'node:zlib';
import { until } from '../programs.ts';
import { startPeer } from './http-peer.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
  readonly resource: Readonly<Record<string, string | number>>;
}

export interface Collector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** All bodies, decompressed. */
  bytes(): Buffer;
  /** The headers of the last export. */
  headers(): Readonly<Record<string, unknown>>;
  /** The first span that matches, once it has arrived. */
  find(what: string, matches: (span: CollectedSpan) => boolean): Promise<CollectedSpan>;
  /** The spans that have arrived of a trace. */
  trace(traceId: string): CollectedSpan[];
}

export async function startCollector(status: () => number = () => 200): Promise<Collector> {
  const bodies: Buffer[] = [];
  const spans: CollectedSpan[] = [];
  let headers: Record<string, unknown> = {};
  const url = await startPeer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const sent = Buffer.concat(chunks);
    if (status() !== 200 || request.url !== '/v1/traces') return void response.writeHead(status()).end();
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    headers = request.headers;
    bodies.push(body);
    const isJson = request.headers['content-type'] === 'application/json';
    spans.push(...(isJson ? spansOfJson(JSON.parse(body.toString())) : spansOf(body)));
    // An empty ExportTraceServiceResponse, in the encoding of the request.
    const type = isJson ? 'application/json' : 'application/x-protobuf';
    response.writeHead(200, { 'content-type': type }).end(isJson ? '{}' : undefined);
  });
  return {
    url,
    spans,
    bytes: () => Buffer.concat(bodies),
    headers: () => headers,
    find: (what, matches) => until(`span ${what}`, async () => spans.find(matches)),
    trace: (traceId) => spans.filter((span) => span.traceId === traceId),
  };
}

type Field = { readonly number: number; readonly bytes: Buffer; readonly value: bigint };

/** The fields of one message: for each its bytes (length-delimited) or its value (varint, fixed). */
function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const none = Buffer.alloc(0);
  while (at < message.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    switch (tag & 7) {
      case 0:
        fields.push({ number, bytes: none, value: varint() });
        break;
      case 1:
        fields.push({ number, bytes: message.subarray(at, at + 8), value: message.readBigUInt64LE(at) });
        at += 8;
        break;
      case 2: {
        const length = Number(varint());
        fields.push({ number, bytes: message.subarray(at, at + length), value: 0n });
        at += length;
        break;
      }
      case 5:
        fields.push({ number, bytes: none, value: BigInt(message.readUInt32LE(at)) });
        at += 4;
        break;
      default:
        throw new Error(`wire type ${tag & 7} of field ${number}`);
    }
  }
  return fields;
}

const messages = (message: Buffer, number: number): Buffer[] =>
  fieldsOf(message)
    .filter((field) => field.number === number)
    .map(({ bytes }) => bytes);

const single = (message: Buffer, number: number): Buffer => messages(message, number)[0] ?? Buffer.alloc(0);

function attributesOf(pairs: readonly Buffer[]): Record<string, string | number> {
  const entries = pairs.map((pair) => {
    const [{ number, bytes, value } = { number: 1, bytes: Buffer.alloc(0), value: 0n }] = fieldsOf(
      single(pair, 2),
    );
    const decoded = number === 1 ? bytes.toString() : number === 4 ? bytes.readDoubleLE() : Number(value);
    return [single(pair, 1).toString(), decoded] as const;
  });
  return Object.fromEntries(entries);
}

const spansOf = (request: Buffer): CollectedSpan[] =>
  messages(request, 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messages(single(resourceSpans, 1), 1));
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        traceId: single(span, 1).toString('hex'),
        spanId: single(span, 2).toString('hex'),
        parentId: single(span, 4).toString('hex'),
        name: single(span, 5).toString(),
        attributes: attributesOf(messages(span, 9)),
        links: messages(span, 13).map((link) => ({
          traceId: single(link, 1).toString('hex'),
          spanId: single(link, 2).toString('hex'),
        })),
        isError: fieldsOf(single(span, 15)).some(({ number, value }) => number === 3 && value === 2n),
        resource,
      }));
  });

interface JsonAttribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number | string;
    readonly doubleValue?: number;
  };
}

interface JsonSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes?: readonly JsonAttribute[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

interface JsonExport {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly JsonAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly JsonSpan[] }[];
  }[];
}

const attributesOfJson = (attributes: readonly JsonAttribute[] = []): Record<string, string | number> =>
  Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue } }) => [
      key,
      stringValue ?? Number(intValue ?? doubleValue),
    ]),
  );

const spansOfJson = ({ resourceSpans }: JsonExport): CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ traceId, spanId, parentSpanId = '', name, attributes, links = [], status }) => ({
        traceId,
        spanId,
        parentId: parentSpanId,
        name,
        attributes: attributesOfJson(attributes),
        links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
        isError: status?.code === 2,
        resource: attributesOfJson(resource.attributes),
      })),
  );
