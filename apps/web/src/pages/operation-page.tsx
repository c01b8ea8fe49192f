import type { OperationRecord } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { CircleCheck, ExternalLink as OpenIcon } from 'lucide-react'
import { isStatus } from '../api/client.ts'
import { operationQuery, projectQuery } from '../api/queries.ts'
import { buttonClass } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { formatElapsed } from '../lib/format.ts'
import { isOver } from '../lib/live.ts'
import { CancelOperation, OperationFailure, OperationSteps, ProgressBar } from '../modules/operation-progress.tsx'
import { OperationStatePill } from '../modules/state-pill.tsx'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

const t = texts.operations

/** One operation from its first step to its end; a creation ends on the running URL. */
export function OperationPage() {
  const { operation: id } = useParams({ from: '/app/operations/$operation' })
  const query = useQuery(operationQuery(id))
  if (query.isPending) return <SkeletonList rows={5} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return <Operation operation={query.data} />
}

function Operation({ operation }: { operation: OperationRecord }) {
  const query = useQuery({ ...projectQuery(operation.project ?? ''), enabled: operation.project !== null })
  const project = query.data
  const running = isOver(operation) ? t.kinds[operation.kind] : t.now[operation.kind]
  const title = project === undefined ? running : `${running}: ${project.name}`
  useTitle(title)
  const up = project !== undefined && (project.status.state === 'running' || project.status.state === 'degraded')
  const brings = operation.state === 'succeeded' && operation.kind !== 'stop' && operation.kind !== 'delete'
  return (
    <div className="flex w-full max-w-3xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={title}
        detail={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <OperationStatePill state={operation.state} />
            <span>{t.by(operation.actor)}</span>
            <TimeAgo time={operation.createdAt} />
            {operation.startedAt !== null && operation.finishedAt !== null && (
              <span className="numbers">
                {t.took(formatElapsed(Date.parse(operation.finishedAt) - Date.parse(operation.startedAt)))}
              </span>
            )}
          </span>
        }
        actions={
          <>
            <CancelOperation operation={operation} />
            {project !== undefined && (
              <Link to="/projects/$project" params={{ project: project.slug }} className={buttonClass()}>
                {t.openProject}
              </Link>
            )}
          </>
        }
      />
      {!isOver(operation) && <ProgressBar operation={operation} />}
      {project !== undefined && up && brings && project.url !== '' && (
        <section className="flex animate-appear flex-wrap items-center gap-x-4 gap-y-3 rounded-lg border border-good/30 bg-good-soft p-4">
          <CircleCheck aria-hidden className="size-6 shrink-0 text-good" />
          <div className="min-w-0 flex-1 basis-56">
            <h2 className="text-base font-semibold">{t.readyTitle(project.name)}</h2>
            <p className="flex items-center gap-1 text-ink-2">
              <span className="truncate">
                {t.readyDetail} <code className="text-ink">{project.url}</code>
              </span>
              <CopyButton text={project.url} label={texts.project.copyUrl} />
            </p>
          </div>
          <a href={project.url} target="_blank" rel="noreferrer" className={buttonClass('primary')}>
            {texts.common.open}
            <OpenIcon aria-hidden className="size-3.5" />
            <span className="sr-only">{texts.common.opensInNewTab}</span>
          </a>
        </section>
      )}
      {operation.state === 'failed' && (
        <OperationFailure
          operation={operation}
          withTail={!operation.steps.some((step) => step.state === 'failed' && step.output.length > 0)}
        />
      )}
      {isStatus(query.error, 404) && <p className="text-ink-2">{t.gone}</p>}
      <Panel title={t.steps}>
        <OperationSteps operation={operation} />
      </Panel>
    </div>
  )
}
