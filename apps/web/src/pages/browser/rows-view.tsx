import { useQuery } from '@tanstack/react-query'
import {
  ChevronFirst,
  ChevronLast,
  ChevronLeft,
  ChevronRight,
  Download,
  Pencil,
  Plus,
  Rows3,
  Trash2,
  Upload,
} from 'lucide-react'
import { useRef, useState } from 'react'
import {
  type Cell,
  type DatabaseRef,
  type DatabaseTable,
  exportTable,
  importTable,
  type RowsAsk,
  rowsQuery,
  type TableRows,
} from '../../api/database-browser.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { SkeletonList } from '../../components/skeleton.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import type { BrowserFilter, BrowserSearch } from '../../lib/browser-search.ts'
import { texts } from '../../texts/index.ts'
import { FilterBar } from './filter-bar.tsx'
import { Grid, type GridColumn } from './grid.tsx'
import { type EditedRow, RowEditor } from './row-editor.tsx'

const t = texts.browser.table

interface RowsViewProps {
  database: DatabaseRef
  table: DatabaseTable
  search: BrowserSearch
  onSearch: (search: Pick<BrowserSearch, 'sort' | 'filters'>) => void
  /** To a row of another table. */
  onFollow: (search: BrowserSearch) => void
}

const begin = { cursor: null, last: false } as const

