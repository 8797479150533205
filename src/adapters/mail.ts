/**
 * Sends mails through the operator's SMTP server. With a password, nothing is sent before the connection is encrypted; without, STARTTLS is
 * used when the server offers it. Certificates are always verified.
 */

import { createTransport } from 'nodemailer';
import type { SmtpAddress } from '../kernel/config/server-urls.ts';
import { type Mailer, MailProblem } from '../kernel/ports/mail.ts';

/** For one mail, from the connection to the last answer. */
const sendTimeoutMs = 40_000;
const connectTimeoutMs = 10_000;

export interface MailSettings {
  readonly server: SmtpAddress;
  /** `name@example.com` or `Name <name@example.com>` */
  readonly from: string;
}

export function createMailer({ server, from }: MailSettings): Mailer {
  const { host, port, tls: secure, username: user, password: pass } = server;
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS: pass !== undefined,
    ...(user !== undefined && { auth: { user, pass } }),
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    dnsTimeout: connectTimeoutMs,
    socketTimeout: sendTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    tls: { minVersion: 'TLSv1.2' },
  });
  const domain = from.replace(/^.*@/, '').replace('>', '');

  return {
    async send({ id, to, subject, text, html }) {
      // As an object: nothing in the text of the address can add a recipient.
      if (!isOneAddress(to)) throw new MailProblem('the address is none', { isFinal: true });
      try {
        await transport.sendMail({
          from,
          to: { name: '', address: to },
          subject: oneLine(subject),
          text,
          html,
          messageId: `<${id}@${domain}>`,
          // RFC 3834: no automatic replies.
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: AbortSignal.timeout(sendTimeoutMs),
        });
      } catch (error) {
        throw new MailProblem(reasonOf(error, pass), { isFinal: isFinal(error) });
      }
    },
    close: () => transport.close(),
  };
}

const isOneAddress = (text: string): boolean => /^[^\s<>,;:"@]+@[^\s<>,;:"@]+$/u.test(text);
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');

/** The server refuses this mail or its recipient for good (RFC 5321 §4.2.1). Wrong credentials are the operator's, who may correct them. */
function isFinal(error: unknown): boolean {
  const { code, responseCode = 0 } = error as { code?: string; responseCode?: number };
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode >= 500;
}

/** For the log. A server may repeat what it was sent. */
function reasonOf(error: unknown, password: string | undefined): string {
  const message = error instanceof Error ? error.message : String(error);
  return (password ? message.replaceAll(password, '***') : message).slice(0, 300);
}
