/** The verifier with tokens of a real server. */
import assert from 'node:assert/strict';
import { createServer, request as sendRequest } from 'node:http';
import { after, describe, it } from 'node:test';
import { createVerifier, type TokenError, type VerifierOptions } from '../src/sdk.ts';
import { createRefusal } from '../src/verify/bearer.ts';
import { refusedWith, startOrders } from './orders.ts';

const orders = await startOrders();
const { t, issuer, organizationId, register, clientOf, buyerOf } = orders;
const audience = 'https://orders.example.com';
const resourceId = await register(audience);
const buyer = await buyerOf(resourceId);
const token = await clientOf(buyer).token({ resource: audience });
const base = { issuer, audience, organizationId, subjects: 'agents', revocation: 'none' } as const;
const verifier = createVerifier(base);

describe('verify', () => {
  it('200: the facts of a token', async () => {
    const { claims, ...facts } = await verifier.verify(token, { scopes: 'orders:read' });
    assert.deepEqual(facts, {
      agentId: buyer.agentId,
      subject: { type: 'agent', id: buyer.agentId },
      actors: [buyer.agentId],
      chainId: undefined,
      scopes: ['orders:read'],
      authorizationDetails: [],
      organizationId,
    });
    assert.equal(claims.aud, audience);
  });

  it('200: a delegated token names both agents and the chain; maxDepth limits it', async () => {
    const helper = await t.agent({ allowedScopes: ['agents:read'] });
    const { delegationToken, chainId } = await clientOf(buyer).delegate({
      delegateeId: helper.agentId,
      scopes: ['orders:read'],
      resource: [audience],
    });
    const delegated = await clientOf(helper).redeem(delegationToken).token({ resource: audience });
    const verified = await verifier.verify(delegated, { maxDepth: 1 });
    assert.deepEqual(
      [verified.agentId, verified.subject, verified.actors, verified.chainId],
      [helper.agentId, { type: 'agent', id: buyer.agentId }, [helper.agentId], chainId],
    );
    await assert.rejects(
      verifier.verify(delegated, { maxDepth: 0 }),
      refusedWith(403, 'insufficient_scope', /delegated once/),
    );
  });

  it('403 insufficient_scope: the header names all scopes that the call needs', async () => {
    await assert.rejects(verifier.verify(token, { scopes: ['orders:read', 'orders:write'] }), (error) => {
      refusedWith(403, 'insufficient_scope', /lacks the scope orders:write/)(error);
      assert.equal(
        (error as TokenError).wwwAuthenticate,
        'Bearer error="insufficient_scope", error_description="the token lacks the scope orders:write", scope="orders:read orders:write"',
      );
      return true;
    });
  });

  it('401 invalid_token: another audience, organization or issuer', async () => {
    const other = '00000000-0000-4000-8000-000000000000';
    for (const changes of [
      { audience: `${audience}/` },
      { organizationId: other },
      { organizationId: [other] },
      { issuer: issuer.replace('localhost', '127.0.0.1') },
    ])
      await assert.rejects(
        createVerifier({ ...base, ...changes }).verify(token),
        refusedWith(401, 'invalid_token'),
      );
    await createVerifier({ ...base, organizationId: [other, organizationId] }).verify(token);
    const { organizationId: _, ...rest } = base;
    await createVerifier({ ...rest, acceptAnyOrganization: true }).verify(token);
  });

  it('401 invalid_token: a token for the API of Countersign, and a delegation token', async () => {
    await assert.rejects(verifier.verify(await clientOf(buyer).token()), refusedWith(401, 'invalid_token'));
    const { delegationToken } = await clientOf(buyer).delegate({
      delegateeId: (await t.agent()).agentId,
      scopes: ['orders:read'],
      resource: [audience],
    });
    await assert.rejects(verifier.verify(delegationToken), refusedWith(401, 'invalid_token'));
  });

  it('401 invalid_token: expired, once the clock tolerance is over', async () => {
    const { exp = 0 } = (await verifier.verify(token)).claims;
    const at = (seconds: number, clockToleranceSeconds?: number) =>
      createVerifier({
        ...base,
        platform: { now: () => (exp + seconds) * 1000 },
        ...(clockToleranceSeconds !== undefined && { clockToleranceSeconds }),
      }).verify(token);
    await at(4);
    await at(50, 60);
    await assert.rejects(at(6), refusedWith(401, 'invalid_token', /expired/));
    await assert.rejects(at(1, 0), refusedWith(401, 'invalid_token', /expired/));
  });
});

