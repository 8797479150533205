/** Requests of the checks: short, without redirects, with a bounded answer. The server may be anyone's. */
const timeoutMs = 5_000;
const maxBytes = 1024 * 1024;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined when the answer is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** Throws when there is no answer. */
export async function readJson(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const sentAt = Date.now();
  const response = await fetch(url, {
    headers: { accept: 'application/json', 'user-agent': 'countersign doctor', ...headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answeredAt = Date.now();
  const text = await readText(response);
  return { status: response.status, headers: response.headers, body: objectIn(text), sentAt, answeredAt };
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
  }
  return text;
}

function objectIn(text: string): Answer['body'] {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
