import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ArrowLeft, Table2 } from 'lucide-react'
import { type DatabaseTable, schemaQuery } from '../api/database-browser.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { Segments } from '../components/field.tsx'
import { Loaded } from '../components/loaded.tsx'
import type { BrowserSearch } from '../lib/browser-search.ts'
import { texts } from '../texts/index.ts'
import { RowsView } from './browser/rows-view.tsx'
import { SchemaTree } from './browser/schema-tree.tsx'
import { SqlView } from './browser/sql-view.tsx'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.browser
const from = '/app/projects/$project/databases/$database/browse' as const

/** What is in a database: its tables at the left, rows or a statement beside them. */
export function DatabaseBrowserPage() {
  const project = useProject()
  const { database } = useParams({ from })
  const search = useSearch({ from })
  const navigate = useNavigate()
  useTitle(project.name, t.title(database))
  const ref = { project: project.id, database }
  const query = useQuery(schemaQuery(ref))
  const go = (next: BrowserSearch) =>
    void navigate({
      to: '/projects/$project/databases/$database/browse',
      params: { project: project.slug, database },
      search: next,
    })
  const isSql = search.view === 'sql'
  return (
    <div className="flex w-full min-w-0 flex-col gap-3 px-4 py-4 sm:px-6">
      <Head
        project={project.slug}
        database={database}
        isSql={isSql}
        onSql={(next) => {
          const { view: _, ...rest } = search
          go(next ? { ...rest, view: 'sql' } : rest)
        }}
      />
      <Loaded query={query} rows={6}>
        {(schema) => {
          const table = tableOf(schema.tables, search, schema.defaultSchema)
          return (
            <div className="flex min-w-0 flex-col gap-3 lg:flex-row lg:items-start">
              <SchemaTree
                schema={schema}
                chosen={isSql ? null : table}
                folded={isSql || table !== null}
                onChoose={(next) => go({ schema: next.schema, table: next.name })}
                onAgain={() => void query.refetch()}
              />
              <div className="min-w-0 flex-1">
                {isSql ? (
                  <SqlView project={project} database={database} schema={schema} />
                ) : table === null ? (
                  <div className="rounded-lg border border-dashed border-line-strong/60">
                    <EmptyState
                      icon={Table2}
                      title={schema.tables.length === 0 ? t.emptyTitle : t.chooseTitle}
                      detail={schema.tables.length === 0 ? t.emptyDetail : t.chooseDetail}
                    />
                  </div>
                ) : (
                  <RowsView
                    key={`${table.schema}.${table.name}`}
                    database={ref}
                    table={table}
                    search={search}
                    onSearch={(next) => go({ schema: table.schema, table: table.name, ...next })}
                    onFollow={go}
                  />
                )}
              </div>
            </div>
          )
        }}
      </Loaded>
    </div>
  )
}

interface HeadProps {
  project: string
  database: string
  isSql: boolean
  onSql: (isSql: boolean) => void
}

function Head({ project, database, isSql, onSql }: HeadProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <Link
        to="/projects/$project/databases"
        params={{ project }}
        className="inline-flex items-center gap-1 text-sm text-ink-2 hover:text-ink"
      >
        <ArrowLeft aria-hidden className="size-3.5" />
        {texts.project.tabs.databases}
      </Link>
      <h2 className="min-w-0 flex-1 truncate font-mono text-base font-semibold">{database}</h2>
      <Segments
        label={t.view}
        options={[
          { value: 'rows', label: t.rows },
          { value: 'sql', label: t.sql },
        ]}
        value={isSql ? 'sql' : 'rows'}
        onChange={(view) => onSql(view === 'sql')}
      />
    </div>
  )
}

function tableOf(
  tables: readonly DatabaseTable[],
  { schema, table }: BrowserSearch,
  usual: string,
): DatabaseTable | null {
  return tables.find((one) => one.name === table && one.schema === (schema ?? usual)) ?? null
}
