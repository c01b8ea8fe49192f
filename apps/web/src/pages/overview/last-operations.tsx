import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { projectOperationsQuery } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { formatElapsed } from '../../lib/format.ts'
import { OperationFailure } from '../../modules/operation-progress.tsx'
import { OperationStateIcon } from '../../modules/state-pill.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.overview

/** Why the project is not up, when the last thing that was done to it failed. */
export function LastFailure({ project }: { project: ProjectView }) {
  const last = useQuery(projectOperationsQuery(project.id)).data?.[0]
  if (project.operation !== null || last === undefined || last.state !== 'failed') return null
  const failedStep = last.steps.find((step) => step.state === 'failed')
  return (
    <Panel
      title={texts.operations.failedTitle(texts.operations.kinds[last.kind])}
      detail={failedStep && texts.operations.failedAt(failedStep.title)}
      actions={
        <Link to="/operations/$operation" params={{ operation: last.id }} className={buttonClass('secondary', 'sm')}>
          {texts.operations.details}
        </Link>
      }
    >
      <OperationFailure
        operation={last}
        withTail={project.status.workloads.every((workload) => workload.logTail.length === 0)}
      />
    </Panel>
  )
}

export function LastOperations({ project }: { project: ProjectView }) {
  const query = useQuery(projectOperationsQuery(project.id))
  return (
    <Panel title={t.lastOperations} flush>
      <Loaded query={query} rows={3} height="h-7">
        {(data) =>
          data.length === 0 ? (
            <p className="p-4 text-ink-2">{texts.operations.none}</p>
          ) : (
            <ul className="divide-y divide-line">
              {data.map((operation) => (
                <li key={operation.id}>
                  <Link
                    to="/operations/$operation"
                    params={{ operation: operation.id }}
                    className="flex h-9 items-center gap-2.5 px-4 hover:bg-hover focus-visible:-outline-offset-2"
                  >
                    <OperationStateIcon state={operation.state} />
                    <span className="min-w-0 flex-1 truncate">
                      {texts.operations.kinds[operation.kind]}{' '}
                      <span className="text-ink-3">{texts.operations.by(operation.actor)}</span>
                    </span>
                    {operation.startedAt !== null && operation.finishedAt !== null && (
                      <span className="numbers text-sm text-ink-3">
                        {formatElapsed(Date.parse(operation.finishedAt) - Date.parse(operation.startedAt))}
                      </span>
                    )}
                    <span className="text-sm text-ink-3">
                      <TimeAgo time={operation.createdAt} />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  )
}
