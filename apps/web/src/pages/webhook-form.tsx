import type { Webhook } from '@stackquay/contract'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { Button } from '../components/button.tsx'
import { DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { EventChoice } from '../modules/event-choice.tsx'
import { ProjectsChoice } from '../modules/projects-choice.tsx'
import { useSubmit } from '../modules/use-submit.ts'
import { texts } from '../texts/index.ts'

const t = texts.webhooks

type EventName = keyof typeof t.eventNames

/** Output of operations is for those who watch; it is never sent. */
const offered = (Object.keys(t.eventNames) as EventName[]).filter((name) => name !== 'operation.output')

interface WebhookFormProps {
  /** The one to change; null for a new one. */
  hook: Webhook | null
  onClose: () => void
  /** With the secret of a new one. */
  onDone: (secret: string | null) => void
}

export function WebhookForm({ hook, onClose, onDone }: WebhookFormProps) {
  const [name, setName] = useState(hook?.name ?? '')
  const [url, setUrl] = useState(hook?.url ?? '')
  const [events, setEvents] = useState<readonly string[]>(hook?.events ?? ['operation.changed', 'run.changed'])
  const [extent, setExtent] = useState<'all' | 'some'>((hook?.projects.length ?? 0) > 0 ? 'some' : 'all')
  const [chosen, setChosen] = useState<readonly string[]>(hook?.projects ?? [])
  const [tried, setTried] = useState(false)
  const { busy, error, problem, run } = useSubmit()
  const noneChosen = extent === 'some' && chosen.length === 0
  const incomplete = events.length === 0 || noneChosen

  const submit = async () => {
    setTried(true)
    if (incomplete) return
    const body = { name, url, events: events as EventName[], projects: extent === 'all' ? [] : [...chosen] }
    await run(async () => {
      if (hook === null) onDone((await client.call('createWebhook', { body })).secret)
      else {
        await client.call('updateWebhook', { params: { hook: hook.id }, body })
        onDone(null)
      }
    })
  }
  return (
    <Form onSubmit={submit}>
      <div className="grid items-start gap-x-6 gap-y-4 sm:grid-cols-2">
        <TextField
          label={t.name}
          required
          autoFocus
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={errorsAt(problem?.errors, '/name')}
        />
        <TextField
          label={t.url}
          help={t.urlHelp}
          required
          type="url"
          maxLength={2000}
          value={url}
          onChange={(event) => setUrl(event.target.value)}
          error={errorsAt(problem?.errors, '/url')}
        />
      </div>
      <EventChoice
        t={t}
        offered={offered}
        withNames
        chosen={events}
        onChange={setEvents}
        missing={tried && events.length === 0}
      />
      <ProjectsChoice
        label={t.projects}
        all={t.allProjects}
        some={t.someProjects}
        extent={extent}
        onExtent={setExtent}
        chosen={chosen}
        onChosen={setChosen}
        error={tried && noneChosen ? t.chooseProject : null}
      />
      {problem !== null && <ErrorNote error={error} hideErrors={['/name', '/url']} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {hook === null ? t.submit : t.save}
        </Button>
      </DialogActions>
    </Form>
  )
}
