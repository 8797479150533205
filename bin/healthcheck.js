#!/usr/bin/env node
// `node bin/healthcheck.js [path]`: exits 0 when the server or the worker of this container answers path (default /livez) with 200,
// else 1. One container runs one of them, so it asks both ports: PORT and WORKER_PORT.
import { get } from 'node:http';

const timeoutMs = 4_000;
const path = process.argv[2] ?? '/livez';
const { HOST, PORT, WORKER_PORT } = process.env;
const listening = HOST?.trim() || '0.0.0.0';
const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[listening] ?? listening;
const ports = [PORT?.trim() || '3000', WORKER_PORT?.trim() || '3001'];

const answers = (port) =>
  new Promise((resolve, reject) => {
    const request = get(
      { host, port, path, agent: false, signal: AbortSignal.timeout(timeoutMs) },
      (response) => {
        response.resume();
        if (response.statusCode === 200) resolve();
        else reject(new Error(`port ${port} answers ${path} with ${response.statusCode}`));
      },
    );
    request.on('error', (error) => reject(new Error(`port ${port}: ${error.code ?? error.message}`)));
  });

try {
  await Promise.any(ports.filter((port) => port !== '0').map(answers));
  process.exit(0);
} catch (error) {
  console.error(error.errors.map(({ message }) => message).join('; ') || 'no port is open');
  process.exit(1);
}
