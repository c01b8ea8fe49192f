import type { Problem, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { isStatus, problemFrom } from '../api/client.ts'
import { type RulesRead, replaceRules, rulesQuery } from '../api/network.ts'
import { Button } from '../components/button.tsx'
import { ErrorState, ProblemNote } from '../components/error-state.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { toastDone } from '../components/toast.tsx'
import { UnsavedBar } from '../components/unsaved-bar.tsx'
import { bodyOf, formStateOf, type RulesFormState } from '../lib/rules-form.ts'
import { equal } from '../lib/settings-changes.ts'
import { RulesAddresses, RulesOrder, RulesPassword, RulesSignIn } from '../modules/rules-access.tsx'
import { RulesCors } from '../modules/rules-cors.tsx'
import { RulesHeaders } from '../modules/rules-headers.tsx'
import { RulesMaintenance } from '../modules/rules-maintenance.tsx'
import { RulesRedirects } from '../modules/rules-redirects.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'

const t = texts.network.rules
/** Each has a field, or a list of them, that shows what is wrong with it. */
const shown = ['/allowIps', '/basicAuth', '/redirects', '/requestHeaders', '/responseHeaders', '/cors', '/maintenance']

/** What stands in front of the application. All of it is one value: it is read, changed and replaced as a whole. */
export function NetworkRules({ project }: { project: ProjectView }) {
  const query = useQuery(rulesQuery(project.id))
  if (query.isPending) return <SkeletonList rows={5} />
  if (query.data === undefined) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return <RulesEditor project={project.id} read={query.data} onReadAgain={() => query.refetch()} />
}

interface Edit {
  readonly form: RulesFormState
  /** What it was made out of. */
  readonly etag: string | null
}

function RulesEditor({
  project,
  read,
  onReadAgain,
}: {
  project: string
  read: RulesRead
  onReadAgain: () => Promise<unknown>
}) {
  const mayChange = useMay()('admin')
  const [edit, setEdit] = useState<Edit | null>(null)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const element = useRef<HTMLFormElement>(null)
  const stored = formStateOf(read.rules)
  const form = edit?.form ?? stored
  const changed = edit !== null && !equal(bodyOf(edit.form), bodyOf(stored))
  const overtaken = changed && edit.etag !== read.etag
  useBlocker({ shouldBlockFn: () => !window.confirm(t.leave), enableBeforeUnload: () => changed, disabled: !changed })
  useEffect(() => {
    if (problem !== null) element.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [problem])

  const discard = () => {
    setEdit(null)
    setProblem(null)
  }
  /** `touched` is where; what was wrong there was about what stood there before. */
  const change = (part: Partial<RulesFormState>, touched: string) => {
    setEdit({ form: { ...form, ...part }, etag: edit?.etag ?? read.etag })
    setProblem(problem === null ? null : without(problem, touched))
  }
  const save = async () => {
    setBusy(true)
    setProblem(null)
    try {
      const { etag } = await replaceRules(project, bodyOf(form), edit?.etag ?? read.etag)
      // What was typed while it was saved is a change of what is there now.
      setEdit((now) => (now === null || now === edit ? null : { ...now, etag }))
      toastDone(t.saved)
    } catch (failure) {
      // Another person was faster: the page reads the rules again and offers the choice.
      if (isStatus(failure, 412)) await onReadAgain()
      else setProblem(problemFrom(failure))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      ref={element}
      className="flex flex-1 flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        if (changed && !overtaken) void save()
      }}
    >
      <RulesOrder form={form} />
      {!mayChange && <p className="px-1 text-sm text-ink-2">{t.onlyAdmins}</p>}
      <fieldset disabled={!mayChange} className="flex min-w-0 flex-col gap-4">
        <legend className="sr-only">{texts.network.views.rules}</legend>
        <RulesParts form={form} stored={read.rules.basicAuth} errors={problem?.errors} onChange={change} />
      </fieldset>
      {changed && (
        <UnsavedBar label={t.unsaved}>
          <UnsavedRules
            overtaken={overtaken}
            busy={busy}
            onDiscard={discard}
            onKeep={() => setEdit({ ...edit, etag: read.etag })}
          />
          {problem !== null && (
            <div className="mt-3">
              <ProblemNote problem={problem} hideErrors={shown} />
            </div>
          )}
        </UnsavedBar>
      )}
    </form>
  )
}

interface RulesPartsProps {
  form: RulesFormState
  stored: RulesRead['rules']['basicAuth']
  errors: Problem['errors']
  onChange: (part: Partial<RulesFormState>, touched: string) => void
}

function RulesParts({ form, stored, errors, onChange }: RulesPartsProps) {
  return (
    <>
      <RulesSignIn form={form} errors={errors} onChange={onChange} />
      <RulesMaintenance
        maintenance={form.maintenance}
        errors={errors}
        onChange={(maintenance, touched) => onChange({ maintenance }, touched)}
      />
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <RulesAddresses form={form} errors={errors} onChange={onChange} />
        <RulesPassword form={form} stored={stored} errors={errors} onChange={onChange} />
      </div>
      <RulesRedirects
        redirects={form.redirects}
        errors={errors}
        onChange={(redirects, touched) => onChange({ redirects }, touched)}
      />
      <RulesHeaders
        kind="requestHeaders"
        headers={form.requestHeaders}
        errors={errors}
        onChange={(requestHeaders, touched) => onChange({ requestHeaders }, touched)}
      />
      <RulesHeaders
        kind="responseHeaders"
        headers={form.responseHeaders}
        errors={errors}
        onChange={(responseHeaders, touched) => onChange({ responseHeaders }, touched)}
      />
      <RulesCors cors={form.cors} errors={errors} onChange={(cors, touched) => onChange({ cors }, touched)} />
    </>
  )
}

interface UnsavedRulesProps {
  /** What is stored was changed elsewhere meanwhile. */
  overtaken: boolean
  busy: boolean
  onDiscard: () => void
  onKeep: () => void
}

function UnsavedRules({ overtaken, busy, onDiscard, onKeep }: UnsavedRulesProps) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
      <div className="min-w-0 flex-1 basis-72">
        <h3 className="text-sm font-medium">{overtaken ? t.overtaken : t.unsaved}</h3>
        <p className="text-sm text-ink-2 max-sm:hidden">{overtaken ? t.overtakenDetail : t.atOnce}</p>
      </div>
      {/* Keys: a button that turned into that of saving while it is pressed would save at once. */}
      {overtaken ? (
        <div key="overtaken" className="flex flex-wrap gap-2">
          <Button onClick={onDiscard}>{t.takeTheirs}</Button>
          <Button look="primary" onClick={onKeep}>
            {t.keepMine}
          </Button>
        </div>
      ) : (
        <div key="save" className="flex flex-wrap gap-2">
          <Button onClick={onDiscard}>{texts.common.discard}</Button>
          <Button type="submit" look="primary" busy={busy}>
            {t.save}
          </Button>
        </div>
      )}
    </div>
  )
}

/** The problem without what it says of one place; null when nothing is left of it. */
function without(problem: Problem, pointer: string): Problem | null {
  if (problem.errors === undefined) return null
  const errors = problem.errors.filter((error) => error.pointer !== pointer && !error.pointer.startsWith(`${pointer}/`))
  return errors.length === 0 ? null : { ...problem, errors }
}
