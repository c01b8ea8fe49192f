import type { OperationRecord } from '@stackquay/contract'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Activity as ActivityIcon } from 'lucide-react'
import { operationsQuery, projectsQuery } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Segments } from '../components/field.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { formatElapsed } from '../lib/format.ts'
import { OperationStatePill } from '../modules/state-pill.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { AuditView } from './audit-view.tsx'
import { useTitle } from './use-title.ts'

const t = texts.activity

export function ActivityPage() {
  useTitle(t.title)
  const { view } = useSearch({ from: '/app/activity' })
  const navigate = useNavigate()
  const mayAudit = useMay()('admin')
  const shown = mayAudit ? (view ?? 'operations') : 'operations'
  return (
    <div className="flex w-full max-w-[96rem] flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.title}
        actions={
          mayAudit && (
            <Segments
              label={t.views}
              value={shown}
              onChange={(next) =>
                void navigate({ to: '/activity', search: next === 'audit' ? { view: 'audit' } : {}, replace: true })
              }
              options={[
                { value: 'operations', label: t.operations },
                { value: 'audit', label: t.audit },
              ]}
            />
          )
        }
      />
      {shown === 'operations' ? <Operations /> : <AuditView />}
    </div>
  )
}

function Operations() {
  const query = useInfiniteQuery(operationsQuery)
  const projects = useQuery(projectsQuery).data ?? []
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  if (query.isPending) return <SkeletonList rows={6} height="h-9" />
  if (query.isError && items.length === 0)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <Panel flush>
      {items.length === 0 ? (
        <EmptyState icon={ActivityIcon} title={t.noOperations} detail={t.noOperationsDetail} />
      ) : (
        <Table
          label={t.operations}
          head={[
            { title: t.columns.operation },
            { title: t.columns.project },
            { title: t.columns.state },
            { title: t.columns.actor },
            { title: t.columns.took, end: true },
            { title: t.columns.time, end: true },
          ]}
        >
          {items.map((operation) => (
            <OperationRow
              key={operation.id}
              operation={operation}
              project={projects.find((project) => project.id === operation.project)}
            />
          ))}
        </Table>
      )}
      <MoreButton query={query} />
    </Panel>
  )
}

function OperationRow({
  operation,
  project,
}: {
  operation: OperationRecord
  project: { name: string; slug: string } | undefined
}) {
  return (
    <tr className="hover:bg-hover/60">
      <Cell>
        <Link
          to="/operations/$operation"
          params={{ operation: operation.id }}
          className="rounded font-medium hover:underline"
        >
          {texts.operations.kinds[operation.kind]}
        </Link>
      </Cell>
      <Cell className="max-w-64">
        {project ? (
          <Link
            to="/projects/$project"
            params={{ project: project.slug }}
            className="block truncate rounded hover:underline"
          >
            {project.name}
          </Link>
        ) : (
          <code className="text-ink-3">{operation.project}</code>
        )}
      </Cell>
      <Cell>
        <OperationStatePill state={operation.state} />
      </Cell>
      <Cell className="whitespace-nowrap">{operation.actor}</Cell>
      <Cell end className="numbers whitespace-nowrap text-ink-2">
        {operation.startedAt !== null && operation.finishedAt !== null
          ? formatElapsed(Date.parse(operation.finishedAt) - Date.parse(operation.startedAt))
          : '–'}
      </Cell>
      <Cell end className="text-ink-2">
        <TimeAgo time={operation.createdAt} />
      </Cell>
    </tr>
  )
}
