import type { AuditEntry } from '@stackquay/contract'

export type AuditFormat = 'jsonl' | 'csv'

export const exportTypes: Readonly<Record<AuditFormat, string>> = {
  jsonl: 'application/jsonl; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
}

/** The entries as text, a slice at a time; only one slice is in memory, however long the log is. */
export async function* exportTexts(
  slices: AsyncIterable<readonly AuditEntry[]>,
  format: AuditFormat,
): AsyncGenerator<string> {
  if (format === 'csv') yield csvLine(columns)
  const line = format === 'csv' ? csvLineOf : jsonLineOf
  for await (const slice of slices) yield slice.map(line).join('')
}

const columns = [
  'seq',
  'id',
  'time',
  'actor',
  'action',
  'target',
  'project',
  'outcome',
  'changes',
  'requestId',
  'operationId',
  'source',
  'ip',
  'userAgent',
  'prevHash',
  'hash',
] as const satisfies readonly (keyof AuditEntry)[]

function jsonLineOf(entry: AuditEntry): string {
  return `${JSON.stringify(entry)}\n`
}

function csvLineOf(entry: AuditEntry): string {
  return csvLine(
    columns.map((name) => (name === 'changes' ? JSON.stringify(entry.changes) : (entry[name] ?? '').toString())),
  )
}

/** RFC 4180: lines end with CRLF; a cell with a comma, a quote or a line break stands in quotes, quotes in it twice. */
function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

function csvCell(text: string): string {
  const safe = formula.test(text) ? `'${text}` : text
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** What a spreadsheet would compute instead of show, also after a space or written in full width. */
const formula = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/
const needsQuotes = /[",\r\n]/
