/** The outbound client: the SSRF filter, timeouts and size limits. */
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { forbiddenHosts } from '../../../test/support/forbidden-hosts.ts';
import { startReceiver, trustTestAuthority } from '../../../test/support/peers/receivers.ts';
import { freePort, until } from '../../../test/support/programs.ts';
import { OutboundProblem, type OutboundReason } from '../../kernel/ports/outbound.ts';
import { isPublicAddress } from './addresses.ts';
import { createOutbound, type OutboundOptions } from './outbound.ts';
import { createResolve } from './resolve.ts';

trustTestAuthority();

/** Failed lookups are reported after this time: short where the test itself answers them. */
const briefly: OutboundOptions['delay'] = (_, signal) => sleep(5, undefined, { signal });

const outboundWith = (options: Partial<OutboundOptions> = {}) => {
  const outbound = createOutbound({
    allowPrivate: false,
    ...(options.resolve && { delay: briefly }),
    ...options,
  });
  after(() => outbound.close());
  return outbound;
};

const get = (url: string, changes: object = {}) =>
  ({ method: 'GET', url, timeoutMs: 5_000, maxBytes: 65_536, ...changes }) as const;

const refused = (reason: OutboundReason) => (error: unknown) => {
  assert.ok(error instanceof OutboundProblem, String(error));
  assert.equal(error.reason, reason, error.message);
  return true;
};

/** A server on every address of this machine that counts connections. */
const canary = { server: undefined as Server | undefined, port: 0, touched: 0 };
before(async () => {
  const server = createServer((socket) => {
    canary.touched += 1;
    socket.on('error', () => {}).end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '::' }, resolve));
  canary.server = server;
  canary.port = (server.address() as { port: number }).port;
});
after(() => void canary.server?.close());

/** Addresses of this machine other than 127.0.0.1 and ::1. */
const ownAddresses = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .map(({ address, family, scopeid }) => ({
    address,
    family,
    linkLocal: scopeid !== undefined && scopeid !== 0,
  }))
  .filter(({ linkLocal }) => !linkLocal)
  .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));

test('the canary is reachable on loopback and on the other addresses of the machine', async () => {
  const outbound = outboundWith({ allowPrivate: true });
  const hosts = ['127.0.0.1', '127.0.0.2', '0x7f000001', '[::1]', 'localhost', ...ownAddresses];
  for (const host of hosts) {
    const touched = canary.touched;
    const { status } = await outbound.send(get(`http://${host}:${canary.port}/`));
    assert.deepEqual([status, canary.touched > touched], [204, true], host);
  }
});

test('refuses every spelling of a private, local or metadata address', async () => {
  const hosts = [...forbiddenHosts, ...ownAddresses];
  assert.ok(new Set(hosts).size >= 200, `${new Set(hosts).size} spellings`);
  const outbound = outboundWith();
  const touched = canary.touched;
  for (const scheme of ['http', 'https']) {
    for (const host of hosts) {
      await assert.rejects(outbound.send(get(`${scheme}://${host}:${canary.port}/`)), (error) => {
        assert.ok(error instanceof OutboundProblem, `${host}: ${error}`);
        // A host that the URL parser does not take for an address has no address to connect to.
        assert.match(error.reason, /^(address|protocol)$/, `${host}: ${error.message}`);
        return true;
      });
    }
  }
  assert.equal(canary.touched, touched);
});

test('refuses a name if one of its addresses is private', async () => {
  const literals = forbiddenHosts
    .filter((host) => URL.canParse(`http://${host}/`))
    .map((host) => new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, ''))
    .filter((host) => /^[\d.]+$|:/.test(host));
  assert.ok(literals.length > 150);
  const touched = canary.touched;
  for (const address of literals) {
    const around = [
      [address],
      ['93.184.215.14', address],
      [address, '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
    ];
    await Promise.all(
      around.map((addresses) => {
        const outbound = outboundWith({ resolve: async () => addresses });
        const sent = outbound.send(get(`https://receiver.example:${canary.port}/`));
        return assert.rejects(sent, refused('address'), addresses.join());
      }),
    );
  }
  assert.equal(canary.touched, touched);
});

