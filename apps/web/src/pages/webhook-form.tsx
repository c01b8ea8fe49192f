import type { Webhook } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client, problemFrom } from '../api/client.ts'
import { projectsQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { Check, Segments, TextField } from '../components/field.tsx'
import { errorsAt } from '../lib/field-errors.ts'
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
  const projects = useQuery(projectsQuery).data ?? []
  const [name, setName] = useState(hook?.name ?? '')
  const [url, setUrl] = useState(hook?.url ?? '')
  const [events, setEvents] = useState<readonly string[]>(hook?.events ?? ['operation.changed', 'run.changed'])
  const [reach, setReach] = useState<'all' | 'some'>((hook?.projects.length ?? 0) > 0 ? 'some' : 'all')
  const [chosen, setChosen] = useState<readonly string[]>(hook?.projects ?? [])
  const [tried, setTried] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const problem = error === null ? null : problemFrom(error)
  const incomplete = events.length === 0 || (reach === 'some' && chosen.length === 0)

  const submit = async () => {
    setTried(true)
    if (incomplete) return
    setBusy(true)
    setError(null)
    const body = { name, url, events: events as EventName[], projects: reach === 'all' ? [] : [...chosen] }
    try {
      if (hook === null) onDone((await client.call('createWebhook', { body })).secret)
      else {
        await client.call('updateWebhook', { params: { hook: hook.id }, body })
        onDone(null)
      }
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
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
      <fieldset className="flex flex-col gap-1.5">
        <legend className="mb-1 text-sm font-medium">{t.events}</legend>
        <div className="grid gap-x-6 gap-y-1.5 sm:grid-cols-2">
          {offered.map((event) => (
            <Check
              key={event}
              label={t.eventNames[event]}
              help={<code>{event}</code>}
              checked={events.includes(event)}
              onChange={(checked) =>
                setEvents(checked ? [...events, event] : events.filter((other) => other !== event))
              }
            />
          ))}
        </div>
        {tried && events.length === 0 && <p className="text-sm text-bad">{t.chooseEvent}</p>}
      </fieldset>
      <div className="flex flex-col gap-2">
        <p className="text-sm font-medium">{t.projects}</p>
        <Segments
          label={t.projects}
          value={reach}
          onChange={setReach}
          options={[
            { value: 'all', label: t.allProjects },
            { value: 'some', label: t.someProjects },
          ]}
        />
        {reach === 'some' && (
          <div className="scroll-thin flex max-h-44 flex-col gap-1.5 overflow-y-auto rounded-md border border-line p-3">
            {projects.map((project) => (
              <Check
                key={project.id}
                label={project.name}
                checked={chosen.includes(project.id)}
                onChange={(checked) =>
                  setChosen(checked ? [...chosen, project.id] : chosen.filter((id) => id !== project.id))
                }
              />
            ))}
          </div>
        )}
        {tried && reach === 'some' && chosen.length === 0 && <p className="text-sm text-bad">{t.chooseProject}</p>}
      </div>
      {problem !== null && <ErrorNote error={error} hideErrors={['/name', '/url']} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {hook === null ? t.submit : t.save}
        </Button>
      </DialogActions>
    </form>
  )
}
