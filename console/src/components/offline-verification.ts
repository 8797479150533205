/** Ended tokens end at once for introspection only: an offline verifier does not ask us. `seconds`: the token lifetime of one API. */
export const offlineVerificationNote = (seconds?: number): string =>
  `An API that verifies tokens offline accepts them until they expire: ${
    seconds === undefined
      ? "at most the API's token lifetime later"
      : `at most ${seconds.toLocaleString('en')} seconds later`
  }.`;