test('isPublicAddress accepts public addresses', () => {
  const addresses = [
    '93.184.215.14',
    '1.1.1.1',
    '168.63.129.15',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
  ];
  for (const address of [...addresses, '2606:4700:4700::1111', '2a00:1450:4001:82a::200e'])
    assert.equal(isPublicAddress(address), true, address);
});

test('a resolver that fails, returns no address or an invalid one: no connection', async () => {
  const touched = canary.touched;
  const cases: [OutboundReason, () => Promise<string[]>][] = [
    [
      'unreachable',
      () => Promise.reject(Object.assign(new Error('queryA ESERVFAIL'), { code: 'ESERVFAIL' })),
    ],
    ['unreachable', async () => []],
    ['address', async () => ['receiver.example']],
    ['address', async () => ['']],
    ['address', async () => ['127.1']],
    ['address', async () => ['2130706433']],
  ];
  for (const [reason, resolve] of cases) {
    const outbound = outboundWith({ resolve });
    await assert.rejects(outbound.send(get(`http://receiver.example:${canary.port}/`)), refused(reason));
  }
  assert.equal(canary.touched, touched);
});

test('an unknown name and a private address give the same message; the detail differs', async () => {
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND db.corp.example'), { code: 'ENOTFOUND' });
  const cases: [string, () => Promise<string[]>][] = [
    ['getaddrinfo ENOTFOUND db.corp.example', () => Promise.reject(unknown)],
    ['db.corp.example has no address', async () => []],
    ['db.corp.example is not on the public internet', async () => ['10.0.0.7']],
    ['db.corp.example is not on the public internet', async () => ['93.184.215.14', '10.0.0.7']],
  ];
  for (const [detail, resolve] of cases) {
    const sent = outboundWith({ resolve }).send(get('https://db.corp.example:8443/'));
    await assert.rejects(sent, { message: 'db.corp.example does not resolve to a public address', detail });
  }
  const open = outboundWith({ allowPrivate: true, resolve: () => Promise.reject(unknown) });
  await assert.rejects(open.send(get('https://db.corp.example/')), {
    message: 'db.corp.example does not resolve to an address',
  });
});

test('an unknown name, a private address and a slow lookup fail after the same time', async () => {
  const unknown = Object.assign(new Error('queryA ENOTFOUND db.corp.example'), { code: 'ENOTFOUND' });
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
  };
  const cases: Record<string, () => Promise<string[]>> = {
    'unknown at once': () => Promise.reject(unknown),
    'unknown after a while': () => turns(20).then(() => Promise.reject(unknown)),
    'without an address': async () => [],
    'private at once': async () => ['10.0.0.7'],
    'private after a while': () => turns(20).then(() => ['10.0.0.7']),
    'no answer': () => new Promise(() => {}),
  };
  const asked: number[] = [];
  for (const [name, resolve] of Object.entries(cases)) {
    const { promise: timeIsUp, resolve: endTime } = Promise.withResolvers<void>();
    const delay = (milliseconds: number) => {
      asked.push(milliseconds);
      return timeIsUp;
    };
    let failed = false;
    const sent = outboundWith({ resolve, delay }).send(get('https://db.corp.example:8443/'));
    sent.catch(() => (failed = true));
    await until('it is looked up', async () => asked.length > Object.keys(cases).indexOf(name) || undefined);
    await turns(100);
    assert.equal(failed, false, name);
    endTime();
    await assert.rejects(sent, { message: 'db.corp.example does not resolve to a public address' }, name);
  }
  assert.deepEqual(asked, Array(Object.keys(cases).length).fill(asked[0]));
});

test('no delay for a lookup that succeeds, or that fails with private addresses allowed', async () => {
  const never = () => new Promise(() => {});
  const receiver = await startReceiver(undefined, { host: '127.0.0.1' });
  const found = outboundWith({ isPublic: () => true, resolve: async () => ['127.0.0.1'], delay: never });
  assert.equal((await found.send(get(`https://receiver.test:${receiver.port}/`))).status, 204);
  const inside = outboundWith({ allowPrivate: true, resolve: async () => [], delay: never });
  await assert.rejects(inside.send(get('https://receiver.test/')), refused('unreachable'));
});

