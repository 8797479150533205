import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesRedirectUri, redirectUriProblem } from './redirect-uri.ts';

test('a redirect URI is https, or http to this computer', () => {
  for (const uri of [
    'https://app.example.com/callback',
    'https://app.example.com',
    'https://app.example.com:8443/callback?tenant=a&b=%2F',
    'https://localhost/callback',
    'http://localhost/callback',
    'http://localhost',
    'http://localhost:8080?from=browser',
    'http://127.0.0.1:1/callback',
    'http://[::1]:65535/',
    `https://app.example.com/${'a'.repeat(2_024 - 1)}`,
  ])
    assert.equal(redirectUriProblem(uri), undefined, uri);
});

test('every other form has a problem', () => {
  for (const uri of [
    '',
    '/callback',
    'app.example.com/callback',
    'http://app.example.com/callback',
    'http://localhost.example.com/callback',
    'http://127.0.0.1.example.com/callback',
    'http://127.0.0.2/callback',
    'http://127.1/callback',
    'http://2130706433/callback',
    'http://[::ffff:127.0.0.1]/callback',
    'http://localhost:99999/callback',
    'http://localhost:0/callback',
    'http://localhost@evil.example/callback',
    'http://localhost:8080@evil.example/callback',
    'HTTPS://app.example.com/callback',
    'https:app.example.com',
    'https:///callback',
    'https://user@app.example.com/callback',
    'https://user:secret@app.example.com/callback',
    'https://@app.example.com/callback',
    'https://app.example.com/callback#',
    'https://app.example.com/callback#fragment',
    'https://app.example.com\\@evil.example/',
    'https://app.example.com/a b',
    'https://app.example.com/\n',
    ' https://app.example.com/',
    'https://bücher.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    'com.example.app:/callback',
    'myapp://callback',
    `https://app.example.com/${'a'.repeat(2_048)}`,
  ])
    assert.notEqual(redirectUriProblem(uri), undefined, uri);
});

test('redirect URIs match by string, except for the port of a loopback URI', () => {
  const registered = [
    'https://app.example.com/callback',
    'http://127.0.0.1/callback',
    'http://localhost:7777/cb?a=1',
    'http://[::1]/',
  ];
  const matches = (uri: string) => matchesRedirectUri(registered, uri);
  for (const uri of [
    ...registered,
    'http://127.0.0.1:3000/callback',
    'http://localhost/cb?a=1',
    'http://localhost:1/cb?a=1',
    'http://[::1]:9/',
  ])
    assert.equal(matches(uri), true, uri);
  for (const uri of [
    '',
    'https://app.example.com/Callback',
    'https://APP.example.com/callback',
    'https://app.example.com/callback/',
    'https://app.example.com/callback?x',
    'https://app.example.com/callbacks',
    'https://app.example.com:443/callback',
    'https://app.example.com:8443/callback',
    'https://app.example.com/%63allback',
    'https://app.example.com/x/../callback',
    'https://user@app.example.com/callback',
    'https://app.example.com.evil.example/callback',
    'http://app.example.com/callback',
    'https://127.0.0.1/callback',
    'http://127.0.0.1:99999/callback',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:80:80/callback',
    'http://127.0.0.1:80@evil.example/callback',
    'http://127.0.0.1:3000/callback#x',
    'http://127.0.0.1:3000/callback?x',
    'http://localhost:3000/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://LOCALHOST:7777/cb?a=1',
  ])
    assert.equal(matches(uri), false, uri);
});
