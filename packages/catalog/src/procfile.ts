import type { SourceFiles } from './entry-types.ts'

/** A line of a Procfile that is no web server: a name, and a command as it is written. */
export interface ProcfileLine {
  readonly name: string
  readonly command: string
}

export const procfile = 'Procfile'
/** `web` is the server, `release` is done once. */
const others = ['web', 'release']
const mostLines = 50

export function procfileLines(source: SourceFiles): readonly ProcfileLine[] {
  const text = source[procfile]
  if (typeof text !== 'string') return []
  return text
    .split('\n')
    .slice(0, mostLines)
    .flatMap((line) => {
      const [, name, command] = /^([A-Za-z0-9_-]{1,30}):[ \t]+(\S.*)$/.exec(line.trimEnd()) ?? []
      return name === undefined || command === undefined || others.includes(name) ? [] : [{ name, command }]
    })
}
