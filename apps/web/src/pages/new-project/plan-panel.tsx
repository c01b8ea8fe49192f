import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { slugOf } from '../../lib/names.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import type { LivePlan } from '../../modules/use-plan.ts'
import { texts } from '../../texts/index.ts'
import type { PartProps } from './part-props.ts'

const t = texts.create

interface PlanPanelProps extends PartProps {
  /** As it is typed, or as the source suggests it. */
  name: string
  live: LivePlan
  /** Of mistakes that stand at their fields. */
  pointers: readonly string[]
  busy: boolean
  error: unknown
  incomplete: boolean
}

/** The name, and what creating the project would do. */
export function PlanPanel({ form, change, errors, name, live, pointers, busy, error, incomplete }: PlanPanelProps) {
  const willRun =
    form.source !== 'empty' ||
    [form.runtimes, form.databases, form.services].some((choices) => Object.keys(choices).length > 0)
  return (
    <aside aria-label={t.planTitle} className="flex flex-col gap-4 xl:sticky xl:top-5">
      <Panel>
        <TextField
          label={t.name}
          help={slugOf(name) === '' ? undefined : t.slug(slugOf(name))}
          maxLength={60}
          value={name}
          onChange={(event) => change({ name: event.target.value })}
          error={errorsAt(errors, '/name') ?? errorsAt(errors, '/slug')}
        />
        <h2 className="mt-5 mb-2 text-base font-semibold">{t.planTitle}</h2>
        <div className="scroll-thin -mr-2 max-h-[50vh] overflow-y-auto pr-2">
          <PlanView live={live} idle={t.planIdle} hideErrors={pointers} />
        </div>
        <div className="mt-4 flex flex-col gap-3 border-t border-line pt-4">
          {willRun && <Check label={t.startAfter} checked={form.start} onChange={(start) => change({ start })} />}
          {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
          <Button type="submit" look="primary" size="lg" busy={busy} disabled={incomplete}>
            {busy ? t.submitting : t.submit}
          </Button>
        </div>
      </Panel>
    </aside>
  )
}
