/** Judges the checkpoint of the log in a file, again when the keys change. */
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/request.ts';
import { chooseKeys, type KeySources, keysOf, noKeys, parseKeys } from './proof/log-keys.ts';
import { type Witnessing, witnessingOf } from './proof/witnessing.ts';
import { useTrustedKeys } from './trusted-keys.ts';

export interface JudgedFile {
  readonly witnessing: Witnessing;
  /** Who named the keys. */
  readonly sources: KeySources;
}

export function useWitnessing(note: string | undefined) {
  const text = useTrustedKeys();
  return useQuery({
    queryKey: ['witnessing', note, text],
    queryFn: async ({ signal }): Promise<JudgedFile> => {
      const report = await call('listAuditWitnesses', {}, { signal });
      const { sources, ...keys } = chooseKeys(keysOf(report), parseKeys(text).keys ?? noKeys);
      return { witnessing: await witnessingOf(note, keys), sources };
    },
  });
}
