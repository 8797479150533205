/** CPU time of an archive, and how long it blocks the event loop. In this process, without the cost of an HTTP request. */

import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createTemplates } from '../../src/adapters/templates.ts';
import { archive } from '../../src/adapters/zip.ts';
import { fill } from '../../src/features/scaffold/project.ts';
import { languages } from '../../src/features/scaffold/schema.ts';
import { copiedSdkFiles } from '../../src/features/scaffold/sdk-files.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { median } from '../support/rounds.ts';

const rounds = 30;
const cpuTargetMs = 20;
const blockedTargetMs = 10;

/** The largest values that the registry accepts. */
const agent = {
  agentId: '6f1c0f5e-0000-4000-8000-000000000000',
  organizationId: '6f1c0f5e-0000-4000-8000-000000000001',
  email: `${'screener-'.repeat(20)}@example.com`,
  name: 'screener-'.repeat(20),
  agentType: 'screener',
  version: '1.0.0',
  owner: 'é'.repeat(128),
  deploymentEnv: 'production',
  capabilities: Array.from({ length: 100 }, (_, index) => `${'r'.repeat(100)}${index}:read`),
  apiUrl: 'https://id.example.com',
};

export async function scaffold({ log }: BenchContext): Promise<Result[]> {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const template = createTemplates(join(root, 'scaffolds'), copiedSdkFiles(root));
  const createArchive = async (language: string) => buffer(archive(fill(await template(language), agent)));

  log('once each, to load templates and compressor');
  const bytes: number[] = [];
  for (const language of languages) bytes.push((await createArchive(language)).length);

  const idle = await longestBlock(() => sleep(1_000));
  const cpu: number[] = [];
  const blocked = await longestBlock(async () => {
    for (let round = 0; round < rounds; round += 1) {
      for (const language of languages) {
        const before = process.cpuUsage();
        await createArchive(language);
        const { user, system } = process.cpuUsage(before);
        cpu.push((user + system) / 1_000);
      }
    }
  });
  const medianMs = median(cpu);
  return [
    {
      metric: 'CPU time of one archive (median of five languages)',
      result: `${medianMs.toFixed(1)} ms`,
      baseline: `${Math.round(Math.min(...bytes) / 1024)} to ${Math.round(Math.max(...bytes) / 1024)} KB each`,
      target: `under ${cpuTargetMs} ms`,
      met: medianMs < cpuTargetMs,
    },
    {
      metric: `longest block of the event loop (CPU time) during ${rounds * languages.length} archives`,
      result: `${blocked.toFixed(1)} ms`,
      baseline: `${idle.toFixed(1)} ms when idle`,
      target: `under ${blockedTargetMs} ms`,
      met: blocked < blockedTargetMs,
    },
  ];
}

/**
 * The most CPU time that this thread spends between two iterations of the event loop. CPU time rather than elapsed time, which depends on
 * the other load of the machine.
 */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  const used = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let longest = 0;
  let last = used();
  let watching = true;
  const sample = () => {
    const now = used();
    longest = Math.max(longest, now - last);
    last = now;
    if (watching) setImmediate(sample);
  };
  sample();
  await work();
  watching = false;
  return longest;
}
