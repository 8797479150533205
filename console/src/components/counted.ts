/** "1 agent", "2,500 agents", "1 trust policy". The noun is plural; words may follow it after "of" or "with". */
export function counted(count: number, noun: string): string {
  const singular =
    noun === 'people' ? 'person' : noun.replace(/ies$/, 'y').replace(/s( (?:of|with) .+)?$/, '$1');
  return `${count.toLocaleString('en')} ${count === 1 ? singular : noun}`;
}
