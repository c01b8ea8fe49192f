import type { ProjectView, TestSuite } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { FlaskConical, Play } from 'lucide-react'
import { useState } from 'react'
import { runTests, testsQuery } from '../api/runs.ts'
import { Button } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { SelectField, TextField } from '../components/field.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastProblem } from '../components/toast.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { RunTime } from '../modules/run-facts.tsx'
import { RunHistory } from '../modules/run-history.tsx'
import { RunPage } from '../modules/run-page.tsx'
import { OperationStatePill } from '../modules/state-pill.tsx'
import { TestResults } from '../modules/test-results.tsx'
import { TestTrend } from '../modules/test-trend.tsx'
import { useMay } from '../modules/use-may.ts'
import { useStartRun } from '../modules/use-start-run.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.tests

/** Suites found in the source and how they did; with a run in the address, that run. */
export function TestsPage() {
  const project = useProject()
  const { run } = useSearch({ from: '/app/projects/$project/tests' })
  useTitle(project.name, texts.project.tabs.tests)
  return run === undefined ? <Suites project={project} /> : <TestRun key={run} project={project} id={run} />
}

function useStart(project: ProjectView) {
  const { busy, start } = useStartRun(project, 'tests')
  return {
    busy,
    start: (suite: string, filter: string) =>
      start(suite, () => runTests(project.id, suite, filter)).catch(toastProblem),
  }
}

function Suites({ project }: { project: ProjectView }) {
  const query = useQuery(testsQuery(project.id))
  const { busy, start } = useStart(project)
  const [chosen, setChosen] = useState<string | null>(null)
  const suites = query.data?.suites ?? []
  const trendSuite = suites.find((suite) => suite.id === chosen) ?? suites[0]
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <h2 className="sr-only">{texts.project.tabs.tests}</h2>
      <Loaded query={query} rows={4}>
        {(data) =>
          suites.length === 0 ? (
            <Panel>
              <EmptyState icon={FlaskConical} title={t.emptyTitle} detail={t.emptyDetail} />
            </Panel>
          ) : (
            <>
              <Panel title={t.suites} detail={t.testData} flush>
                <ul className="divide-y divide-line">
                  {suites.map((suite) => (
                    <SuiteRow
                      key={suite.id}
                      suite={suite}
                      project={project}
                      busy={busy === suite.id}
                      onRun={(filter) => void start(suite.id, filter)}
                    />
                  ))}
                </ul>
              </Panel>
              <Panel
                title={t.trend}
                actions={
                  suites.length > 1 && (
                    <SelectField
                      label={t.suite}
                      hideLabel
                      value={trendSuite?.id}
                      onChange={(event) => setChosen(event.target.value)}
                    >
                      {suites.map((suite) => (
                        <option key={suite.id} value={suite.id}>
                          {suite.label}
                        </option>
                      ))}
                    </SelectField>
                  )
                }
              >
                {trendSuite !== undefined && <TestTrend runs={data.runs} suite={trendSuite.id} slug={project.slug} />}
              </Panel>
            </>
          )
        }
      </Loaded>
      <RunHistory project={project.id} slug={project.slug} kind="test" />
    </div>
  )
}

function SuiteRow({
  suite,
  project,
  busy,
  onRun,
}: {
  suite: TestSuite
  project: ProjectView
  busy: boolean
  onRun: (filter: string) => void
}) {
  const [filter, setFilter] = useState('')
  const may = useMay()
  const last = suite.lastRun
  const reason = engineReason(project)
  return (
    <li className="flex flex-wrap items-start gap-x-6 gap-y-3 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-2">
          <span className="font-medium break-words">{suite.label}</span>
          <code className="text-ink-3">{suite.runner}</code>
        </p>
        <p className="text-sm break-words text-ink-2">{suite.because}</p>
        {!suite.available && <p className="text-sm break-words text-warn">{suite.reason ?? t.unavailable}</p>}
        {last !== null && (
          <p className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-ink-2">
            <OperationStatePill state={last.state} />
            {last.tests !== null && <span className="numbers">{t.summary(last.tests)}</span>}
            <RunTime run={last} />
            <Link
              to="/projects/$project/tests"
              params={{ project: project.slug }}
              search={{ run: last.id }}
              className="rounded text-accent-ink hover:underline"
            >
              {t.lastRun} <TimeAgo time={last.createdAt} />
            </Link>
          </p>
        )}
      </div>
      {may('operate') && (
        <form
          className="flex min-w-0 flex-1 basis-64 items-end gap-2 sm:max-w-md"
          onSubmit={(event) => {
            event.preventDefault()
            onRun(filter)
          }}
        >
          <TextField
            label={t.filter}
            help={suite.filterHelp}
            value={filter}
            maxLength={500}
            mono
            spellCheck={false}
            disabled={!suite.available || reason !== null}
            onChange={(event) => setFilter(event.target.value)}
            className="flex-1"
            action={
              <Button type="submit" icon={Play} busy={busy} disabled={!suite.available} reason={reason}>
                {filter.trim() === '' ? t.run : t.runFiltered}
                <span className="sr-only"> {suite.label}</span>
              </Button>
            }
          />
        </form>
      )}
    </li>
  )
}

function TestRun({ project, id }: { project: ProjectView; id: string }) {
  const { busy, start } = useStart(project)
  const suites = useQuery(testsQuery(project.id)).data?.suites
  return (
    <RunPage
      project={project}
      id={id}
      list="tests"
      title={(run) => run.label}
      sourceOf={(run) => suites?.find((suite) => suite.id === run.name)}
      busy={busy !== null}
      onAgain={(suite, run) => void start(suite.id, run.filter ?? '')}
    >
      {(run) => <TestResults project={project.id} run={run} />}
    </RunPage>
  )
}
