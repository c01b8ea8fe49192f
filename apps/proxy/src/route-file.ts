import { open, readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { parseRouteChanges, type RouteChanges, withChanges } from './route-changes.ts'
import { emptyTable, parseRouteTable, type RouteTable } from './route-table.ts'
import { readJson, writeJson } from './state-files.ts'

/**
 * The routes on disk: a whole table, and a file of what changed since, a line for each change. With a thousand projects the table is half
 * a megabyte, and to write it for each change would make every change wait for it. The file of changes has the generation of its table in
 * its name, so that it never stands on another one.
 */
export interface RouteFile {
  replace(table: RouteTable): Promise<void>
  /** `table` is what comes of the changes; it is written when these take more room than a quarter of it: a start reads them all. */
  change(changes: RouteChanges, table: RouteTable): Promise<void>
}

/** Changes that fit in here never count as many. */
const fewBytes = 64 << 10

export function routeFile(path: string): RouteFile {
  let tableBytes = 0
  /** What was written of changes; null where the next one must be written with the whole table. */
  let changed: { readonly path: string; readonly bytes: number } | null = null

  const replace = async (table: RouteTable) => {
    changed = null
    tableBytes = await writeJson(path, table)
    const own = changesPath(path, table.generation)
    // What an earlier proxy wrote after a table of this number goes too.
    for (const other of await changesFiles(path)) await rm(other, { force: true })
    changed = { path: own, bytes: 0 }
  }
  return {
    replace,
    change: async (changes, table) => {
      const before = changed
      const line = Buffer.from(`${JSON.stringify(changes)}\n`)
      if (before === null || before.bytes + line.length > Math.max(fewBytes, tableBytes / 4)) return replace(table)
      // Half a line may be there when it fails, and nothing behind it would be read.
      changed = null
      await append(before.path, line)
      changed = { ...before, bytes: before.bytes + line.length }
    },
  }
}

async function append(path: string, line: Buffer): Promise<void> {
  const file = await open(path, 'a', 0o600)
  try {
    await file.appendFile(line)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** The table with all changes that were written whole. Throws when the table itself cannot be read. */
export async function readRouteFile(path: string): Promise<RouteTable> {
  const saved = await readJson(path)
  if (saved === undefined) return emptyTable
  let table = parseRouteTable(saved)
  const text = await readFile(changesPath(path, table.generation), 'utf8').catch(() => '')
  for (const line of text.split('\n').slice(0, -1)) {
    try {
      table = withChanges(table, parseRouteChanges(JSON.parse(line)))
    } catch {
      // Written by half in a crash, so nobody was told that it was taken.
      break
    }
  }
  return table
}

function changesPath(path: string, generation: number): string {
  return `${path}.${generation}`
}

async function changesFiles(path: string): Promise<readonly string[]> {
  const names = await readdir(dirname(path))
  const isChanges = (name: string) =>
    name.startsWith(`${basename(path)}.`) && /^\d+$/.test(name.slice(basename(path).length + 1))
  return names.filter(isChanges).map((name) => join(dirname(path), name))
}
