// Runs the program of docs/guides/recipes/vercel-ai.md beside it, with the scripted model of the framework.
import { MockLanguageModelV4 } from 'ai/test';
import { nextStep } from './script.mjs';
import { run } from './vercel-ai.mjs';

const tokens = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const usage = {
  inputTokens: tokens,
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

const doGenerate = async ({ prompt }) => {
  const results = prompt
    .filter(({ role }) => role === 'tool')
    .flatMap(({ content }) => content.map(({ output }) => output.value));
  const step = nextStep(results);
  const toolCallId = `call-${results.length}`;
  const content =
    'text' in step
      ? { type: 'text', text: step.text }
      : { type: 'tool-call', toolCallId, toolName: step.tool, input: JSON.stringify(step.input) };
  const unified = 'text' in step ? 'stop' : 'tool-calls';
  return { content: [content], finishReason: { unified, raw: undefined }, usage, warnings: [] };
};

await run(new MockLanguageModelV4({ doGenerate }));
