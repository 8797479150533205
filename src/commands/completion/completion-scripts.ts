/**
 * Scripts with which bash, zsh and fish complete commands, options and their values. Each holds the whole tree as data, so that the
 * shell starts no process while a person types, as it does with the completion libraries.
 */
import { type TreeCommand, withDescendants } from './command-tree.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const completionScript = (shell: Shell, root: TreeCommand): string =>
  ({ bash: bashScript, zsh: zshScript, fish: fishScript })[shell](root);

/** ` agents list`: each word with a blank before it, as the scripts put it together. */
const keyOf = ({ path }: TreeCommand): string => path.map((word) => ` ${word}`).join('');

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

interface Candidate {
  readonly word: string;
  readonly description: string;
}

const candidatesOf = (command: TreeCommand): Candidate[] => [
  ...command.commands.map(({ path, summary }) => ({ word: path.at(-1) ?? '', description: summary })),
  ...command.options.map(({ flag, description }) => ({ word: flag, description })),
];

/** The options whose value the shell can complete, by command. */
const valuesOf = (command: TreeCommand) =>
  command.options.filter(({ takesFile, choices }) => takesFile || choices.length > 0);

const groups = (root: TreeCommand) => {
  const all = withDescendants(root);
  return { all, paths: all.filter(({ path }) => path.length > 0).map((command) => quoted(keyOf(command))) };
};

function bashScript(root: TreeCommand): string {
  const { all, paths } = groups(root);
  const values = all.flatMap((command) =>
    valuesOf(command).map(({ flag, choices, takesFile }) => {
      const reply = takesFile
        ? 'compgen -f -- "$current"'
        : `compgen -W ${quoted(choices.join(' '))} -- "$current"`;
      return `    ${quoted(`${keyOf(command)} ${flag}`)}) COMPREPLY=($(${reply}))${takesFile ? '; compopt -o filenames 2>/dev/null' : ''}; __countersign_colons; return ;;`;
    }),
  );
  const words = all.map(
    (command) =>
      `    ${quoted(keyOf(command))}) words=${quoted(
        candidatesOf(command)
          .map(({ word }) => word)
          .join(' '),
      )} ;;`,
  );
  return `# bash completion for countersign. To use it now: source <(countersign completion bash)
__countersign_colons() {
  # bash splits words at colons, so only the part after the last one is replaced.
  case "$COMP_WORDBREAKS" in
    *:*) [[ $current == *:* ]] && local prefix="\${current%"\${current##*:}"}" && COMPREPLY=("\${COMPREPLY[@]#"$prefix"}") ;;
  esac
}
_countersign() {
  local line="\${COMP_LINE:0:COMP_POINT}" at='' words='' current='' previous='' word
  local -a typed
  read -ra typed <<< "$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  current="\${typed[-1]}"
  previous="\${typed[-2]}"
  COMPREPLY=()
  for word in "\${typed[@]:1:\${#typed[@]}-2}"; do
    case "$at $word" in
      ${paths.join('|')}) at="$at $word" ;;
    esac
  done
  case "$at $previous" in
${values.join('\n')}
  esac
  case "$at" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _countersign countersign
`;
}

function zshScript(root: TreeCommand): string {
  const { all, paths } = groups(root);
  const values = all.flatMap((command) =>
    valuesOf(command).map(
      ({ flag, choices, takesFile }) =>
        `    (${quoted(`${keyOf(command)} ${flag}`)}) ${takesFile ? '_files' : `compadd -- ${choices.map(quoted).join(' ')}`}; return ;;`,
    ),
  );
  const entries = all.map((command) => {
    const list = candidatesOf(command).map(({ word, description }) =>
      quoted(`${word.replaceAll(':', '\\:')}:${description}`),
    );
    return `    (${quoted(keyOf(command))}) entries=(${list.join(' ')}) ;;`;
  });
  return `#compdef countersign
# zsh completion for countersign. To use it now: source <(countersign completion zsh)
_countersign() {
  local at='' word
  local -a entries
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${paths.join('|')}) at="$at $word" ;;
    esac
  done
  case "$at $words[CURRENT-1]" in
${values.join('\n')}
  esac
  case "$at" in
${entries.join('\n')}
  esac
  _describe 'countersign' entries
}
if [ "$funcstack[1]" = _countersign ]; then
  _countersign "$@"
else
  compdef _countersign countersign
fi
`;
}

function fishScript(root: TreeCommand): string {
  const { all, paths } = groups(root);
  const text = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const values = all.flatMap((command) =>
    valuesOf(command).map(
      ({ flag, choices, takesFile }) =>
        `    case ${text(`${keyOf(command)} ${flag}`)}
      ${takesFile ? '__fish_complete_path (commandline -ct)' : `printf '%s\\n' ${choices.map(text).join(' ')}`}
      return`,
    ),
  );
  const entries = all.map(
    (command) =>
      `    case ${text(keyOf(command))}
      printf '%s\\t%s\\n' ${candidatesOf(command)
        .map(({ word, description }) => `${text(word)} ${text(description)}`)
        .join(' ')}`,
  );
  return `# fish completion for countersign. To use it now: countersign completion fish | source
function __countersign_complete
  set -l words (commandline -opc)
  set -l at ''
  for word in $words[2..-1]
    switch "$at $word"
      case ${paths.join(' ')}
        set at "$at $word"
    end
  end
  switch "$at $words[-1]"
${values.join('\n')}
  end
  switch "$at"
${entries.join('\n')}
  end
end
complete -c countersign -f -a '(__countersign_complete)'
`;
}