export function RowsView({ database, table: known, search, onSearch, onFollow }: RowsViewProps) {
  const { filters = [], sort = null } = search
  const [place, setPlace] = useState<{ cursor: string | null; last: boolean }>(begin)
  const [editing, setEditing] = useState<EditedRow | null>(null)
  const ask: RowsAsk = { schema: known.schema, table: known.name, filters, sort, ...place }
  const query = useQuery(rowsQuery(database, ask))
  // Its columns may be others by now than when the tree was read.
  const table = query.data?.table ?? known
  const isKeyed = table.primaryKey.length > 0
  const mayEdit = isKeyed && table.kind === 'table'
  const change = (next: { sort: string | null; filters: readonly BrowserFilter[] }) => {
    setPlace(begin)
    onSearch({
      ...(next.sort === null ? {} : { sort: next.sort }),
      ...(next.filters.length === 0 ? {} : { filters: [...next.filters] }),
    })
  }
  return (
    <section aria-label={t.label(table.name)} className="min-w-0 rounded-lg border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-3 py-2">
        <h3 className="min-w-0 flex-1 truncate font-mono font-medium">{table.name}</h3>
        {mayEdit && (
          <Button size="sm" icon={Plus} onClick={() => setEditing({ kind: 'insert' })}>
            {t.insert}
          </Button>
        )}
        {table.kind === 'table' && <ImportButton database={database} table={table} />}
        <Menu
          trigger={
            <Button size="sm" icon={Download}>
              {t.export}
            </Button>
          }
        >
          {(['csv', 'json'] as const).map((format) => (
            <MenuItem key={format} onSelect={() => void exportTable(database, ask, format).catch(toastProblem)}>
              {t.formats[format]}
            </MenuItem>
          ))}
        </Menu>
      </div>
      {!mayEdit && (
        <p className="border-b border-line px-3 py-1.5 text-sm text-ink-2">{isKeyed ? t.noTable : t.noKey}</p>
      )}
      <FilterBar table={table} filters={filters} onChange={(next) => change({ sort, filters: next })} />
      {query.isPending ? (
        <SkeletonList rows={6} />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : query.data.rows.length === 0 ? (
        <EmptyState icon={Rows3} title={t.emptyTitle} detail={filters.length > 0 ? t.emptyFiltered : t.emptyDetail} />
      ) : (
        <Grid
          label={t.label(table.name)}
          columns={columnsOf(table, sort, (next) => change({ sort: next, filters }), onFollow)}
          rows={query.data.rows}
          busy={query.isPlaceholderData}
          {...(mayEdit
            ? { actions: (row: number) => <RowActs row={row} page={query.data} onEdit={setEditing} /> }
            : {})}
        />
      )}
      {query.data && <Pager page={query.data} isKeyed={isKeyed} busy={query.isFetching} onPlace={setPlace} />}
      {editing !== null && (
        <RowEditor database={database} table={table} edited={editing} onClose={() => setEditing(null)} />
      )}
    </section>
  )
}

function ImportButton({ database, table }: { database: DatabaseRef; table: DatabaseTable }) {
  const input = useRef<HTMLInputElement>(null)
  const [busy, setBusy] = useState(false)
  const send = async (file: File) => {
    setBusy(true)
    try {
      toastDone(t.imported(await importTable(database, table, file)))
    } catch (error) {
      toastProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <Button size="sm" icon={Upload} busy={busy} onClick={() => input.current?.click()}>
        {t.import}
      </Button>
      <input
        ref={input}
        type="file"
        accept=".csv,text/csv"
        aria-label={t.import}
        className="hidden"
        onChange={(event) => {
          const [file] = event.target.files ?? []
          event.target.value = ''
          if (file !== undefined) void send(file)
        }}
      />
    </>
  )
}

function RowActs({ row, page, onEdit }: { row: number; page: TableRows; onEdit: (edited: EditedRow) => void }) {
  const values = page.rows[row] ?? []
  return (
    <>
      <IconButton
        icon={Pencil}
        size="sm"
        label={t.editRow(row + 1)}
        onClick={() => onEdit({ kind: 'update', values })}
      />
      <IconButton
        icon={Trash2}
        size="sm"
        label={t.deleteRow(row + 1)}
        onClick={() => onEdit({ kind: 'delete', values })}
      />
    </>
  )
}

interface PagerProps {
  page: TableRows
  isKeyed: boolean
  busy: boolean
  onPlace: (place: { cursor: string | null; last: boolean }) => void
}

function Pager({ page, isKeyed, busy, onPlace }: PagerProps) {
  const { previousCursor, nextCursor } = page
  return (
    <div className="flex flex-wrap items-center gap-1.5 border-t border-line px-3 py-2">
      <IconButton icon={ChevronFirst} label={t.first} look="secondary" size="sm" onClick={() => onPlace(begin)} />
      <IconButton
        icon={ChevronLeft}
        label={t.previous}
        look="secondary"
        size="sm"
        disabled={previousCursor === null}
        onClick={() => onPlace({ cursor: previousCursor, last: false })}
      />
      <IconButton
        icon={ChevronRight}
        label={t.next}
        look="secondary"
        size="sm"
        disabled={nextCursor === null}
        onClick={() => onPlace({ cursor: nextCursor, last: false })}
      />
      {isKeyed && (
        <IconButton
          icon={ChevronLast}
          label={t.last}
          look="secondary"
          size="sm"
          onClick={() => onPlace({ cursor: null, last: true })}
        />
      )}
      <p role="status" className="numbers ml-2 text-sm text-ink-3">
        {busy ? t.reading : t.shown(page.rows.length, page.milliseconds)}
      </p>
    </div>
  )
}

function columnsOf(
  table: DatabaseTable,
  sort: string | null,
  onSort: (sort: string | null) => void,
  onFollow: (search: BrowserSearch) => void,
): readonly GridColumn[] {
  return table.columns.map((column): GridColumn => {
    const { name } = column
    const reference = table.foreignKeys.find(({ columns }) => columns.length === 1 && columns[0] === name)?.references
    const follow = (value: Cell) => {
      const to = reference?.columns[0]
      if (reference === undefined || to === undefined) return
      onFollow({
        schema: reference.schema,
        table: reference.table,
        filters: [{ column: to, operator: 'eq', value: String(value) }],
      })
    }
    return {
      ...column,
      isKey: table.primaryKey.includes(name),
      sorted: sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : null,
      onSort: () => onSort(sort === name ? `-${name}` : sort === `-${name}` ? null : name),
      ...(reference === undefined ? {} : { follow }),
    }
  })
}