describe('the header of a request', () => {
  const bearer = `Bearer ${token}`;
  const good = [
    new Request('http://api.example', { headers: { authorization: bearer } }),
    new Headers({ Authorization: bearer }),
    { headers: new Headers({ authorization: bearer }) },
    { headers: { authorization: bearer } },
    { headers: { Authorization: bearer } },
    { headers: { authorization: [bearer] } },
    { headers: { authorization: `bearer   ${token}` } },
    { headers: { authorization: bearer }, rawHeaders: ['Host', 'x', 'Authorization', bearer] },
    token,
  ];
  it('200 for requests of the web and of Node.js', async () => {
    for (const source of good) assert.equal((await verifier.verify(source)).agentId, buyer.agentId);
  });

  it('401 without an error code: no header, or another scheme', async () => {
    for (const authorization of [
      undefined,
      '',
      'Basic dXNlcjpwdw==',
      'Bearer',
      token,
      `Bearertoken ${token}`,
    ])
      await assert.rejects(verifier.verify({ headers: { authorization } }), (error) => {
        refusedWith(401, 'invalid_token')(error);
        assert.equal((error as TokenError).wwwAuthenticate, 'Bearer');
        return true;
      });
    await assert.rejects(verifier.verify(new Headers()), refusedWith(401, 'invalid_token'));
    await assert.rejects(verifier.verify({ headers: {}, rawHeaders: [] }), refusedWith(401, 'invalid_token'));
  });

  it('401 invalid_request: several headers, in every form', async () => {
    const twice = new Headers({ authorization: bearer });
    twice.append('authorization', bearer);
    for (const source of [
      { headers: { authorization: [bearer, bearer] } },
      { headers: { authorization: bearer, Authorization: bearer } },
      { headers: { authorization: bearer }, rawHeaders: ['authorization', bearer, 'AUTHORIZATION', bearer] },
      { headers: twice },
      twice,
      { headers: { authorization: `${bearer}, Basic eA==` } },
    ])
      await assert.rejects(verifier.verify(source), refusedWith(401, 'invalid_request'));
  });

  it('401: text that is not a token', async () => {
    for (const text of ['', ' ', '\n', `${token} ${token}`, `${token}\n`, 'ä', 'x'.repeat(20_000)])
      await assert.rejects(verifier.verify({ headers: { authorization: `Bearer ${text}` } }), (error) => {
        assert.equal((error as TokenError).status, 401);
        return true;
      });
  });

  it('the challenge has no characters that could add a header or a parameter', async () => {
    const withMetadata = createVerifier({
      ...base,
      resourceMetadata: 'https://orders.example.com/.well-known/oauth-protected-resource',
    });
    await assert.rejects(withMetadata.verify(new Headers(), { scopes: 'orders:read' }), (error) => {
      assert.equal(
        (error as TokenError).wwwAuthenticate,
        'Bearer scope="orders:read", resource_metadata="https://orders.example.com/.well-known/oauth-protected-resource"',
      );
      return true;
    });
    const [, payload, signature] = token.split('.');
    const header = (kid: string) =>
      Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid })).toString('base64url');
    for (const kid of ['"\r\nSet-Cookie: a=b', '", error="x', '\\', 'ü\u0000'])
      await assert.rejects(withMetadata.verify(`${header(kid)}.${payload}.${signature}`), (error) => {
        const { wwwAuthenticate } = error as TokenError;
        assert.match(
          wwwAuthenticate,
          /^Bearer error="[^"\\]*", error_description="[^"\\]*", resource_metadata="[^"\\]*"$/,
        );
        assert.match(wwwAuthenticate, /^[\x20-\x7e]*$/);
        return true;
      });
    await assert.rejects(withMetadata.verify(await clientOf(buyer).token()), (error) => {
      assert.ok(
        (error as TokenError).wwwAuthenticate.includes(`error_description="unexpected 'aud' claim value"`),
      );
      return true;
    });
    const refuse = createRefusal({ scopes: [], resourceMetadata: undefined });
    assert.equal(
      refuse('invalid_token', 'a\r\nSet-Cookie: b="ü\\').wwwAuthenticate,
      `Bearer error="invalid_token", error_description="a??Set-Cookie: b='??"`,
    );
    for (const scope of ['a"b', 'a b', '', 'ü', 'a\nb'])
      await assert.rejects(withMetadata.verify(token, { scopes: [scope] }), TypeError);
  });
});

describe('options', () => {
  it('TypeError for options that are missing or wrong', () => {
    for (const changes of [
      { issuer: 'id.example.com' },
      { issuer: 'http://id.example.com' },
      { audience: '' },
      { organizationId: undefined },
      { organizationId: '' },
      { organizationId: [] },
      { organizationId: 'ACME' },
      { acceptAnyOrganization: 'true', organizationId: undefined },
      { revocation: undefined },
      { subjects: undefined },
      { subjects: '' },
      { subjects: 'agent' },
      { subjects: 'toString' },
      { revocation: 'introspect' },
      { revocation: 'introspect', introspectWith: {} },
      { clockToleranceSeconds: -1 },
      { clockToleranceSeconds: Number.NaN },
      { clockToleranceSeconds: 3_600 },
      { resourceMetadata: '/metadata' },
    ])
      assert.throws(
        () => createVerifier({ ...base, ...changes } as VerifierOptions),
        TypeError,
        JSON.stringify(changes),
      );
  });
});

it('Node.js itself: a second Authorization header is refused', async () => {
  const server = createServer(async (request, response) => {
    const status = await verifier.verify(request).then(
      () => 200,
      (error) => error.status,
    );
    response.writeHead(status).end();
  }).listen(0);
  after(() => server.close());
  const { port } = server.address() as { port: number };
  const statusWith = (headers: string[]) =>
    new Promise((resolve) =>
      sendRequest({ port, headers: ['Host', 'x', ...headers] }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).end(),
    );
  assert.equal(await statusWith(['Authorization', `Bearer ${token}`]), 200);
  assert.equal(await statusWith(['Authorization', `Bearer ${token}`, 'authorization', 'Bearer x']), 401);
});
