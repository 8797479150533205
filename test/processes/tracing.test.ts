/** Traces of `countersign serve` and `worker`, as a collector receives them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createDatabase, environment, newAgent } from '../support/harness.ts';
import { type CollectedSpan, startCollector } from '../support/peers/otlp-collector.ts';
import { authorityFile, startReceiver } from '../support/peers/receivers.ts';
import { authorize, makeOperator, startCountersign, startServe, until } from '../support/programs.ts';

const planted = 'PLANTED-SECRET-0123456789';

const isTokenRequest = ({ name }: CollectedSpan) => name === 'POST /api/v1/token';

test('traces of requests and webhook deliveries', async (t) => {
  const collector = await startCollector();
  const receiver = await startReceiver();
  const env = environment(await createDatabase(), {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${planted}`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
    NODE_EXTRA_CA_CERTS: authorityFile,
    LOG_LEVEL: 'info',
    LOG_REQUESTS: 'all',
  });
  const operator = await makeOperator(env);
  const { url, program } = await startServe(env, ['--no-worker']);
  const worker = startCountersign(['worker'], env);
  const headers = await authorize(url, operator);
  const call = async (path: string, payload?: object, more: Record<string, string> = {}) => {
    const body = payload && { method: 'POST', body: JSON.stringify(payload) };
    const type = payload && { 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { headers: { ...headers, ...type, ...more }, ...body });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const requestSpan = (id: string) =>
    collector.find(`of request ${id}`, ({ attributes }) => attributes['countersign.request_id'] === id);

  await t.test('a token request is one trace, from the request through the batch to the commit', async () => {
    const request = await collector.find('of the token request', isTokenRequest);
    const trace = collector.trace(request.traceId);
    const childOf = (parent: CollectedSpan, name: string) => {
      const found = trace.find((span) => span.parentId === parent.spanId && span.name === name);
      assert.ok(found, `${name} under ${parent.name} in ${trace.map((span) => span.name).join(', ')}`);
      return found;
    };
    const batch = childOf(childOf(request, 'batch.wait tokens.issue'), 'batch tokens.issue');
    for (const query of ['connect', 'begin', 'tokens.clients', 'audit.append', 'commit'])
      assert.equal(childOf(batch, query).attributes['db.system.name'], 'postgresql');

    const { 'countersign.request_id': requestId, 'countersign.organization_id': organizationId } =
      request.attributes;
    assert.match(String(requestId), /^[\w-]{36}$/);
    assert.match(String(organizationId), /^[\w-]{36}$/);
    assert.deepEqual(request.attributes, {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'http.route': '/api/v1/token',
      'countersign.operation': 'issueToken',
      'countersign.request_id': requestId,
      'countersign.agent_id': operator.clientId,
      'countersign.organization_id': organizationId,
    });
  });

  await t.test('the resource names the service, its version and the process', async () => {
    const { resource } = await collector.find('of the token request', isTokenRequest);
    assert.equal(resource['service.name'], 'countersign');
    assert.equal(resource['deployment.environment.name'], 'test');
    assert.match(String(resource['service.version']), /^\d+\.\d+\.\d+/);
    assert.match(String(resource['service.instance.id']), /^[\w-]{36}$/);
    assert.equal(collector.headers()['x-collector-key'], planted);
  });

  await t.test('the trace goes on after a body that arrives late', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const { clientId: client_id, clientSecret: client_secret } = operator;
    const body = String(new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }));
    const head = [
      'POST /api/v1/token HTTP/1.1',
      'Host: x',
      'X-Request-Id: late-body',
      'Expect: 100-continue',
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${body.length}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    // The request has begun.
    assert.match(String((await once(socket, 'data'))[0]), /100 Continue/);
    socket.write(body);
    assert.match(String((await once(socket, 'data'))[0]), /200 OK/);
    socket.destroy();
    const { traceId, spanId } = await requestSpan('late-body');
    const isWait = ({ name, parentId }: CollectedSpan) =>
      name === 'batch.wait tokens.issue' && parentId === spanId;
    assert.ok(collector.trace(traceId).some(isWait));
  });

  await t.test('each request that shares a batch leads to its commit', async () => {
    const shared = await until('a batch of several requests', async () => {
      await Promise.all(Array.from({ length: 20 }, () => authorize(url, operator)));
      const isShared = ({ name, links }: CollectedSpan) => name === 'batch tokens.issue' && links.length > 0;
      return collector.spans.find(isShared);
    });
    assert.equal(shared.attributes['batch.size'], shared.links.length + 1);
    assert.ok(
      collector
        .trace(shared.traceId)
        .some(({ name, parentId }) => name === 'commit' && parentId === shared.spanId),
    );
    for (const link of shared.links) {
      const wait = await collector.find('that waits', ({ spanId }) => spanId === link.spanId);
      assert.equal(wait.name, 'batch.wait tokens.issue');
      assert.notEqual(wait.traceId, shared.traceId);
      assert.deepEqual(wait.links, [{ traceId: shared.traceId, spanId: shared.spanId }]);
      await collector.find('of its request', ({ spanId }) => spanId === wait.parentId);
    }
  });

  await t.test('a valid traceparent is continued, an invalid one is ignored', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const send = async (id: string, traceparent: string) => {
      await call('/api/v1/agents', undefined, { traceparent, 'x-request-id': id });
      return requestSpan(id);
    };
    const continued = await send('trace-valid', `00-${traceId}-b7ad6b7169203331-01`);
    assert.deepEqual([continued.traceId, continued.parentId], [traceId, 'b7ad6b7169203331']);
    // The client's flag does not decide.
    assert.equal((await send('trace-unsampled', `00-${traceId}-b7ad6b7169203331-00`)).traceId, traceId);
    const invalid = [
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
      `00-${traceId.toUpperCase()}-b7ad6b7169203331-01`,
      `ff-${traceId}-b7ad6b7169203331-01`,
      `00-${traceId}-b7ad6b7169203331-01-more`,
      `00-${traceId}-b7ad6b7169203331-01, 00-${traceId}-b7ad6b7169203331-01`,
      'x'.repeat(8_000),
    ];
    for (const [index, traceparent] of invalid.entries()) {
      const span = await send(`trace-invalid-${index}`, traceparent);
      assert.equal(span.parentId, '', traceparent);
      assert.notEqual(span.traceId, traceId);
    }
  });

  await t.test('the log lines of a request have its trace id', async () => {
    await call('/api/v1/agents', undefined, { 'x-request-id': 'with-log-line' });
    const { traceId, spanId } = await requestSpan('with-log-line');
    const line = await until('the log line', async () =>
      program
        .output()
        .split('\n')
        .find((each) => each.includes('"requestId":"with-log-line"')),
    );
    const { trace_id, span_id } = JSON.parse(line);
    assert.deepEqual([trace_id, span_id], [traceId, spanId]);
  });

  await t.test('a webhook carries the trace of its delivery, which names the event', async () => {
    const webhook = { name: 'Receiver', url: `${receiver.url}/${planted}?key=${planted}`, events: ['*'] };
    assert.equal((await call('/api/v1/webhooks', webhook)).status, 201);
    assert.equal((await call('/api/v1/agents', newAgent({ owner: planted }))).status, 201);
    const received = await until(
      'a webhook',
      async () => receiver.received.find(({ body }) => body.includes('agent.created')),
      worker,
    );
    const [, traceId, spanId] = /^00-(\w{32})-(\w{16})-01$/.exec(received.headers.traceparent ?? '') ?? [];
    const sent = await collector.find('of the call', (span) => span.spanId === spanId);
    assert.equal(sent.traceId, traceId);
    const { hostname, port } = new URL(receiver.url);
    assert.deepEqual(sent.attributes, {
      'http.request.method': 'POST',
      'http.response.status_code': 204,
      'url.scheme': 'https',
      'server.address': hostname,
      'server.port': Number(port),
    });
    const delivery = await collector.find('of the delivery', (span) => span.spanId === sent.parentId);
    assert.equal(delivery.name, 'webhook.deliver');
    assert.equal(delivery.attributes['countersign.event_id'], JSON.parse(received.body).id);
    assert.equal(delivery.attributes['countersign.delivery_id'], received.headers['x-service-delivery-id']);
    assert.notEqual(delivery.resource['process.pid'], program.child.pid);
  });

  await t.test('a request that its client gives up has a span without status', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const head =
      'POST /api/v1/token HTTP/1.1\r\nHost: x\r\nX-Request-Id: given-up\r\nContent-Length: 100\r\n';
    await once(socket, 'connect');
    await new Promise((sent) => {
      socket.write(`${head}Content-Type: application/x-www-form-urlencoded\r\n\r\ngrant_type=`, sent);
    });
    socket.destroy();
    const span = await requestSpan('given-up');
    assert.equal(span.attributes['error.type'], 'client_closed');
    assert.equal(span.attributes['http.response.status_code'], undefined);
    assert.ok(span.isError);
  });

  await t.test('probes have no span', async () => {
    await call('/livez', undefined, { 'x-request-id': 'the-probe' });
    await call('/api/v1/agents', undefined, { 'x-request-id': 'after-the-probe' });
    await requestSpan('after-the-probe');
    const isOfProbe = ({ attributes }: CollectedSpan) => attributes['countersign.request_id'] === 'the-probe';
    assert.equal(collector.spans.find(isOfProbe), undefined);
  });

  await t.test('no exported byte is a secret or a value of a request', async () => {
    const form = (fields: Record<string, string>, query = '') =>
      fetch(`${url}/api/v1/token${query}`, { method: 'POST', body: new URLSearchParams(fields) });
    const client = { grant_type: 'client_credentials', client_id: operator.clientId };
    await form({ ...client, client_secret: planted });
    await form({ ...client, client_secret: operator.clientSecret, scope: planted }, `?secret=${planted}`);
    await form({ grant_type: planted, client_id: planted });
    await call(`/api/v1/agents/${planted}`);
    await call(`/${planted}?token=${planted}`);
    await call(`/api/v1/agents?email=${planted}`);
    await call('/api/v1/agents', { email: planted });
    await call('/api/v1/agents', undefined, { authorization: `Bearer ${planted}` });
    await call('/api/v1/agents', undefined, {
      'user-agent': planted,
      cookie: planted,
      baggage: `k=${planted}`,
    });
    await call('/api/v1/agents', newAgent({ email: `${planted}@example.com` }));
    await call('/api/v1/agents', undefined, { 'x-request-id': 'the-last-one' });
    await requestSpan('the-last-one');
    await collector.find('of an unknown path', ({ name }) => name === 'GET');

    const { password } = new URL(env.DATABASE_URL);
    const token = headers.authorization.replace('Bearer ', '');
    const exported = collector.bytes();
    assert.ok(exported.includes('the-last-one'));
    for (const secret of [planted, planted.toLowerCase(), operator.clientSecret, token, password])
      assert.ok(secret.length > 8 && !exported.includes(secret), `exported: ${secret}`);
    // Neither texts of SQL nor their values.
    assert.ok(!/select |insert into |update /i.test(exported.toString('latin1')));
  });
});
