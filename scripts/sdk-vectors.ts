/** sdk/vectors.json: the test vectors that all SDKs read. Each script that writes a part of it leaves the others as they are. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../sdk/vectors.json', import.meta.url);

export function replaceVectors(parts: {
  tokens?: object;
  webhooks?: readonly object[];
  auditExports?: readonly object[];
}): void {
  const { tokens, webhooks, auditExports } = {
    ...(existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}),
    ...parts,
  };
  writeFileSync(file, `${JSON.stringify({ tokens, webhooks, auditExports }, undefined, 1)}\n`);
}
