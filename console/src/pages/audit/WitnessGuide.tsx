import classes from './Audit.module.css';

/** For operators: what witnesses are, and what to do when a quorum is missing. */
export const WitnessGuide = () => <code className={classes.path}>docs/operations/pick-witnesses.md</code>;
