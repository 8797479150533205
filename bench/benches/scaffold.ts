/** What an archive costs, and whether anybody else has to wait for it. In this process: a request adds what every request costs. */

import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createTemplates } from '../../src/adapters/templates.ts';
import { archive } from '../../src/adapters/zip.ts';
import { fill } from '../../src/features/scaffold/project.ts';
import { languages } from '../../src/features/scaffold/schema.ts';
import type { Bench, Result } from '../support/bench.ts';
import { median } from '../support/rounds.ts';

const rounds = 30;
const cpuTargetMs = 20;
const heldTargetMs = 10;

/** As large as the registry admits. */
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

export async function scaffold({ say }: Bench): Promise<Result[]> {
  const template = createTemplates(fileURLToPath(new URL('../../scaffolds/', import.meta.url)));
  const make = async (language: string) => buffer(archive(fill(await template(language), agent)));

  say('once each, so that templates and compressor are there');
  const bytes: number[] = [];
  for (const language of languages) bytes.push((await make(language)).length);

  const idle = await longestTurn(() => sleep(1_000));
  const cpu: number[] = [];
  const held = await longestTurn(async () => {
    for (let round = 0; round < rounds; round += 1) {
      for (const language of languages) {
        const before = process.cpuUsage();
        await make(language);
        const { user, system } = process.cpuUsage(before);
        cpu.push((user + system) / 1_000);
      }
    }
  });
  const middle = median(cpu);
  return [
    {
      what: 'CPU time of one archive (median of five languages)',
      measured: `${middle.toFixed(1)} ms`,
      beside: `${Math.round(Math.min(...bytes) / 1024)} to ${Math.round(Math.max(...bytes) / 1024)} KB each`,
      target: `under ${cpuTargetMs} ms`,
      met: middle < cpuTargetMs,
    },
    {
      what: `most CPU time in one turn of the event loop while ${rounds * languages.length} archives are made`,
      measured: `${held.toFixed(1)} ms`,
      beside: `${idle.toFixed(1)} ms while nothing is done`,
      target: `under ${heldTargetMs} ms`,
      met: held < heldTargetMs,
    },
  ];
}

/**
 * The most processor time that this thread spends between two turns in which others would be served. Not the time that
 * passes: on a machine that does other things as well, that says more about those.
 */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const used = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let longest = 0;
  let last = used();
  let watching = true;
  const turn = () => {
    const now = used();
    longest = Math.max(longest, now - last);
    last = now;
    if (watching) setImmediate(turn);
  };
  turn();
  await work();
  watching = false;
  return longest;
}
