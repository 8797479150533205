/** A mail server on loopback, by the authors of nodemailer: it keeps the mails, and the test chooses the refusals. */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { SMTPServer } from 'smtp-server';

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url));

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly user: string | undefined;
  /** Headers and body. */
  readonly source: string;
}

interface MailServerOptions {
  readonly port?: number;
  /** TLS from the start. */
  readonly secure?: boolean;
  /** Whether the server offers STARTTLS. */
  readonly startTls?: boolean;
  readonly login?: { readonly user: string; readonly password: string };
  /** Called for each recipient and each mail; an error with a `responseCode` is the server's answer. */
  refuse?(at: 'recipient' | 'data', address: string): Error | undefined;
}

export async function startMailServer(options: MailServerOptions = {}) {
  const { secure = false, startTls = true, login, refuse = () => undefined } = options;
  const received: ReceivedMail[] = [];
  const logins: string[] = [];
  let connections = 0;
  const server = new SMTPServer({
    secure,
    cert: fixture('server.pem'),
    key: fixture('server-key.pem'),
    ...(!startTls && { hideSTARTTLS: true, disabledCommands: ['STARTTLS', ...(login ? [] : ['AUTH'])] }),
    ...(!login && { authOptional: true }),
    allowInsecureAuth: true,
    logger: false,
    closeTimeout: 100,
    onConnect(_session, callback) {
      connections += 1;
      callback();
    },
    onAuth({ username, password }, _session, callback) {
      logins.push(String(username));
      if (login && username === login.user && password === login.password) callback(null, { user: username });
      else callback(new Error(`Invalid login with ${password}`));
    },
    onRcptTo({ address }, _session, callback) {
      callback(refuse('recipient', address) ?? null);
    },
    onData(stream, { envelope, secure: isSecure, user }, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = envelope.rcptTo.map(({ address }) => address);
        const problem = refuse('data', to.join());
        if (!problem)
          received.push({
            from: envelope.mailFrom ? envelope.mailFrom.address : '',
            to,
            secure: isSecure,
            user: user === undefined ? undefined : String(user),
            source: Buffer.concat(chunks).toString(),
          });
        callback(problem ?? null);
      });
    },
  });
  // A client that does not trust the certificate ends the connection.
  server.on('error', () => {});
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', () => resolve()));
  after(close);
  const { port } = server.server.address() as AddressInfo;
  return { port, received, logins, connections: () => connections, close };
}

/** The source without the line breaks and escapes of quoted-printable. */
export const readable = ({ source }: ReceivedMail): string =>
  source.replace(/=\r\n/g, '').replaceAll('=3D', '=').replaceAll('=20', ' ');

/** The answer of a server with this code. */
export const smtpRefusal = (responseCode: number, message = 'no'): Error =>
  Object.assign(new Error(message), { responseCode });
