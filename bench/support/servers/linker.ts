/**
 * Links audit events once a second, as the sequencer's loop of the worker does, and nothing else. The other loops of a worker would add a
 * changing amount: a round of the audit watch costs as much as some seconds of linking.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openApp } from '../in-process.ts';

const { DATABASE_URL = '', JWT_PRIVATE_KEY = '', JWT_PUBLIC_KEY = '' } = process.env;
const app = await openApp(DATABASE_URL, { privatePem: JWT_PRIVATE_KEY, publicPem: JWT_PUBLIC_KEY });
console.log('linking');
for (;;) {
  await app.audit.linkAll();
  await sleep(1_000);
}
