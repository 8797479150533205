/** Projects contain the files of our SDK as they are, so that there is one implementation of each. */
import type { Language } from './schema.ts';

interface SdkFiles {
  /** The folder of the SDK. */
  readonly from: string;
  /** The folder of the project. */
  readonly to: string;
  /** By the path in the folder. Adapters for frameworks that the project does not use are left out. */
  includes(path: string): boolean;
}

const sdkFiles: Readonly<Partial<Record<Language, SdkFiles>>> = {
  typescript: {
    from: 'sdk/typescript/src',
    to: 'src/countersign',
    includes: (path) => path.endsWith('.ts') && !path.startsWith('adapters/') && path !== 'verify/mcp.ts',
  },
  python: {
    from: 'sdk/python/src/countersign',
    to: 'countersign',
    includes: (path) => /^(api\/)?\w+\.py$/.test(path) && !['fastapi.py', 'mcp.py'].includes(path),
  },
};

/** `root` is the folder of this package. */
export const copiedSdkFiles = (root: string): Record<string, SdkFiles> =>
  Object.fromEntries(
    Object.entries(sdkFiles).map(([language, files]) => [
      language,
      { ...files, from: `${root}/${files.from}` },
    ]),
  );
