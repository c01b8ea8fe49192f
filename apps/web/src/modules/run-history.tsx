import type { Run } from '@stackquay/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { History } from 'lucide-react'
import { runsQuery } from '../api/runs.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { Panel } from '../components/panel.tsx'
import { Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { texts } from '../texts/index.ts'
import { RunExit, RunTime } from './run-facts.tsx'
import { OperationStatePill } from './state-pill.tsx'

const t = texts.runs

const pages = {
  action: '/projects/$project/actions',
  test: '/projects/$project/tests',
  cron: '/projects/$project/workers',
} as const

/** What was run, newest first. Opened, a run stands under the same address as when it was started. */
export function RunHistory({ project, slug, kind }: { project: string; slug: string; kind: Run['kind'] }) {
  const query = useInfiniteQuery(runsQuery(project, kind))
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <Panel title={t.history} flush>
      <Loaded query={query} rows={3} height="h-9">
        {() =>
          runs.length === 0 ? (
            <EmptyState icon={History} title={t.noRuns} detail={t.noRunsDetail} />
          ) : (
            <Table
              label={t.history}
              head={[
                { title: t.columns.run },
                { title: t.columns.state },
                kind === 'test' ? { title: t.columns.tests } : null,
                { title: t.columns.exit },
                { title: t.columns.took, end: true },
                { title: t.columns.who },
                { title: t.columns.when },
              ]}
            >
              {runs.map((run) => (
                <tr key={run.id} className="hover:bg-hover/60">
                  <Cell className="max-w-72 min-w-40">
                    <Link
                      to={pages[kind]}
                      params={{ project: slug }}
                      search={{ run: run.id }}
                      className="block truncate rounded font-medium hover:underline"
                    >
                      {kind === 'cron' ? run.name : run.label}
                    </Link>
                    {run.filter !== null && <code className="block truncate text-sm text-ink-3">{run.filter}</code>}
                  </Cell>
                  <Cell>
                    <OperationStatePill state={run.state} />
                  </Cell>
                  {kind === 'test' && (
                    <Cell className="numbers whitespace-nowrap">
                      {run.tests === null ? '–' : t.counts(run.tests.passed, run.tests.total)}
                    </Cell>
                  )}
                  <Cell className="text-ink-2">
                    <RunExit run={run} />
                  </Cell>
                  <Cell end className="text-ink-2">
                    <RunTime run={run} />
                  </Cell>
                  <Cell className="text-ink-2">{run.actor}</Cell>
                  <Cell className="text-ink-2">
                    <TimeAgo time={run.createdAt} />
                  </Cell>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      <MoreButton query={query} />
    </Panel>
  )
}
