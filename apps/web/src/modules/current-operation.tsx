import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { operationQuery } from '../api/queries.ts'
import { Panel } from '../components/panel.tsx'
import { texts } from '../texts/index.ts'
import { CancelOperation, OperationSteps, ProgressBar } from './operation-progress.tsx'

/** The record in the project is what was true when it was read; the one under its own key follows the events. */
export function CurrentOperation({ project }: { project: ProjectView }) {
  const id = project.operation?.id
  const live = useQuery({ ...operationQuery(id ?? ''), enabled: id !== undefined }).data
  const operation = live ?? project.operation
  if (project.operation === null || operation === null) return null
  return (
    <Panel
      title={
        <Link to="/operations/$operation" params={{ operation: operation.id }} className="rounded hover:underline">
          {texts.operations.now[operation.kind]}
        </Link>
      }
      detail={texts.operations.by(operation.actor)}
      actions={<CancelOperation operation={operation} />}
    >
      <ProgressBar operation={operation} />
      <div className="mt-3">
        <OperationSteps operation={operation} />
      </div>
    </Panel>
  )
}
