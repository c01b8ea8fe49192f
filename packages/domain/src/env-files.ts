import type { SourceFiles } from '@stackquay/catalog'

/** Files that frameworks read variables from; relative to the folder of a package. */
export const envFiles = [
  '.env',
  '.env.local',
  '.env.development',
  '.env.development.local',
  '.env.test',
  '.env.test.local',
  '.env.testing',
] as const

/** Assignments in these files, the later file first; a name counts once. Texts are as written, without their quotes. */
export function variablesInFiles(source: SourceFiles, folder: string): ReadonlyMap<string, string> {
  const variables = new Map<string, string>()
  for (const file of [...envFiles].reverse()) {
    const text = source[folder === '.' ? file : `${folder}/${file}`]
    if (typeof text !== 'string') continue
    for (const line of text.split(/\r?\n/)) {
      if (line.length > longest) continue
      const [, name, value] = assignment.exec(line) ?? []
      if (name !== undefined && value !== undefined && !variables.has(name)) variables.set(name, unquoted(value))
    }
  }
  return variables
}

/** A longer line is not the address of a database. */
const longest = 4096

const assignment = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/

function unquoted(value: string): string {
  const quote = value[0]
  if (quote === '"' || quote === "'") {
    const end = value.indexOf(quote, 1)
    return end < 0 ? value.slice(1) : value.slice(1, end)
  }
  return value.replace(/\s+#.*$/, '')
}
