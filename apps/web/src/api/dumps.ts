import type { DatabaseImport, dumpCompressions, dumpFormats, importModes, Plan } from '@stackquay/contract'
import { holdOperation } from './cache.ts'
import { client } from './client.ts'

export type DumpFormat = (typeof dumpFormats)[number]
export type DumpCompression = (typeof dumpCompressions)[number]
export type ImportMode = (typeof importModes)[number]

/** Throws why it cannot be exported: a browser that saves a file shows no problem. */
export async function checkExport(project: string, db: string, format: DumpFormat): Promise<void> {
  await client.call('exportDatabase', { params: { id: project, db }, query: { format, check: true } })
}

/** Below `/api/v1`. */
export function exportPath(project: string, db: string, format: DumpFormat, compress: DumpCompression): string {
  return `${databasePath(project, db)}/export?format=${format}&compress=${compress}`
}

export async function planImport(project: string, db: string, mode: ImportMode, signal: AbortSignal): Promise<Plan> {
  const query = { mode, dryRun: true }
  const blob = new Blob([], { type })
  const path = `${databasePath(project, db)}/import`
  return (await client.request({ method: 'POST', path, query, blob }, { signal })).data as Plan
}

/** The browser reads the file while it sends it. */
export async function importDump(
  project: string,
  db: string,
  query: { readonly mode: ImportMode; readonly confirm?: string },
  file: File,
): Promise<DatabaseImport> {
  const blob = file.slice(0, file.size, type)
  const path = `${databasePath(project, db)}/import`
  const imported = (await client.request({ method: 'POST', path, query, blob })).data as DatabaseImport
  holdOperation(imported.operation)
  return imported
}

const type = 'application/octet-stream'

function databasePath(project: string, db: string): string {
  return `/projects/${encodeURIComponent(project)}/databases/${encodeURIComponent(db)}`
}