test('without a name server getaddrinfo resolves local names', async () => {
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers(['127.0.0.1:1']);
  const addresses = await createResolve(resolver)('localhost');
  assert.ok(addresses.includes('127.0.0.1') || addresses.includes('::1'), addresses.join());
});

test('concurrent lookups of one name share one query; the next lookup makes a new one', async () => {
  let asked = 0;
  const resolver = new Resolver();
  resolver.resolve4 = (async () => {
    asked += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
    return ['192.0.2.1'];
  }) as never;
  resolver.resolve6 = (async () => []) as never;
  const resolve = createResolve(resolver);
  const answers = await Promise.all(Array.from({ length: 50 }, () => resolve('receiver.example')));
  assert.equal(asked, 1);
  assert.ok(answers.every(([address]) => address === '192.0.2.1'));
  await resolve('receiver.example');
  assert.equal(asked, 2);
});

test('DNS rebinding: a name that changes its address connects to the checked one', async () => {
  let asked = 0;
  const outbound = outboundWith({
    isPublic: (address) => address === '127.0.0.2',
    resolve: async () => {
      asked += 1;
      return asked === 1 ? ['127.0.0.2'] : ['127.0.0.1'];
    },
  });
  const there = await startReceiver(
    (_request, response) => void response.writeHead(200, { connection: 'close' }).end('there'),
    { host: '127.0.0.2', port: await freePort(), tls: false },
  );
  const here = await startReceiver(undefined, { host: '127.0.0.1', port: there.port, tls: false });
  const url = `http://receiver.test:${there.port}/`;
  assert.equal((await outbound.send(get(url))).body.toString(), 'there');
  await assert.rejects(outbound.send(get(url)), refused('address'));
  assert.deepEqual([there.connections(), here.connections(), asked], [1, 0, 2]);
});

test('a redirect is returned, not followed', async () => {
  const aim = await startReceiver();
  const outbound = outboundWith({ allowPrivate: true });
  for (const status of [301, 302, 303, 307, 308]) {
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(status, { location: `${aim.url}/secret` }).end();
    });
    assert.equal((await outbound.send(get(receiver.url))).status, status);
  }
  assert.equal(aim.connections(), 0);
});

