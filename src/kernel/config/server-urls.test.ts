import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from './config.ts';
import { databaseUrlsOf, publicAddressOf, redisAddressOf, shownAddress, smtpUrl } from './server-urls.ts';

describe('DATABASE_URL', () => {
  it('gives one URL per host, with user, database and parameters', () => {
    assert.deepEqual(databaseUrlsOf('postgres://u:p@h1/db'), ['postgres://u:p@h1/db']);
    assert.deepEqual(
      databaseUrlsOf(
        'postgresql://u:p%2C@h1:5432,h2,[::1]:6/db?target_session_attrs=read-write&sslmode=verify-full',
      ),
      ['h1:5432', 'h2', '[::1]:6'].map(
        (host) => `postgresql://u:p%2C@${host}/db?target_session_attrs=read-write&sslmode=verify-full`,
      ),
    );
    assert.deepEqual(databaseUrlsOf('postgres://h1,h2'), ['postgres://h1', 'postgres://h2']);
  });

  const refused: Record<string, [url: string, says: RegExp]> = {
    'another scheme': ['mysql://me:hidden@h1,h2/db', /starts with postgres:\/\/ or postgresql:\/\//],
    'no URL': ['hidden', /starts with postgres/],
    'a password with a slash': ['postgres://me:hid/den@h1/db', /host and port; .*percent-encoded/],
    'a password with digits and a slash': ['postgres://me:12/hidden@h1/db', /percent-encoded/],
    'a password with #': ['postgres://me:hid#den@h1/db', /percent-encoded/],
    'a password with digits and #': ['postgres://me:12#hidden@h1/db', /percent-encoded/],
    'a password with ?': ['postgres://me:hid?den@h1/db', /percent-encoded/],
    'a malformed port': ['postgres://me:hidden@h1:54x/db', /host and port/],
    'an empty host': ['postgres://me:hidden@h1,,h3/db', /host 2 of 3 is not host or host:port/],
    'a comma at the end': ['postgres://me:hidden@h1,/db', /host 2 of 2/],
    'a port out of range': ['postgres://me:hidden@h1:5432,h2:70000/db', /host 2 of 2/],
    'a host twice': ['postgres://me:hidden@h1,H1:5432/db', /host 2 of 2 is there twice/],
    'a password with a comma and a slash': ['postgres://me:hid/den,@h1,h2/db', /percent-encoded|starts with/],
    'a password that is not encoded right': ['postgres://me:hidden%zz@h1,h2/db', /percent-encoded/],
    'a standby is wanted': [
      'postgres://me:hidden@h1,h2/db?target_session_attrs=prefer-standby',
      /target_session_attrs .*accept writes/,
    ],
    'hosts in a parameter': ['postgres://me:hidden@h1/db?host=h1,h2', /parameter host/],
    'hosts, and one in a parameter': ['postgres://me:hidden@h1,h2/db?host=h3', /remove the parameter/],
  };
  for (const [what, [url, says]] of Object.entries(refused))
    it(`is refused: ${what}`, () => assertRefused(() => databaseUrlsOf(url), says));
});

it('a certificate file that cannot be read is refused with the name of the variable', () => {
  const env = { DATABASE_URL: 'postgres://u:hidden@h1,h2/db?sslrootcert=/nonexistent' };
  assert.throws(() => loadConfig(env), /DATABASE_URL has a sslrootcert that cannot be read \(ENOENT\)/);
});

describe('REDIS_URL', () => {
  it('names one server, or memory', () => {
    assert.deepEqual(redisAddressOf('memory://'), { kind: 'memory' });
    for (const url of ['redis://h', 'rediss://:p@h:1/2?family=6', 'redis://u:p@[::1]:6379'])
      assert.deepEqual(redisAddressOf(url), { kind: 'server', url });
    assert.deepEqual(redisAddressOf('REDISS://h'), { kind: 'server', url: 'rediss://h' });
  });
  it('names sentinels and the primary', () => {
    assert.deepEqual(
      redisAddressOf(
        'rediss+sentinel://u:p%40%3A@s1:1,s2,[::1]:3/main-1.a/2?sentinelUsername=v&sentinelPassword=q%26',
      ),
      {
        kind: 'sentinel',
        tls: true,
        sentinels: [
          { host: 's1', port: 1 },
          { host: 's2', port: 26_379 },
          { host: '::1', port: 3 },
        ],
        sentinelCredentials: { username: 'v', password: 'q&' },
        name: 'main-1.a',
        db: 2,
        username: 'u',
        password: 'p@:',
      },
    );
    const plain = redisAddressOf('redis+sentinel://s1/main');
    assert.deepEqual(plain, {
      kind: 'sentinel',
      tls: false,
      sentinels: [{ host: 's1', port: 26_379 }],
      sentinelCredentials: {},
      name: 'main',
      db: 0,
    });
  });
  it('names nodes of a cluster', () => {
    assert.deepEqual(redisAddressOf('redis+cluster://:p@c1:1,c2'), {
      kind: 'cluster',
      tls: false,
      nodes: [
        { host: 'c1', port: 1 },
        { host: 'c2', port: 6379 },
      ],
      password: 'p',
    });
  });

  const refused: Record<string, [url: string, says: RegExp]> = {
    'another scheme': ['http://me:hidden@h', /starts with redis:\/\//],
    'hosts without a topology': ['redis://:hidden@h1:1,h2:2', /redis\+sentinel:\/\/ or redis\+cluster:\/\//],
    'a database of a server that is no number': ['redis://:hidden@h:6379/notadb', /only a database number/],
    'two databases': ['redis://:hidden@h/1/2', /only a database number/],
    'a negative database': ['redis://:hidden@h/-1', /only a database number/],
    'an option of the driver': [
      'redis://:hidden@h?retryStrategy=5',
      /unknown parameter .*allowed are family/,
    ],
    'a database in a parameter': ['redis://:hidden@h?db=abc', /unknown parameter/],
    'an address family that does not exist': ['redis://:hidden@h?family=5', /family other than 4 or 6/],
    'a bad port of a server': ['redis://:hidden@h:abc', /its host is not host or host:port/],
    'no host': ['redis://:hidden@/1', /its host is not host or host:port/],
    'sentinels without the primary': ['redis+sentinel://:hidden@h1,h2', /name the primary/],
    'a database that is no number': ['redis+sentinel://:hidden@h1/main/one', /database number/],
    'an unknown parameter': [
      'redis+sentinel://:hidden@h1/main?hidden=1',
      /sentinelUsername and sentinelPassword/,
    ],
    'a user of the sentinels without password': [
      'redis+sentinel://h1/main?sentinelUsername=hidden',
      /without sentinelPassword/,
    ],
    'a cluster with a database': ['redis+cluster://:hidden@h1/1', /has only one/],
    'a cluster with parameters': ['redis+cluster://:hidden@h1?a=b', /none is allowed/],
    'a bad port': ['redis+cluster://:hidden@h1:0', /its host is not host or host:port/],
    'a fragment: a password with #': ['redis+cluster://:hid#den@h1', /percent-encoded/],
  };
  for (const [what, [url, says]] of Object.entries(refused))
    it(`is refused: ${what}`, () => assertRefused(() => redisAddressOf(url), says));
});

describe('SMTP_URL', () => {
  it('gives host, port, TLS and credentials', () => {
    const credentials = { username: 'me@x', password: 'p/w' };
    assert.deepEqual(smtpUrl('smtp://h'), { host: 'h', port: 587, tls: false });
    assert.deepEqual(smtpUrl('smtps://h/'), { host: 'h', port: 465, tls: true });
    const url = 'SMTP://me%40x:p%2Fw@[::1]:25';
    assert.deepEqual(smtpUrl(url), { host: '::1', port: 25, tls: false, ...credentials });
  });

  const refused: Record<string, [url: string, says: RegExp]> = {
    'another scheme': ['http://me:hidden@h', /starts with smtp:\/\/ or smtps:\/\//],
    'no URL': ['hidden', /starts with smtp/],
    'two hosts': ['smtp://me:hidden@h1,h2', /several hosts/],
    'a path': ['smtp://me:hidden@h/x', /path after the host/],
    'an option of the driver': ['smtp://me:hidden@h?logger=true', /none is allowed/],
    'a password with a slash': ['smtp://me:hid/den@h', /percent-encoded/],
    'a user without password': ['smtp://hidden@h', /without a password/],
    'a bad port': ['smtp://me:hidden@h:0', /its host is not host or host:port/],
  };
  for (const [what, [url, says]] of Object.entries(refused))
    it(`is refused: ${what}`, () => assertRefused(() => smtpUrl(url), says));
});

it('an address is shown without user, password and parameters', () => {
  const shown = {
    'postgres://u:hidden@h1:1,h2/db?sslpassword=hidden': 'postgres://h1:1,h2/db',
    'redis+sentinel://:hidden@h1,h2/main/0?sentinelPassword=hidden': 'redis+sentinel://h1,h2/main/0',
    'rediss+cluster://:hidden@h1': 'rediss+cluster://h1',
    'https://id.example.com/': 'https://id.example.com',
    'postgres://u:12/hidden@h1/db': 'postgres://u:12',
  };
  for (const [url, expected] of Object.entries(shown)) assert.equal(shownAddress(url), expected);
  assert.equal(shownAddress('hidden'), 'an address');
  assert.equal(publicAddressOf('hidden'), undefined);
});

it('the start names the problem of an address, without the password', () => {
  const env = { DATABASE_URL: 'postgres://u:hidden@h1,/db', REDIS_URL: 'redis+sentinel://:hidden@h1' };
  assert.throws(
    () => loadConfig(env),
    ({ message }: Error) =>
      /DATABASE_URL is malformed: host 2 of 2/.test(message) &&
      /REDIS_URL must name the primary/.test(message) &&
      !message.includes('hidden'),
  );
});

function assertRefused(parse: () => unknown, says: RegExp): void {
  assert.throws(parse, ({ message }: Error) => {
    assert.match(message, says);
    assert.doesNotMatch(message, /hid|den\b/);
    return true;
  });
}
