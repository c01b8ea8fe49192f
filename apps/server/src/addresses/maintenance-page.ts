import { isUtf8 } from 'node:buffer'
import { type Maintenance, ProblemError } from '@stackquay/contract'
import type { ProjectRow, StoredRules } from '@stackquay/store'
import type { FilesOf } from '../projects/files-of.ts'

const fileName = 'maintenance.html'
/** Every route table holds it. */
const mostBytes = 100 * 1024
const bounds = { maxBytesEach: mostBytes, maxBytes: mostBytes }

/**
 * Maintenance with the page of the project as it is now, when it is switched on: what its programs do with the file afterwards changes
 * nothing. Read by the project's user, as all of its files.
 */
export async function withPage(
  maintenance: Maintenance | undefined,
  row: ProjectRow,
  filesOf: FilesOf,
): Promise<StoredRules['maintenance']> {
  if (maintenance?.enabled !== true || maintenance.page === false) return maintenance
  const files = await filesOf(row)
  const found = await files.readMany({ root: row.path, paths: [fileName], ...bounds }).catch(() => new Map())
  const html: Buffer | true | undefined = found.get(fileName)
  if (html === undefined) return maintenance
  if (html === true) throw refusal(`is larger than ${mostBytes / 1024} KiB, or no regular file`)
  if (!isUtf8(html)) throw refusal('is not encoded as UTF-8')
  return { ...maintenance, html: html.toString('utf8') }
}

/** As it is answered: without the text of the page. */
export function maintenanceView(maintenance: StoredRules['maintenance']): { readonly maintenance?: Maintenance } {
  if (maintenance === undefined) return {}
  const { html: _html, ...shown } = maintenance
  return { maintenance: shown }
}

function refusal(why: string): ProblemError {
  const detail = `The file ${fileName} of the project ${why}. Change it, or send "page": false for our page.`
  const errors = [{ pointer: '/maintenance/page', code: 'invalid', detail }]
  return new ProblemError('validation_failed', detail, { errors })
}
