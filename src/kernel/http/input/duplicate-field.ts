/** The first duplicate field in valid JSON. JSON.parse keeps the last of two; a proxy may have checked the first. */
export function duplicateField(json: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  let text = '';
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (char === '{') open.push(new Set());
    else if (char === '[') open.push(undefined);
    else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const end = endOfString(json, at);
      text = json.slice(at, end + 1);
      at = end;
    } else if (char === ':') {
      const name: string = JSON.parse(text);
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}
