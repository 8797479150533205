import { Text } from '@mantine/core';
import classes from './RequiredMark.module.css';

/** The mark of a required field in a legend. Labels of inputs have their own. */
export const RequiredMark = () => (
  <span className={`${classes.mark} ${classes.inLegend}`} aria-hidden>
    {' *'}
  </span>
);

/** The meaning of the mark, at the head of a form that has one. */
export const RequiredHint = () => (
  <Text size="xs" c="dimmed" className={classes.hint ?? ''}>
    <span className={classes.mark}>*</span> required
  </Text>
);
