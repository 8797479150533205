/** `countersign serve` with the limits in its argument, as JSON: a test of them must not wait as long as in production. */
import { createIo } from '../../src/commands/io.ts';
import { serve } from '../../src/commands/serve.ts';

const { stdin, stdout, stderr } = process;
const io = createIo(process.env, {
  ...{ stdin, stdinDescriptor: 0, stdout, stderr },
  exit: process.exit,
  onSignal(listener) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, listener);
    return () => {};
  },
});
await serve(io, { worker: true, limits: JSON.parse(process.argv[2] ?? '{}') });
