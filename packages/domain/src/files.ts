import { beforePullFolder } from './pull.ts'

/*
 * Which files of a project may be named, as values. Where a path leads is the matter of whoever walks it, as the project’s user.
 */

/** Where deleted files of a project wait, in its own folder: so deleting is a rename, however large they are. */
export const fileTrash = '.stackquay-trash'

/** In a source, ways back on this machine alone: in no backup, checkpoint or copy, and restores leave them where they are. */
export const localFolders: readonly string[] = [beforePullFolder, fileTrash]

export type FilePath =
  | { readonly ok: true; readonly names: readonly string[] }
  | { readonly ok: false; readonly why: string }

const longestName = 255
const longestPath = 2000

/** A path below the folder of the project: `src/app.ts`, with or without `/` around it; empty for the folder itself. */
export function readFilePath(text: string): FilePath {
  if (!text.isWellFormed() || text.includes('\0')) return refused('The path holds characters that no name has.')
  const names = text.split('/').filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) return refused('The path may not contain "..".')
  if (byteLength(text) > longestPath) return refused(`The path is longer than ${longestPath} bytes.`)
  const long = names.find((name) => byteLength(name) > longestName)
  if (long !== undefined) return refused(`A name is longer than ${longestName} bytes.`)
  if (names[0] === fileTrash) return refused('Deleted files are restored from the trash.')
  return { ok: true, names }
}

/** Why something may not be called that from now on; null when it may. What is there already can be named anyhow. */
export function newNameBlocker(name: string): string | null {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) return 'That is no name of a file.'
  if (/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/.test(name))
    return 'A new name has no line breaks and no characters that cannot be seen.'
  return null
}

/** Whether one path is the other or lies below it. */
export function isWithin(names: readonly string[], folder: readonly string[]): boolean {
  return folder.every((name, index) => names[index] === name)
}

export interface ListedFile {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'other'
}

/** Folders first, then by name; one order for all, whatever the language of who looks. */
export function filePage<File extends ListedFile>(
  files: readonly File[],
  { after, limit }: { readonly after: string; readonly limit: number },
): { readonly items: readonly File[]; readonly next: string | null } {
  const sorted = files.map((file) => ({ file, key: sortKey(file) })).sort((one, other) => compare(one.key, other.key))
  const from = after === '' ? 0 : sorted.findIndex(({ key }) => compare(key, after) > 0)
  if (from === -1) return { items: [], next: null }
  const items = sorted.slice(from, from + limit)
  const isLast = from + limit >= sorted.length
  return { items: items.map(({ file }) => file), next: isLast ? null : items.at(-1)!.key }
}

function sortKey({ kind, name }: ListedFile): string {
  return `${kind === 'folder' ? '0' : '1'}${name}`
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}

function refused(why: string): FilePath {
  return { ok: false, why }
}
