/** The labels on the time axis of charts: round, in the reader's time zone, and never more than there is room for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clockTicks, clockTime, dayLabel, dayTicks } from '../../console/src/components/time-axis.ts';
import { startOfDay } from '../../console/src/pages/overview/start-of-day.ts';

const minutesFrom = (first: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => new Date(Date.parse(first) + index * 60_000).toISOString());
const daysFrom = (first: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) =>
    new Date(Date.parse(first) + index * 86_400_000).toISOString().slice(0, 10),
  );

describe('clockTicks', () => {
  const hour = minutesFrom('2030-01-31T12:03:00.000Z', 60);
  const cases: [most: number, zone: string, labels: string[]][] = [
    [
      20,
      'UTC',
      [
        '12:05',
        '12:10',
        '12:15',
        '12:20',
        '12:25',
        '12:30',
        '12:35',
        '12:40',
        '12:45',
        '12:50',
        '12:55',
        '13:00',
      ],
    ],
    [8, 'UTC', ['12:10', '12:20', '12:30', '12:40', '12:50', '13:00']],
    [4, 'UTC', ['12:15', '12:30', '12:45', '13:00']],
    [2, 'UTC', ['12:30', '13:00']],
    [1, 'UTC', ['13:00']],
    [4, 'Asia/Kathmandu', ['18:00', '18:15', '18:30', '18:45']],
    [1, 'Asia/Kathmandu', ['18:00']],
  ];
  for (const [most, zone, labels] of cases)
    it(`at most ${most} in ${zone}`, () =>
      assert.deepEqual(
        clockTicks(hour, most, zone).map((time) => clockTime(time, zone)),
        labels,
      ));

  it('full hours for a day', () => {
    const day = minutesFrom('2030-01-31T00:00:00.000Z', 1_440);
    const labels = clockTicks(day, 8, 'UTC').map((time) => clockTime(time, 'UTC'));
    assert.deepEqual(labels, ['00:00', '03:00', '06:00', '09:00', '12:00', '15:00', '18:00', '21:00']);
  });

  it('a time that is not round has a label where no round one is', () => {
    const [first = ''] = hour;
    assert.deepEqual(clockTicks([first], 4, 'UTC'), [first]);
    assert.deepEqual(clockTicks([], 4, 'UTC'), []);
  });
});

describe('dayTicks', () => {
  const cases: [what: string, days: string[], most: number, labels: string[]][] = [
    ['all of a week', daysFrom('2026-11-16', 4), 8, ['Nov 16', 'Nov 17', 'Nov 18', 'Nov 19']],
    ['every second one', daysFrom('2026-11-16', 7), 4, ['Nov 17', 'Nov 19', 'Nov 21']],
    ['Mondays of a month', daysFrom('2026-10-20', 30), 6, ['Oct 26', 'Nov 2', 'Nov 9', 'Nov 16']],
    ['first days of months', daysFrom('2026-08-20', 90), 5, ['Sep 1', 'Oct 1', 'Nov 1']],
    ['quarters', daysFrom('2025-12-01', 365), 5, ['Jan 1', 'Apr 1', 'Jul 1', 'Oct 1']],
  ];
  for (const [what, days, most, labels] of cases)
    it(what, () => assert.deepEqual(dayTicks(days, most).map(dayLabel), labels));
});

it('startOfDay is midnight in the time zone of the reader', () => {
  const now = new Date(2030, 0, 31, 17, 45, 12, 345);
  assert.equal(startOfDay(now), new Date(2030, 0, 31).toISOString());
});
