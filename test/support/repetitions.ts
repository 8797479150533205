/** How often a test repeats a race, a kill or a random case: a few times in `npm test`, many times in `npm run test:all`. */
export const repetitions = (few: number, many: number): number =>
  process.env.TEST_REPETITIONS === 'many' ? many : few;
