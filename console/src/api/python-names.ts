/** The names of the SDK for Python. The generator of the SDK uses them, too. */

const words = new Set(
  (
    'and as assert async await break class continue def del elif else except finally for from global if import in is ' +
    'lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** `agent_id` for `agentId`, and `from_` for `from`. */
export function pythonName(name: string): string {
  const snake = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
  return words.has(snake) ? `${snake}_` : snake;
}
