/** `npm run openapi`: writes openapi.json, the generated pages of docs/ and other files made from the code. */
import { writeFileSync } from 'node:fs';
import { generatedFiles } from './generated.ts';

for (const [path, text] of Object.entries(await generatedFiles())) {
  writeFileSync(new URL(`../${path}`, import.meta.url), text);
  console.log(`wrote ${path}`);
}
