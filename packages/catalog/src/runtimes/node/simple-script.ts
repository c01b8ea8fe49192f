/**
 * The words of a script that needs no shell, such as `vite --mode staging` or `NODE_ENV=production node server.js`; null
 * for one that does. A simple script is run as it is, without a package manager as its parent: it starts sooner, gets
 * signals itself, and flags can be added to it. Its words may begin with assignments, which `env` understands.
 */
export function simpleScript(script: string): readonly string[] | null {
  const words: string[] = []
  const rest = script.trim()
  const word = /(?:[^\s"'\\$`;&|<>()*?[\]{}#~!]|"[^"\\$`!]*"|'[^']*')+(?=\s|$)/y
  const space = /\s+/y
  let at = 0
  while (at < rest.length) {
    word.lastIndex = at
    const match = word.exec(rest)
    if (match === null) return null
    words.push(match[0].replace(/"([^"]*)"|'([^']*)'/g, '$1$2'))
    space.lastIndex = word.lastIndex
    at = space.exec(rest) === null ? word.lastIndex : space.lastIndex
  }
  const program = programOf(words)
  return program === undefined || shellWords.has(program) ? null : words
}

export function programOf(words: readonly string[]): string | undefined {
  return words.find((word) => !isAssignment(word))
}

export function isAssignment(word: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*=/.test(word)
}

/** What only a shell can do, or what must not lose its own parent. */
const shellWords = new Set([
  'cd',
  'exec',
  'export',
  'source',
  '.',
  'set',
  'eval',
  'if',
  'for',
  'while',
  'npm',
  'pnpm',
  'yarn',
  'bun',
])
