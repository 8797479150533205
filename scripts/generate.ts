/** `npm run openapi`: writes openapi.json and the generated pages of docs/. */
import { writeFileSync } from 'node:fs';
import { generatedFiles } from './generated.ts';

for (const [path, text] of Object.entries(await generatedFiles())) {
  writeFileSync(new URL(`../${path}`, import.meta.url), text);
  console.log(`wrote ${path}`);
}
