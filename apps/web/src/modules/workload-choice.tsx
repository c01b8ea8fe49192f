import type { ProjectView } from '@stackquay/contract'
import { SelectField } from '../components/field.tsx'
import { texts } from '../texts/index.ts'

interface WorkloadChoiceProps {
  project: ProjectView
  label: string
  /** Empty for what owns the project's URL. */
  value: string
  onChange: (workload: string) => void
  error: string | null
}

/** Which workload answers; only those with a page are offered. Nothing where there is nothing to choose. */
export function WorkloadChoice({ project, label, value, onChange, error }: WorkloadChoiceProps) {
  const pages = project.status.workloads.filter(({ ports }) => ports.some(({ name }) => name === 'http'))
  if (pages.length < 2 && error === null) return null
  return (
    <SelectField label={label} value={value} onChange={(event) => onChange(event.target.value)} error={error}>
      <option value="">{texts.network.front}</option>
      {pages.map(({ name, title }) => (
        <option key={name} value={name}>
          {title}
        </option>
      ))}
    </SelectField>
  )
}
