import { readdir, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { ToolchainQuery } from '@stackquay/engine-api'

/** Directories in which programs are looked for besides PATH; `*` stands for any characters of one name. */
const USUAL_PLACES = [
  '/usr/local/bin',
  '/usr/bin',
  '/bin',
  '/usr/local/sbin',
  '/usr/sbin',
  '/usr/local/*/bin',
  '/opt/*/bin',
  '/opt/homebrew/bin',
  '/snap/bin',
  `${homedir()}/.local/bin`,
  `${homedir()}/.nvm/versions/node/*/bin`,
  `${homedir()}/.pyenv/versions/*/bin`,
  `${homedir()}/.rbenv/versions/*/bin`,
]

/**
 * Files that may be the program, one for each real file. Places that the query names come first: its other programs
 * (`initdb`) lie beside it there, but not beside a link in PATH. Shims of version managers are no programs: what they
 * run depends on files of the user they belong to.
 */
export async function candidates(query: ToolchainQuery, path = process.env.PATH ?? ''): Promise<readonly string[]> {
  const inPath = path.split(delimiter).filter((directory) => directory.startsWith('/') && !directory.endsWith('/shims'))
  const directories = [...inPath, ...(await Promise.all(USUAL_PLACES.map(expandStars))).flat()]
  const files = [
    ...(await Promise.all(query.places.map(expandStars))).flat(),
    ...query.programs.flatMap((program) => directories.map((directory) => join(directory, program))),
  ]
  const real = new Map<string, string>()
  for (const file of new Set(files)) {
    const target = await realpath(file).catch(() => null)
    if (target === null || real.has(target) || !(await isFile(target))) continue
    real.set(target, file)
  }
  return [...real.values()]
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found?.isFile() === true && (found.mode & 0o111) !== 0
}

/** Existing paths that match; a pattern without a star is answered as it is. */
async function expandStars(pattern: string): Promise<string[]> {
  let found = ['/']
  for (const part of pattern.split('/').filter((name) => name !== '')) {
    if (!part.includes('*')) {
      found = found.map((parent) => join(parent, part))
      continue
    }
    const matches = new RegExp(`^${part.split('*').map(RegExp.escape).join('.*')}$`)
    const lists = found.map(async (parent) =>
      (await readdir(parent).catch(() => [])).filter((name) => matches.test(name)).map((name) => join(parent, name)),
    )
    found = (await Promise.all(lists)).flat().sort()
  }
  return found
}
