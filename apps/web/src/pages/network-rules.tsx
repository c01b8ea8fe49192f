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
import { bodyOf, draftOf, type RulesDraft } from '../lib/rules-draft.ts'
import { equal } from '../lib/settings-draft.ts'
import { RulesAddresses, RulesOrder, RulesPassword } from '../modules/rules-access.tsx'
import { RulesCors } from '../modules/rules-cors.tsx'
import { RulesHeaders } from '../modules/rules-headers.tsx'
import { RulesRedirects } from '../modules/rules-redirects.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'

const t = texts.network.rules
/** Each has a field, or a list of them, that shows what is wrong with it. */
const shown = ['/allowIps', '/basicAuth', '/redirects', '/requestHeaders', '/responseHeaders', '/cors']

/** What stands in front of the application. All of it is one value: it is read, changed and replaced as a whole. */
export function NetworkRules({ project }: { project: ProjectView }) {
  const query = useQuery(rulesQuery(project.id))
  if (query.isPending) return <SkeletonList rows={5} />
  if (query.data === undefined) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return <RulesForm project={project.id} read={query.data} onReadAgain={() => query.refetch()} />
}

interface Edit {
  readonly draft: RulesDraft
  /** What it was made out of. */
  readonly etag: string | null
}

function RulesForm({
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
  const form = useRef<HTMLFormElement>(null)
  const stored = draftOf(read.rules)
  const draft = edit?.draft ?? stored
  const changed = edit !== null && !equal(bodyOf(edit.draft), bodyOf(stored))
  const overtaken = changed && edit.etag !== read.etag
  useBlocker({ shouldBlockFn: () => !window.confirm(t.leave), enableBeforeUnload: () => changed, disabled: !changed })
  useEffect(() => {
    if (problem !== null) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [problem])

  const discard = () => {
    setEdit(null)
    setProblem(null)
  }
  /** `touched` is where; what was wrong there was about what stood there before. */
  const change = (part: Partial<RulesDraft>, touched: string) => {
    setEdit({ draft: { ...draft, ...part }, etag: edit?.etag ?? read.etag })
    setProblem(problem === null ? null : without(problem, touched))
  }
  const save = async () => {
    setBusy(true)
    setProblem(null)
    try {
      const { etag } = await replaceRules(project, bodyOf(draft), edit?.etag ?? read.etag)
      // What was typed while it was saved is a change of what is there now.
      setEdit((now) => (now === null || now === edit ? null : { ...now, etag }))
      toastDone(t.saved)
    } catch (failure) {
      // Somebody was faster: what is there now is read, and the choice offered.
      if (isStatus(failure, 412)) await onReadAgain()
      else setProblem(problemFrom(failure))
    } finally {
      setBusy(false)
    }
  }
  const errors = problem?.errors
  return (
    <form
      ref={form}
      className="flex flex-1 flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        if (changed && !overtaken) void save()
      }}
    >
      <RulesOrder draft={draft} />
      {!mayChange && <p className="px-1 text-sm text-ink-2">{t.onlyAdmins}</p>}
      <fieldset disabled={!mayChange} className="flex min-w-0 flex-col gap-4">
        <legend className="sr-only">{texts.network.views.rules}</legend>
        <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
          <RulesAddresses draft={draft} errors={errors} onChange={change} />
          <RulesPassword draft={draft} stored={read.rules.basicAuth} errors={errors} onChange={change} />
        </div>
        <RulesRedirects
          redirects={draft.redirects}
          errors={errors}
          onChange={(redirects, touched) => change({ redirects }, touched)}
        />
        <RulesHeaders
          kind="requestHeaders"
          headers={draft.requestHeaders}
          errors={errors}
          onChange={(requestHeaders, touched) => change({ requestHeaders }, touched)}
        />
        <RulesHeaders
          kind="responseHeaders"
          headers={draft.responseHeaders}
          errors={errors}
          onChange={(responseHeaders, touched) => change({ responseHeaders }, touched)}
        />
        <RulesCors cors={draft.cors} errors={errors} onChange={(cors, touched) => change({ cors }, touched)} />
      </fieldset>
      {changed && (
        <section
          aria-label={t.unsaved}
          className="sticky bottom-3 z-10 mt-auto animate-appear rounded-xl border border-line bg-raised p-4 shadow-pop"
        >
          <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
            <div className="min-w-0 flex-1 basis-72">
              <h3 className="text-sm font-medium">{overtaken ? t.overtaken : t.unsaved}</h3>
              <p className="text-sm text-ink-2 max-sm:hidden">{overtaken ? t.overtakenDetail : t.atOnce}</p>
            </div>
            {/* Keys: a button that turned into that of saving while it is pressed would save at once. */}
            {overtaken ? (
              <div key="overtaken" className="flex flex-wrap gap-2">
                <Button onClick={discard}>{t.takeTheirs}</Button>
                <Button look="primary" onClick={() => setEdit({ ...edit, etag: read.etag })}>
                  {t.keepMine}
                </Button>
              </div>
            ) : (
              <div key="save" className="flex flex-wrap gap-2">
                <Button onClick={discard}>{texts.common.discard}</Button>
                <Button type="submit" look="primary" busy={busy}>
                  {t.save}
                </Button>
              </div>
            )}
          </div>
          {problem !== null && (
            <div className="mt-3">
              <ProblemNote problem={problem} hideErrors={shown} />
            </div>
          )}
        </section>
      )}
    </form>
  )
}

/** The problem without what it says of one place; null when nothing is left of it. */
function without(problem: Problem, pointer: string): Problem | null {
  if (problem.errors === undefined) return null
  const errors = problem.errors.filter((error) => error.pointer !== pointer && !error.pointer.startsWith(`${pointer}/`))
  return errors.length === 0 ? null : { ...problem, errors }
}
