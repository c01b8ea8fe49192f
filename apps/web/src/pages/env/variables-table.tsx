import type { ProjectView } from '@stackquay/contract'
import { Variable } from 'lucide-react'
import { revealVariable } from '../../api/changes.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Table } from '../../components/table.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { useLabels } from '../../modules/use-labels.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'
import { useReceivers } from './receivers.tsx'
import type { Editing } from './variable-form.tsx'
import { type ListedVariable, receiversText, VariableRow } from './variable-row.tsx'

const t = texts.env

interface VariablesTableProps {
  project: ProjectView
  variables: readonly (readonly [string, ListedVariable])[]
  /** When they were read. */
  readAt: number
  onEdit: (variable: Editing) => void
  onDelete: (name: string) => void
}

export function VariablesTable({ project, variables, readAt, onEdit, onDelete }: VariablesTableProps) {
  const mayChange = useMay()('operate')
  const reason = engineReason(project)
  const labels = useLabels(project.engine)
  const receivers = useReceivers(project)
  const several = receivers.length > 1 || variables.some(([, variable]) => variable.runtimes !== null)
  if (variables.length === 0) return <EmptyState icon={Variable} title={t.emptyTitle} detail={t.emptyDetail} />
  return (
    <Table
      label={t.title}
      head={[
        { title: t.columns.name },
        { title: t.columns.value },
        several ? { title: t.columns.receivers } : null,
        { title: t.columns.actions, hidden: true },
      ]}
    >
      {variables.map(([name, variable]) => (
        <VariableRow
          key={name}
          name={name}
          variable={variable}
          readAt={readAt}
          receivers={several ? receiversText(variable, labels) : null}
          reason={reason}
          mayChange={mayChange}
          reveal={() => revealVariable(project.id, name)}
          onEdit={() =>
            onEdit({
              name,
              value: variable.secret ? '' : (variable.value ?? ''),
              secret: variable.secret,
              runtimes: variable.runtimes,
            })
          }
          onDelete={() => onDelete(name)}
        />
      ))}
    </Table>
  )
}
