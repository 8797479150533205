/** A command that cannot do what it was asked, for a reason the person at the console can mend. */
export class Refusal extends Error {}
