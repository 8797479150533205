/**
 * The hashes of links that are printed, and verified soon after in the same order. Verification reads record and previous hash from the
 * text; when they are those that were printed, their hash is known.
 */
import { linkHash } from '../chain/hashes.ts';

export interface LinkHashes {
  readonly ofPrinted: typeof linkHash;
  readonly ofVerified: typeof linkHash;
}

/** More than verification is ever behind. */
const maxKept = 10_000;

export function createLinkHashes(): LinkHashes {
  let kept: { readonly previous: string; readonly record: string; readonly hash: string }[] = [];
  let next = 0;
  return {
    ofPrinted(previous, record) {
      if (next === kept.length || kept.length === maxKept) {
        kept = [];
        next = 0;
      }
      const hash = linkHash(previous, record);
      kept.push({ previous, record, hash });
      return hash;
    },
    ofVerified(previous, record) {
      const printed = kept[next];
      if (printed?.record !== record || printed.previous !== previous) return linkHash(previous, record);
      next += 1;
      return printed.hash;
    },
  };
}
