import { ChevronDown, Eye, RefreshCw, Table2 } from 'lucide-react'
import { useState } from 'react'
import type { DatabaseSchema, DatabaseTable } from '../../api/database-browser.ts'
import { IconButton } from '../../components/button.tsx'
import { cx } from '../../components/class-names.ts'
import { TextField } from '../../components/field.tsx'
import { ScrollBox } from '../../components/scroll-box.tsx'
import { formatCount } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'

const t = texts.browser.tree

interface SchemaTreeProps {
  schema: DatabaseSchema
  chosen: DatabaseTable | null
  /** Whether it begins folded away on a phone. */
  folded: boolean
  onChoose: (table: DatabaseTable) => void
  onAgain: () => void
}

/** Schemas and their tables. On a phone it is folded away once a table is chosen. */
export function SchemaTree({ schema, chosen, folded, onChoose, onAgain }: SchemaTreeProps) {
  const [wanted, setWanted] = useState('')
  const [open, setOpen] = useState(!folded)
  const found = schema.tables.filter(({ name }) => name.toLowerCase().includes(wanted.trim().toLowerCase()))
  const groups = Map.groupBy(found, (table) => table.schema)
  return (
    <section
      aria-label={t.label}
      className="min-w-0 rounded-lg border border-line bg-surface lg:sticky lg:top-4 lg:w-64 lg:shrink-0"
    >
      <div className="flex items-center gap-1 p-2">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="flex min-w-0 flex-1 items-center gap-1.5 rounded-md px-1.5 py-1 text-left text-sm font-medium lg:hidden"
        >
          <ChevronDown aria-hidden className={cx('size-3.5 transition-transform', !open && '-rotate-90')} />
          <span className="truncate">{chosen === null ? t.label : chosen.name}</span>
        </button>
        <span className="flex-1 px-1.5 text-sm font-medium max-lg:hidden">{t.label}</span>
        <IconButton icon={RefreshCw} size="sm" label={t.again} onClick={onAgain} />
      </div>
      <div className={cx('border-t border-line', !open && 'max-lg:hidden')}>
        {schema.tables.length > 8 && (
          <TextField
            label={t.search}
            hideLabel
            placeholder={t.search}
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
            className="p-2"
          />
        )}
        <ScrollBox label={t.list} className="max-h-[60vh] overflow-y-auto p-1.5 lg:max-h-[calc(100vh-14rem)]">
          {found.length === 0 && <p className="px-2 py-1 text-sm text-ink-3">{t.none}</p>}
          {[...groups].map(([name, tables]) => (
            <div key={name} className="mb-1">
              {groups.size > 1 && <h3 className="px-2 py-1 font-mono text-xs text-ink-3">{name}</h3>}
              <ul>
                {tables.map((table) => (
                  <li key={table.name}>
                    <TableButton
                      table={table}
                      isChosen={table === chosen}
                      onChoose={() => {
                        setOpen(false)
                        onChoose(table)
                      }}
                    />
                  </li>
                ))}
              </ul>
            </div>
          ))}
          {schema.truncated && <p className="px-2 py-1 text-sm text-ink-3">{t.truncated}</p>}
        </ScrollBox>
      </div>
    </section>
  )
}

function TableButton({ table, isChosen, onChoose }: { table: DatabaseTable; isChosen: boolean; onChoose: () => void }) {
  const Icon = table.kind === 'table' ? Table2 : Eye
  return (
    <button
      type="button"
      aria-current={isChosen ? 'true' : undefined}
      onClick={onChoose}
      title={t.kinds[table.kind]}
      className={cx(
        'flex w-full min-w-0 items-center gap-2 rounded-md px-2 py-1 text-left text-sm',
        isChosen ? 'bg-accent-soft text-accent-ink' : 'text-ink hover:bg-hover',
      )}
    >
      <Icon aria-hidden className="size-3.5 shrink-0 text-ink-3" />
      <span className="min-w-0 flex-1 truncate font-mono">{table.name}</span>
      {table.rowEstimate !== null && table.rowEstimate > 0 && (
        <span className="numbers text-xs text-ink-3">~{formatCount(table.rowEstimate)}</span>
      )}
    </button>
  )
}
