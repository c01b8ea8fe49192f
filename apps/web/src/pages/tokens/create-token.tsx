import type { Scope } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { meQuery, projectsQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Choices } from '../../components/choices.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { includes } from '../../lib/token-powers.ts'
import { ProjectsChoice } from '../../modules/projects-choice.tsx'
import { TokenPowers } from '../../modules/token-powers-view.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import type { TokenCreated } from './created-token.tsx'

const t = texts.tokens

const expiryDays = { never: null, days7: 7, days30: 30, days90: 90, year: 365 } as const

type Expiry = keyof typeof expiryDays

const scopeOrder = ['read', 'operate', 'admin'] as const satisfies readonly Scope[]

export function CreateToken({ onClose, onCreated }: { onClose: () => void; onCreated: (token: TokenCreated) => void }) {
  const projects = useQuery(projectsQuery).data ?? []
  const role = useQuery(meQuery).data?.role ?? 'operate'
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Scope>(role === 'read' ? 'read' : 'operate')
  const [extent, setExtent] = useState<'all' | 'some'>('all')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [expiry, setExpiry] = useState<Expiry>('days90')
  const [tried, setTried] = useState(false)
  const { busy, error, problem, run } = useSubmit()
  const noneChosen = extent === 'some' && chosen.length === 0

  const submit = async () => {
    setTried(true)
    if (noneChosen) return
    const days = expiryDays[expiry]
    await run(async () => {
      onCreated(
        await client.call('createToken', {
          body: {
            name,
            scope,
            projects: extent === 'all' ? [] : [...chosen],
            expiresAt: days === null ? null : new Date(Date.now() + days * 86_400_000).toISOString(),
          },
        }),
      )
    })
  }
  return (
    <Form onSubmit={submit}>
      <div className="grid items-start gap-x-6 gap-y-4 sm:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-4">
          <TextField
            label={t.name}
            help={t.nameHelp}
            required
            autoFocus
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={errorsAt(problem?.errors, '/name')}
          />
          <ScopeChoice value={scope} onChange={setScope} role={role} />
          <ProjectsChoice
            label={t.projects}
            all={t.allProjects}
            some={t.someProjects}
            extent={extent}
            onExtent={setExtent}
            chosen={chosen}
            onChosen={setChosen}
            error={tried && noneChosen ? t.chooseOne : null}
          />
          <ExpirySelect value={expiry} onChange={setExpiry} error={errorsAt(problem?.errors, '/expiresAt')} />
        </div>
        <TokenPowers
          scope={scope}
          projects={
            extent === 'all'
              ? null
              : projects.filter((project) => chosen.includes(project.id)).map((project) => project.name)
          }
        />
      </div>
      {problem !== null && <ErrorNote error={error} hideErrors={['/name', '/expiresAt']} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.submit}
        </Button>
      </DialogActions>
    </Form>
  )
}

interface ScopeChoiceProps {
  value: Scope
  onChange: (scope: Scope) => void
  /** Of the person: a token may do no more. */
  role: Scope
}

function ScopeChoice({ value, onChange, role }: ScopeChoiceProps) {
  return (
    <Choices
      label={t.scope}
      value={value}
      onChange={onChange}
      options={scopeOrder
        .filter((option) => includes(role, option))
        .map((scope) => ({ value: scope, label: t.scopes[scope].label, help: t.scopes[scope].help }))}
    />
  )
}

interface ExpirySelectProps {
  value: Expiry
  onChange: (expiry: Expiry) => void
  error: string | null
}

function ExpirySelect({ value, onChange, error }: ExpirySelectProps) {
  return (
    <SelectField
      label={t.expiry}
      value={value}
      onChange={(event) => onChange(event.target.value as Expiry)}
      error={error}
    >
      {(Object.keys(expiryDays) as Expiry[]).map((option) => (
        <option key={option} value={option}>
          {t.expiries[option]}
        </option>
      ))}
    </SelectField>
  )
}
