/** The hashes of the chain, by Web Crypto: those of the SDK, which people can run on an export of the same log. */
export {
  eventHash,
  firstHash,
  leafHash,
  linkHash,
  rootFrom,
  sha256,
} from '../../../../../sdk/typescript/src/audit/hashes.ts';
