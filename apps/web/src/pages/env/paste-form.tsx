import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { setVariables } from '../../api/changes.ts'
import { projectEnvQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextArea } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { parseDotEnv } from '../../lib/env-names.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { EnvPlan } from './env-plan.tsx'

const t = texts.env

export function PasteForm({ project, onClose }: { project: string; onClose: () => void }) {
  const query = useQuery(projectEnvQuery(project))
  const [text, setText] = useState('')
  const { busy, error, run } = useSubmit()
  const { variables, ignored } = parseDotEnv(text)
  const env = Object.fromEntries(variables.map(({ name, value }) => [name, value]))
  const count = Object.keys(env).length

  const submit = async () => {
    await run(async () => {
      await setVariables(project, env)
      await query.refetch()
      toastDone(t.many(count))
      onClose()
    })
  }
  return (
    <Form onSubmit={submit}>
      <TextArea
        label={t.pasteField}
        mono
        rows={10}
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
        help={
          text === ''
            ? undefined
            : `${t.pasteFound(count)}${ignored.length > 0 ? `; ${t.pasteIgnored(ignored.length)}` : ''}.`
        }
      />
      {count > 0 && <EnvPlan project={project} env={env} />}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={count === 0}>
          {t.pasteSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}
