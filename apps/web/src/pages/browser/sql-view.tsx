import type { ProjectView } from '@stackquay/contract'
import { Download, Play, Save, Square, Waypoints } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { fileOf } from '../../api/client.ts'
import {
  type DatabaseSchema,
  type QueryBody,
  type QueryPlan,
  type QueryResult,
  runQuery,
} from '../../api/database-browser.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Switch } from '../../components/field.tsx'
import { SkeletonList } from '../../components/skeleton.tsx'
import { texts } from '../../texts/index.ts'
import { Grid } from './grid.tsx'
import { PlanTree } from './plan-tree.tsx'
import { SavedQueries } from './saved-queries.tsx'

const t = texts.browser.statement
const SqlEditor = lazy(() => import('./sql-editor.tsx').then((module) => ({ default: module.SqlEditor })))

/** What was typed, until the page is left: it may hold what belongs in no storage. */
const drafts = new Map<string, string>()

interface SqlViewProps {
  project: ProjectView
  database: string
  schema: DatabaseSchema
}

/** One statement and what it answers. It reads alone until somebody says otherwise. */
export function SqlView({ project, database, schema }: SqlViewProps) {
  const ref = { project: project.id, database }
  const [sql, setText] = useState(() => drafts.get(`${project.id}/${database}`) ?? '')
  const setSql = (text: string) => {
    drafts.set(`${project.id}/${database}`, text)
    setText(text)
  }
  const [write, setWrite] = useState(false)
  const [result, setResult] = useState<QueryResult | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isRunning, setRunning] = useState(false)
  const [isSaving, setSaving] = useState(false)
  const abort = useRef<AbortController | null>(null)
  const run = async (more: Pick<QueryBody, 'explain'> = {}) => {
    if (sql.trim() === '' || abort.current !== null) return
    const running = new AbortController()
    abort.current = running
    setRunning(true)
    setError(null)
    try {
      setResult(await runQuery(ref, { sql, write, ...more }, running.signal))
    } catch (failure) {
      setResult(null)
      if (!running.signal.aborted) setError(failure)
    } finally {
      abort.current = null
      setRunning(false)
    }
  }
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <section aria-label={t.label} className="min-w-0 rounded-lg border border-line bg-surface">
        <Suspense fallback={<SkeletonList rows={3} />}>
          <SqlEditor label={t.label} value={sql} onChange={setSql} onRun={() => void run()} schema={schema} />
        </Suspense>
        <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2">
          {isRunning ? (
            <Button icon={Square} onClick={() => abort.current?.abort()}>
              {texts.common.cancel}
            </Button>
          ) : (
            <Button
              icon={Play}
              look={write ? 'danger' : 'primary'}
              disabled={sql.trim() === ''}
              onClick={() => void run()}
            >
              {write ? t.runWriting : t.run}
            </Button>
          )}
          <Button
            icon={Waypoints}
            disabled={isRunning || sql.trim() === ''}
            onClick={() => void run({ explain: 'plan' })}
          >
            {t.explain}
          </Button>
          <Button icon={Save} disabled={sql.trim() === ''} onClick={() => setSaving(true)}>
            {t.save}
          </Button>
          <SavedQueries database={ref} sql={sql} saving={isSaving} onSaved={() => setSaving(false)} onChoose={setSql} />
          <Switch label={t.write} checked={write} onChange={setWrite} className="ml-auto" />
        </div>
        {write && <p className="border-t border-line bg-warn-soft px-3 py-1.5 text-sm">{t.writeNote}</p>}
      </section>
      {error !== null && <ErrorNote error={error} />}
      {result !== null && <Result result={result} project={project.id} database={database} sql={sql} />}
    </div>
  )
}

function Result({
  result,
  project,
  database,
  sql,
}: {
  result: QueryResult
  project: string
  database: string
  sql: string
}) {
  const [error, setError] = useState<unknown>(null)
  const { columns, rows, plan } = result
  const save = async (format: 'csv' | 'json') => {
    setError(null)
    try {
      await saveResult(project, database, sql, format)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <section aria-label={t.result} className="min-w-0 rounded-lg border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-2 px-3 py-2">
        <p role="status" className="numbers min-w-0 flex-1 text-sm text-ink-2">
          {t.told(result.command, columns.length === 0 ? result.affected : rows.length, result.milliseconds)}
          {result.truncated !== null && ` · ${t.truncated[result.truncated]}`}
        </p>
        {columns.length > 0 && result.affected === null && (
          <>
            <Button size="sm" icon={Download} onClick={() => void save('csv')}>
              {t.csv}
            </Button>
            <Button size="sm" icon={Download} onClick={() => void save('json')}>
              {t.json}
            </Button>
          </>
        )}
      </div>
      {error !== null && <ErrorNote error={error} />}
      {plan !== null && <PlanTree plan={plan as QueryPlan} />}
      {columns.length > 0 && <Grid label={t.result} columns={columns} rows={rows} />}
    </section>
  )
}

/** A statement is no address, so its answer is held until it is whole. */
async function saveResult(project: string, database: string, sql: string, format: 'csv' | 'json'): Promise<void> {
  const path = `/projects/${encodeURIComponent(project)}/databases/${database}/query/export`
  const url = URL.createObjectURL(await fileOf(path, { sql, format }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${database}.${format}`
  link.click()
  URL.revokeObjectURL(url)
}
