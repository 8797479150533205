/**
 * The mail about a request. It has no token and no link that decides. The agent's own words (message, details) are on the page only: in a
 * mail, a text with an address in it could lead people elsewhere.
 */

import { escapeHtml } from '../../kernel/http/responses/html-page.ts';
import type { Mail } from '../../kernel/ports/mail.ts';
import { ownApiName } from './approval.ts';
import type { MailFacts } from './notifications-store.ts';

export function mailOf(facts: MailFacts, { id, url }: { id: string; url: string }): Mail {
  const sentence = sentenceOf(facts);
  const note =
    'The page shows the reason and the details, and asks you to sign in. Nothing is granted until you approve it there.';
  return {
    id,
    to: facts.email,
    subject: 'An agent asks for your approval',
    text: `${sentence}\n\nDecide here: ${url}\n\n${note}\n`,
    html: `<!doctype html>
<html lang="en">
<body style="font-family: sans-serif; line-height: 1.5">
<p>${escapeHtml(sentence)}</p>
<p><a href="${escapeHtml(url)}">Open the request</a></p>
<p style="color: #555">${escapeHtml(note)}</p>
</body>
</html>
`,
  };
}

function sentenceOf({ agentName, resourceName, scopes, detailTypes, accessSeconds, expiresAt }: MailFacts) {
  const what = oneLine([...scopes, ...detailTypes].join(', ')) || 'access';
  const where = oneLine(resourceName ?? ownApiName);
  return `The agent ${oneLine(agentName)} asks for ${what} at ${where} for ${durationOf(accessSeconds)}; the request lapses at ${timeOf(expiresAt)}.`;
}

const oneLine = (text: string): string => text.replace(/\s+/gu, ' ').trim();

/** "2 hours 30 minutes". */
function durationOf(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3600), 'hour'],
    [Math.floor(seconds / 60) % 60, 'minute'],
    [seconds % 60, 'second'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}${count === 1 ? '' : 's'}`)
    .join(' ');
}

/** "2030-01-31 12:00 UTC". */
const timeOf = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
