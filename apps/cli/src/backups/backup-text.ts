import type { Backup } from '@stackquay/contract'
import { plainText } from '../output/plain-text.ts'
import { size } from '../output/size.ts'
import type { Style } from '../output/style.ts'
import { type Cell, fields, table } from '../output/table.ts'
import { ago } from '../output/time.ts'

export function backupTable(items: readonly Backup[], withProjects: boolean, style: Style, now: number): string {
  const rows = items.map((item) => [
    item.id,
    ...(withProjects ? [projectText(item)] : []),
    ago(item.createdAt, now),
    size(item.sizeBytes),
    String(item.parts.length),
    verifiedCell(item, style, now),
    plainText(item.note ?? (item.source === 'manual' ? '' : item.source)),
  ])
  const project = withProjects ? ['PROJECT'] : []
  return table(['BACKUP', ...project, 'MADE', 'SIZE', 'PARTS', 'VERIFIED', 'NOTE'], rows, style)
}

export function backupText(backup: Backup, style: Style, now: number): string {
  const rows: [string, string][] = [
    ['Backup', backup.id],
    ['Project', projectText(backup)],
    ['Made', `${backup.createdAt} (${backup.source})`],
    ...(backup.note === null ? [] : [['Note', plainText(backup.note)] as [string, string]]),
    ['Size', size(backup.sizeBytes)],
    ['Verified', verifiedText(backup, now)],
    ...backup.copies.map((copy): [string, string] => [
      'Copy',
      `${plainText(copy.name)}: ${copy.state}, ${ago(copy.at, now)}`,
    ]),
  ]
  if (!backup.opensHere) rows.push(['Settings', 'sealed with another secret key: this instance cannot open them'])
  const parts = backup.parts.map((part) => [
    part.id,
    plainText([part.title, part.version].filter(Boolean).join(' ')),
    part.method,
    size(part.bytes),
    size(part.contentBytes),
  ])
  const warnings = backup.parts.flatMap((part) => part.warnings.map((text) => `! ${part.id}: ${plainText(text)}`))
  return [
    fields(rows, style),
    '',
    table(['PART', 'WHAT', 'TAKEN', 'STORED', 'CONTENT'], parts, style),
    ...(warnings.length === 0 ? [] : ['', ...warnings]),
    ...checksText(backup, style),
  ].join('\n')
}

function checksText({ verified }: Backup, style: Style): readonly string[] {
  if (verified === null || verified.checks.length === 0) return []
  const { colors } = style
  const rows = verified.checks.map(({ part, check, ok, detail }): readonly (string | Cell)[] => [
    part,
    plainText(check),
    ok ? { text: 'ok', paint: colors.green } : { text: 'fault', paint: colors.red },
    plainText(detail),
  ])
  return ['', table(['PART', 'CHECK', 'RESULT', 'WHAT WAS FOUND'], rows, style)]
}

function projectText({ project }: Backup): string {
  return `${plainText(project.slug)}${project.deleted ? ' (deleted)' : ''}`
}

function verifiedCell(backup: Backup, { colors }: Style, now: number): Cell {
  const text = verifiedText(backup, now)
  const paint = { whole: colors.green, faulty: colors.red, failed: colors.yellow }
  return backup.verified === null ? { text, paint: colors.dim } : { text, paint: paint[backup.verified.outcome] }
}

function verifiedText({ verified }: Backup, now: number): string {
  return verified === null ? 'never' : `${verified.outcome}, ${ago(verified.at, now)}`
}
