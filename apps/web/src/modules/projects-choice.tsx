import { useQuery } from '@tanstack/react-query'
import { projectsQuery } from '../api/queries.ts'
import { Check, Segments } from '../components/field.tsx'

interface ProjectsChoiceProps {
  label: string
  /** Labels of the two ways. */
  all: string
  some: string
  extent: 'all' | 'some'
  onExtent: (extent: 'all' | 'some') => void
  /** Ids; they hold for the extent `some`. */
  chosen: readonly string[]
  onChosen: (chosen: readonly string[]) => void
  error: string | null
}

/** All projects, or some of them. */
export function ProjectsChoice({ label, all, some, extent, onExtent, chosen, onChosen, error }: ProjectsChoiceProps) {
  const projects = useQuery(projectsQuery).data ?? []
  return (
    <div className="flex flex-col gap-2">
      <p className="text-sm font-medium">{label}</p>
      <Segments
        label={label}
        value={extent}
        onChange={onExtent}
        options={[
          { value: 'all', label: all },
          { value: 'some', label: some },
        ]}
      />
      {extent === 'some' && (
        <div className="scroll-thin flex max-h-44 flex-col gap-1.5 overflow-y-auto rounded-md border border-line p-3">
          {projects.map(({ id, name }) => (
            <Check
              key={id}
              label={name}
              checked={chosen.includes(id)}
              onChange={(checked) => onChosen(checked ? [...chosen, id] : chosen.filter((other) => other !== id))}
            />
          ))}
        </div>
      )}
      {error !== null && <p className="text-sm text-bad">{error}</p>}
    </div>
  )
}
