import { type ChangeRow, changeRows } from '../lib/audit-changes.ts'
import { texts } from '../texts/index.ts'

const t = texts.activity
const signs = { added: '+', removed: '−', changed: '~', note: '' } as const satisfies Record<ChangeRow['kind'], string>
const tones = { added: 'text-good', removed: 'text-bad', changed: 'text-busy', note: '' } as const

/** Before and after, one setting a line. The signs say without colour what the colours say. */
export function ChangesView({ changes, label }: { changes: unknown; label?: string }) {
  const rows = changeRows(changes)
  if (rows.length === 0) return <p className="text-ink-2">{t.noChanges}</p>
  return (
    <ul
      aria-label={label}
      className="divide-y divide-line overflow-hidden rounded-md border border-line bg-surface font-mono text-xs leading-5"
    >
      {rows.map((row) => (
        <li
          key={`${row.kind} ${row.name}`}
          className="grid grid-cols-[1.25rem_minmax(0,1fr)] px-3 py-1.5 sm:grid-cols-[1.25rem_minmax(8rem,16rem)_minmax(0,1fr)] sm:gap-x-3"
        >
          <span className={tones[row.kind]}>
            <span aria-hidden>{signs[row.kind]}</span>
            <span className="sr-only">{t.changeKinds[row.kind]}</span>
          </span>
          <span className="break-words">{row.name}</span>
          <span className="flex min-w-0 flex-wrap items-start gap-x-2 gap-y-1 max-sm:col-start-2">
            <Values row={row} />
          </span>
        </li>
      ))}
    </ul>
  )
}

function Values({ row }: { row: ChangeRow }) {
  if (row.kind === 'note') return <span className={value}>{row.value}</span>
  return (
    <>
      {row.kind !== 'added' && (
        <>
          <span className="sr-only">{t.was}</span>
          <del className={`${value} rounded-xs bg-bad-soft px-1 text-bad decoration-1`}>{row.before}</del>
        </>
      )}
      {row.kind !== 'removed' && (
        <>
          <span className="sr-only">{t.is}</span>
          <ins className={`${value} rounded-xs bg-good-soft px-1 text-good no-underline`}>{row.after}</ins>
        </>
      )}
    </>
  )
}

const value = 'min-w-0 break-words whitespace-pre-wrap [overflow-wrap:anywhere]'
