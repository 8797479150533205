/** A DNS server on loopback that knows TXT records (RFC 1035). */
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { after } from 'node:test';

export interface NameServer {
  /** By name; each record as its parts. A name that is not here does not exist. */
  readonly records: Map<string, readonly (readonly string[])[]>;
  /** The names of the queries. */
  readonly queries: string[];
  readonly resolver: Resolver;
  /** From now on it answers nothing. */
  silence(): void;
}

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4');
  const records: NameServer['records'] = new Map();
  const queries: string[] = [];
  let silent = false;
  socket.on('message', (query, { address, port }) => {
    const { name, end } = readName(query);
    queries.push(name);
    if (!silent) socket.send(answerTo(query.subarray(0, end + 4), records.get(name)), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  after(() => void socket.close());
  const resolver = new Resolver({ timeout: 300, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  const silence = () => {
    silent = true;
  };
  return { records, queries, resolver, silence };
}

/** The labels of the question, which follows the header of 12 bytes. */
function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function answerTo(question: Buffer, found: readonly (readonly string[])[] = []): Buffer {
  const head = Buffer.from(question);
  // An answer of a recursive server; 3: the name does not exist.
  head.writeUInt16BE(found.length > 0 ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(found.length, 6);
  head.fill(0, 8, 12);
  return Buffer.concat([head, ...found.map(recordOf)]);
}

function recordOf(parts: readonly string[]): Buffer {
  const data = Buffer.concat(
    parts.map((part) => Buffer.concat([Buffer.from([part.length]), Buffer.from(part)])),
  );
  // The name of the question, TXT, IN, a lifetime of 0 and the length.
  const head = Buffer.from([0xc0, 0x0c, 0, 16, 0, 1, 0, 0, 0, 0, data.length >> 8, data.length & 0xff]);
  return Buffer.concat([head, data]);
}
