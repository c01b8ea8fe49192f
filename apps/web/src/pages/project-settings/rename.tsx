import type { ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { planRename, renameProject } from '../../api/changes.ts'
import { problemFrom } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.settings.rename
const pointers = ['/slug']

export function Rename({ project }: { project: ProjectView }) {
  const navigate = useNavigate()
  const [slug, setSlug] = useState(project.slug)
  const { busy, error, run } = useSubmit()
  const isOther = slug !== project.slug && slug !== ''
  const live = usePlan(['rename', project.id], isOther ? slug : null, (wanted, signal) =>
    planRename(project.id, wanted, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const submit = async () => {
    await run(async () => {
      const renamed = await renameProject(project.id, slug)
      toastDone(t.done(renamed.url ?? renamed.slug))
      await navigate({ to: '/projects/$project/settings', params: { project: renamed.slug }, replace: true })
    })
  }
  return (
    <Panel id="rename" title={t.title} detail={t.detail}>
      <Form className="flex flex-col gap-3" onSubmit={submit}>
        <TextField
          label={texts.settings.slug}
          help={t.help}
          required
          mono
          maxLength={40}
          autoCapitalize="none"
          spellCheck={false}
          value={slug}
          onChange={(event) => setSlug(event.target.value)}
          error={errorsAt(problem?.errors, '/slug')}
          className="max-w-md"
          action={
            <Button type="submit" busy={busy} disabled={!isOther} reason={engineReason(project)}>
              {t.submit}
            </Button>
          }
        />
        {isOther && (
          <div className="rounded-lg border border-line bg-sunken p-3">
            <PlanView live={live} idle={t.nothingRestarts} hideErrors={pointers} />
          </div>
        )}
        {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      </Form>
    </Panel>
  )
}
