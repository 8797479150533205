/** Ended tokens end at once for introspection, and APIs with signals learn of it; another offline verifier does not ask us. `seconds`: the token lifetime of one API. */
export const offlineVerificationNote = (seconds?: number): string =>
  `An API with signals refuses them within a second. One that only verifies tokens offline accepts them until they expire: ${
    seconds === undefined
      ? "at most the API's token lifetime later"
      : `at most ${seconds.toLocaleString('en')} seconds later`
  }.`;
