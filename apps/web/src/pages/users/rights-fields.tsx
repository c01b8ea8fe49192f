import type { Scope } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { projectsQuery } from '../../api/queries.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Choices } from '../../components/choices.tsx'
import { SelectField } from '../../components/field.tsx'
import type { RightsDraft } from '../../lib/rights.ts'
import { ProjectsChoice } from '../../modules/projects-choice.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.users.rights

const scopes = ['read', 'operate', 'admin'] as const satisfies readonly Scope[]
const roles = [
  ...scopes.map((value) => ({ value, label: texts.roles[value].label, help: texts.roles[value].help })),
  { value: 'none' as const, ...t.none },
]

interface RightsFieldsProps {
  value: RightsDraft
  onChange: (value: RightsDraft) => void
  errorAt: (pointer: string) => string | null
}

/** The role of a person, where it holds, and on which projects another one does. */
export function RightsFields({ value, onChange, errorAt }: RightsFieldsProps) {
  const { role, extent, projects } = value
  const isAdminOfAll = role === 'admin' && extent === 'all'
  return (
    <>
      <Choices
        label={texts.roles.label}
        value={role}
        onChange={(next) => onChange({ ...value, role: next })}
        options={roles}
      />
      {role !== 'none' && (
        <div className="flex flex-col gap-1">
          <ProjectsChoice
            label={t.where}
            all={t.all}
            some={t.some}
            extent={extent}
            onExtent={(next) => onChange({ ...value, extent: next })}
            chosen={projects}
            onChosen={(next) => onChange({ ...value, projects: next })}
            error={errorAt('/projects')}
          />
          {extent === 'some' && <p className="text-sm text-ink-3">{t.limited}</p>}
        </div>
      )}
      {!isAdminOfAll && <ProjectRoles value={value} onChange={onChange} error={errorAt('/projectRoles')} />}
    </>
  )
}

function ProjectRoles({ value, onChange, error }: Omit<RightsFieldsProps, 'errorAt'> & { error: string | null }) {
  const projects = useQuery(projectsQuery).data ?? []
  const { projectRoles } = value
  const set = (next: RightsDraft['projectRoles']) => onChange({ ...value, projectRoles: next })
  const free = projects.filter(({ id }) => !projectRoles.some(({ project }) => project === id))
  const nameOf = (id: string) => projects.find((one) => one.id === id)?.name ?? t.gone
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="text-sm font-medium">{t.own}</legend>
      {projectRoles.length > 0 && <p className="text-sm text-ink-2">{t.ownHelp}</p>}
      {projectRoles.map((one, index) => {
        const change = (to: Partial<typeof one>) =>
          set(projectRoles.map((other, at) => (at === index ? { ...other, ...to } : other)))
        return (
          <div key={one.project} className="flex min-w-0 items-center gap-2">
            <SelectField
              label={t.project}
              hideLabel
              className="flex-1"
              value={one.project}
              onChange={(event) => change({ project: event.target.value })}
            >
              {one.project === '' && <option value="">{t.choose}</option>}
              {one.project !== '' && <option value={one.project}>{nameOf(one.project)}</option>}
              {free.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </SelectField>
            <SelectField
              label={t.role}
              hideLabel
              className="w-36"
              value={one.role}
              onChange={(event) => change({ role: event.target.value as Scope })}
            >
              {scopes.map((scope) => (
                <option key={scope} value={scope}>
                  {texts.roles[scope].label}
                </option>
              ))}
            </SelectField>
            <IconButton
              icon={X}
              label={t.remove(one.project === '' ? t.choose : nameOf(one.project))}
              onClick={() => set(projectRoles.filter((_, at) => at !== index))}
            />
          </div>
        )
      })}
      {error !== null && <p className="text-sm text-bad">{error}</p>}
      <Button
        size="sm"
        icon={Plus}
        className="self-start"
        disabled={free.length === 0 || projectRoles.some(({ project }) => project === '')}
        onClick={() => set([...projectRoles, { project: '', role: 'operate' }])}
      >
        {t.add}
      </Button>
    </fieldset>
  )
}