test('timeout for a receiver that never answers or sends its head or body byte by byte', async () => {
  const outbound = outboundWith({ allowPrivate: true });
  const closed: string[] = [];
  const drip = (
    response: { write(text: string): unknown; on(event: 'close', then: () => void): unknown },
    name: string,
  ) => {
    const timer = setInterval(() => response.write('x'), 50);
    response.on('close', () => {
      clearInterval(timer);
      closed.push(name);
    });
  };
  const receivers = [
    await startReceiver((_request, response) => void response.on('close', () => closed.push('silent'))),
    await startReceiver((_request, response) => {
      response.writeHead(200);
      drip(response, 'body');
    }),
    await startReceiver((_request, _response, incoming) => {
      incoming.socket.write('HTTP/1.1 200 OK\r\nX-Drip: ');
      drip(incoming.socket, 'head');
    }),
  ];
  await Promise.all(
    receivers.map(({ url }) =>
      assert.rejects(outbound.send(get(url, { timeoutMs: 3_000 })), refused('timeout')),
    ),
  );
  while (closed.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(closed.sort(), ['body', 'head', 'silent']);
});

test('timeout for a lookup that does not end', async () => {
  const never = () => new Promise<never>(() => {});
  const outbound = outboundWith({ resolve: never, delay: never });
  await assert.rejects(
    outbound.send(get('https://receiver.example/', { timeoutMs: 200 })),
    refused('timeout'),
  );
});

test('an endless response is cut at the size limit and its connection closed', async () => {
  const outbound = outboundWith({ allowPrivate: true });
  let sent = 0;
  let over = 0;
  const receiver = await startReceiver((_request, response) => {
    const chunk = Buffer.alloc(65_536, 'x');
    response.writeHead(200);
    const more = () => {
      while (sent < 1_000_000_000 && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
    };
    response.on('close', () => (over += 1));
    more();
  });
  await assert.rejects(outbound.send(get(receiver.url)), refused('tooLarge'));
  const answer = await outbound.send(get(receiver.url, { overflow: 'truncate' }));
  assert.deepEqual([answer.status, answer.body.length, answer.truncated], [200, 65_536, true]);
  while (over < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(sent < 50_000_000, `${sent} bytes of 2 GB were sent`);
});

test('a response of exactly the size limit is complete', async () => {
  const outbound = outboundWith({ allowPrivate: true });
  const receiver = await startReceiver((_request, response) => void response.end('x'.repeat(1_000)));
  const answer = await outbound.send(get(receiver.url, { maxBytes: 1_000 }));
  assert.deepEqual([answer.body.length, answer.truncated], [1_000, false]);
});

test('sends method, headers and body unchanged, and reuses connections', async () => {
  const outbound = outboundWith({ allowPrivate: true });
  const receiver = await startReceiver((request, response) => void response.end(request.body));
  const body = '{"name":"Zoë ☕ \\u0000"}';
  for (let count = 0; count < 20; count += 1) {
    const request = {
      ...get(`${receiver.url}/path?query=1`),
      method: 'POST',
      body,
      headers: { 'x-a': 'b' },
    } as const;
    assert.equal((await outbound.send(request)).body.toString(), body);
  }
  assert.deepEqual(receiver.received[0]?.url, '/path?query=1');
  assert.equal(receiver.received[0]?.headers['x-a'], 'b');
  // A second connection is opened when the first is not idle yet.
  assert.ok(receiver.connections() <= 2, `${receiver.connections()} connections`);
});

test('a certificate for another name, an unknown authority, no TLS at all: refused as protocol', async () => {
  const receiver = await startReceiver(undefined, { host: '127.0.0.1' });
  const outbound = outboundWith({ allowPrivate: true, resolve: async () => ['127.0.0.1'] });
  assert.equal((await outbound.send(get(`https://receiver.test:${receiver.port}/`))).status, 204);
  await assert.rejects(outbound.send(get(`https://other.example:${receiver.port}/`)), refused('protocol'));
  await assert.rejects(outbound.send(get(`https://127.0.0.9:${receiver.port}/`)), refused('unreachable'));
  const plain = await startReceiver(undefined, { tls: false });
  await assert.rejects(outbound.send(get(`https://127.0.0.1:${plain.port}/`)), refused('protocol'));
});

test('throws only OutboundProblem, for any address and any response', async () => {
  const outbound = outboundWith({ allowPrivate: true });
  const rude = createServer(
    (socket) => void socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.7\r\n'),
  ).listen(0);
  after(() => void rude.close());
  const { port } = rude.address() as { port: number };
  const urls = [
    '',
    'nonsense',
    'ftp://example.com/',
    'file:///etc/passwd',
    'data:,x',
    'https://a:b@example.com/',
  ];
  for (const url of [...urls, 'http://[::1', `http://127.0.0.1:${port}/`, 'http://127.0.0.1:0/'])
    await assert.rejects(outbound.send(get(url)), OutboundProblem, url);
  const headers = { 'x-split': 'a\r\nb: c' };
  await assert.rejects(outbound.send(get('http://127.0.0.1:1/', { headers })), refused('protocol'));
  const closed = createOutbound({ allowPrivate: true });
  await closed.close();
  await assert.rejects(closed.send(get('http://127.0.0.1:1/')), refused('unreachable'));
});

for (const hint of ['', 'Keep-Alive: timeout=600\r\n'])
  test(`reuses a connection at once, and closes it before a receiver would: ${hint || 'no Keep-Alive header'}`, async () => {
    let opened = 0;
    const receiver = createServer((socket) => {
      opened += 1;
      socket
        .on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${hint}Content-Length: 0\r\n\r\n`))
        .on('error', () => {});
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    after(() => void receiver.close());
    const outbound = outboundWith({ allowPrivate: true });
    const { port } = receiver.address() as { port: number };
    const ask = () => outbound.send(get(`http://127.0.0.1:${port}/`));
    await ask();
    // Unless this process stalls for a second in between.
    await until('a connection is used again', async () => {
      const before = opened;
      await ask();
      return opened === before || undefined;
    });
    const before = opened;
    await sleep(2_500);
    await ask();
    assert.equal(opened, before + 1);
  });
