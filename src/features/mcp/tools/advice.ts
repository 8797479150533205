/** What to do about a refusal, by the words of its recorded reason. */
import type { AuditEvent } from '../../../../sdk/typescript/src/generated.ts';

const advice: readonly (readonly [words: RegExp, text: string])[] = [
  [/delegated token/, 'This cannot be done with a lent token: use a token of the agent itself.'],
  [/\b(?:viewer|member)\b/, "The person's role may not change this: an admin of the organization can."],
  [
    /suspended|decommissioned|not active|inactive/,
    'The agent, person or organization is not active: an admin can activate a suspended one.',
  ],
  [
    /revoked|ended|deleted/,
    'What the token rests on has ended: begin again, with a new consent, delegation or grant.',
  ],
  [/expired|too old/, 'What was presented has expired: get a new one, and check the clock of the program.'],
  [
    /secret|credential/,
    'The secret is not one of this agent: check which one the program has, or create a new one.',
  ],
  [/bound|proof|DPoP/i, 'The token is bound to a key: send it with the scheme DPoP and a proof by that key.'],
  [/scope/, 'The agent may not hold the scope: grant it on the tab Access of the agent, or ask for less.'],
  [
    /audience|resource|target/,
    'The API is not registered, or not granted to this agent: check the identifier and the grants.',
  ],
  [
    /signature|malformed|not one of ours|issuer/,
    'The token is not one of this server, or was changed on its way: get a new one.',
  ],
];

export function adviceFor({ metadata }: Pick<AuditEvent, 'metadata'>): string {
  const reason = [metadata.reason, metadata.error].filter((part) => typeof part === 'string').join(' ');
  const found = advice.find(([words]) => words.test(reason));
  return found?.[1] ?? 'Read the reason, and compare with what_can_agent_do.';
}
