/** The port for e-mails. Implemented by adapters/mail.ts when SMTP_URL is set. */

export interface Mail {
  /** One address. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for each attempt, so that mail programs can recognise a repetition. */
  readonly id: string;
}

/** The mail server has not accepted the mail. */
export class MailProblem extends Error {
  /** The server will never accept it: another attempt is useless. */
  readonly isFinal: boolean;

  constructor(message: string, options: ErrorOptions & { isFinal: boolean }) {
    super(message, options);
    this.name = 'MailProblem';
    this.isFinal = options.isFinal;
  }
}

export interface Mailer {
  /** Resolves when the server has accepted the mail; otherwise rejects with MailProblem. */
  send(mail: Mail): Promise<void>;
  close(): void;
}
