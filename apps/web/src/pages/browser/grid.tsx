import { ArrowDown, ArrowUp, ArrowUpRight, KeyRound } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Cell } from '../../api/database-browser.ts'
import { cx } from '../../components/class-names.ts'
import { ScrollBox } from '../../components/scroll-box.tsx'
import { formatBytes } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'

const t = texts.browser.grid

export interface GridColumn {
  readonly name: string
  readonly type: string
  readonly kind: string
  readonly isKey?: boolean
  /** How the rows are sorted by it. */
  readonly sorted?: 'ascending' | 'descending' | null
  onSort?: () => void
  /** Leads to the row that a value points to. */
  follow?: (value: Cell) => void
}

interface GridProps {
  label: string
  columns: readonly GridColumn[]
  rows: readonly (readonly Cell[])[]
  /** Buttons in front of a row. */
  actions?: (row: number) => ReactNode
  busy?: boolean
}

/** Rows and columns as a server answered them, scrolling in themselves. */
export function Grid({ label, columns, rows, actions, busy = false }: GridProps) {
  return (
    <ScrollBox label={label} className="max-h-[65vh] overflow-auto focus-visible:-outline-offset-2">
      <table aria-busy={busy} className={cx('border-collapse text-left text-sm', busy && 'opacity-60')}>
        <thead className="sticky top-0 z-10 bg-sunken">
          <tr>
            {actions && (
              <th scope="col" className="border-b border-line px-2">
                <span className="sr-only">{t.actions}</span>
              </th>
            )}
            {columns.map((column, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two columns of a result may have one name
              <Head key={at} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a result have no names
            <tr key={index} className="border-b border-line hover:bg-hover">
              {actions && <td className="px-1.5 whitespace-nowrap">{actions(index)}</td>}
              {columns.map((column, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <td key={at} className={cx('max-w-96 px-3 py-1', column.kind === 'number' && 'text-right')}>
                  <Value value={row[at] ?? null} column={column} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function Head({ column }: { column: GridColumn }) {
  const Sign = column.sorted === 'ascending' ? ArrowUp : ArrowDown
  const inside = (
    <>
      {column.isKey && <KeyRound aria-label={t.key} className="size-3 shrink-0 text-ink-3" />}
      <span className="font-mono font-medium text-ink">{column.name}</span>
      <span className="font-normal text-ink-3">{column.type}</span>
      {column.sorted && <Sign aria-hidden className="size-3 shrink-0 text-accent-ink" />}
    </>
  )
  return (
    <th
      scope="col"
      aria-sort={column.sorted ?? undefined}
      className="border-b border-line px-3 py-1.5 font-normal whitespace-nowrap"
    >
      {column.onSort === undefined ? (
        <span className="inline-flex items-center gap-1.5">{inside}</span>
      ) : (
        <button
          type="button"
          title={t.sortBy(column.name)}
          onClick={column.onSort}
          className="inline-flex items-center gap-1.5 rounded hover:text-ink"
        >
          {inside}
        </button>
      )}
    </th>
  )
}

function Value({ value, column }: { value: Cell; column: GridColumn }) {
  if (value === null) return <span className="text-ink-3 italic">NULL</span>
  const { follow } = column
  return (
    <span className="flex items-center gap-1">
      <span
        className="min-w-0 flex-1 truncate font-mono"
        title={typeof value === 'string' ? value.slice(0, 1000) : undefined}
      >
        {shownValue(value)}
      </span>
      {follow && (
        <button
          type="button"
          aria-label={t.follow(shownValue(value))}
          title={t.follow(shownValue(value))}
          onClick={() => follow(value)}
          className="shrink-0 rounded p-0.5 text-ink-3 hover:bg-hover hover:text-accent-ink"
        >
          <ArrowUpRight aria-hidden className="size-3.5" />
        </button>
      )}
    </span>
  )
}

/** On one line. What is cut says how long it is. */
export function shownValue(value: Cell): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'object') return value === '' ? t.emptyText : String(value).slice(0, 300)
  if ('cut' in value) return `${value.cut.slice(0, 300)}… (${formatBytes(value.bytes)})`
  return `${t.binary(formatBytes(value.bytes))} ${value.base64.slice(0, 40)}`
}
