/** Words of a command, or what is wrong with it. */
export type ReadCommand =
  | { readonly ok: true; readonly words: readonly [string, ...string[]] }
  | { readonly ok: false; readonly detail: string }

const mostWords = 64

/**
 * Pure. A command as it is written: words, or a line that is split at its spaces, with quotes and backslashes as in a shell. Nothing
 * is expanded, so what a shell would expand is refused: it would arrive as it is written.
 */
export function readCommand(command: string | readonly string[]): ReadCommand {
  const split = typeof command === 'string' ? splitLine(command) : command
  if (typeof split === 'string') return { ok: false, detail: split }
  const [program, ...rest] = split
  if (program === undefined || program === '') return { ok: false, detail: 'It names no program.' }
  if (split.length > mostWords) return { ok: false, detail: `It has more than ${mostWords} words.` }
  if (split.some((word) => word.includes('\0'))) return { ok: false, detail: 'It has a NUL character.' }
  // The program is found by `env`, which takes both for its own.
  if (program.startsWith('-') || (program.includes('=') && !program.startsWith('/')))
    return {
      ok: false,
      detail: `It begins with "${program}", which is no program. Variables are set in the environment of the project.`,
    }
  return { ok: true, words: [program, ...rest] }
}

/** As `words` are written in one line, for people and for `readCommand`. */
export function commandText(words: readonly string[]): string {
  return words
    .map((word) => (/^[A-Za-z0-9_/.,:=@%+^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')
}

/** Characters that a shell gives a meaning to where they stand without quotes. */
const meant = '|&;<>()$`*?[#~\n\r'
/** Inside double quotes. */
const meantQuoted = '$`'

function splitLine(line: string): readonly string[] | string {
  const words: string[] = []
  let word: string | null = null
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at]!
    if (character === ' ' || character === '\t') {
      if (word !== null) words.push(word)
      word = null
    } else if (character === "'" || character === '"') {
      const quoted = readQuoted(line, at)
      if (typeof quoted === 'string') return quoted
      word = (word ?? '') + quoted.text
      at = quoted.end
    } else if (character === '\\') {
      at += 1
      if (at === line.length) return 'It ends with a backslash.'
      word = (word ?? '') + line[at]
    } else if (meant.includes(character) && isMeant(character, word)) return shellOnly(character)
    else word = (word ?? '') + character
  }
  return word === null ? words : [...words, word]
}

/** `a#b` and `a~b` are plain text in a shell too. */
function isMeant(character: string, word: string | null): boolean {
  return (character !== '#' && character !== '~') || word === null
}

function readQuoted(line: string, start: number): { readonly text: string; readonly end: number } | string {
  const quote = line[start]!
  let text = ''
  for (let at = start + 1; at < line.length; at += 1) {
    const character = line[at]!
    if (character === quote) return { text, end: at }
    if (quote === '"' && meantQuoted.includes(character)) return shellOnly(character)
    if (quote === '"' && character === '\\' && ['"', '\\', '$', '`'].includes(line[at + 1] ?? '')) {
      at += 1
      text += line[at]
    } else text += character
  }
  return `It has a quote (${quote}) that does not end.`
}

function shellOnly(character: string): string {
  const shown = character === '\n' || character === '\r' ? 'A line break' : `"${character}"`
  return `${shown} means something to a shell, and no shell reads this. Put it into single quotes, or start a shell: sh -c '…'.`
}
