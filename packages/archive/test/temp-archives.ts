import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  type ArchiveError,
  type ArchiveFolder,
  type ManifestFields,
  type NewPart,
  openArchiveFolder,
} from '../src/index.ts'

export const never = new AbortController().signal

export const fields: ManifestFields = {
  createdAt: '2026-03-01T10:00:00.000Z',
  note: null,
  source: 'manual',
  engine: 'native',
  project: { id: 'prj_1', slug: 'shop', name: 'Shop' },
  stackquayVersion: '0.1.0',
  architecture: 'x64',
  key: null,
}

export function part(id: string, more: Partial<NewPart> = {}): NewPart {
  const takenAt = '2026-03-01T10:00:00.000Z'
  return { id, title: id, type: id, version: null, method: 'copy', takenAt, extension: 'tar', ...more }
}

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-archive-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A folder of backups with one in it, of the given contents. */
export async function withBackup(
  t: TestContext,
  contents: Readonly<Record<string, Uint8Array>>,
  { id = 'bak_0123456789', zstd = null }: { readonly id?: string; readonly zstd?: string | null } = {},
): Promise<{ readonly root: string; readonly archives: ArchiveFolder; readonly id: string }> {
  const root = join(temporaryFolder(t), 'backups')
  const archives = openArchiveFolder(root, { zstd })
  await writeBackup(archives, id, contents)
  return { root, archives, id }
}

export async function writeBackup(
  archives: ArchiveFolder,
  id: string,
  contents: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  await using writer = await archives.create(id)
  for (const [name, bytes] of Object.entries(contents))
    if (name === 'settings') await writer.addSealed(part(name), bytes)
    else await writer.add(part(name), chunks(bytes), { signal: never })
  await writer.finish(fields)
}

export async function* chunks(bytes: Uint8Array, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export async function whole(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(content))
}

/** For `assert.rejects`. */
export function archiveError(code: ArchiveError['code'], named?: string | null) {
  return (error: unknown): boolean => {
    const { name, code: found, part } = error as ArchiveError
    if (name !== 'ArchiveError' || found !== code || (named !== undefined && part !== named)) throw error
    return true
  }
}
