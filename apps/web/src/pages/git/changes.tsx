import type { GitChange, GitState, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Undo2 } from 'lucide-react'
import { useState } from 'react'
import { actOnGit, gitDiffQuery } from '../../api/git.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextArea } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { ScrollBox } from '../../components/scroll-box.tsx'
import { toastDone } from '../../components/toast.tsx'
import { useMay } from '../../modules/use-may.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.git

/** Files that differ from the last commit: to be looked at, committed, or discarded. */
export function Changes({ project, state }: { project: ProjectView; state: GitState }) {
  const may = useMay()
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [discarding, setDiscarding] = useState<string | null>(null)
  const { changed, changedTotal } = state
  if (changed.length === 0)
    return (
      <Panel title={t.changes}>
        <p className="text-ink-2">{t.noChanges}</p>
      </Panel>
    )
  const chosen = changed.filter(({ path }) => !left.has(path)).map(({ path }) => path)
  const toggle = (path: string) => {
    const next = new Set(left)
    if (!next.delete(path)) next.add(path)
    setLeft(next)
  }
  const acts = may('operate')
  return (
    <Panel title={t.changes} detail={t.changedFiles(changedTotal)} flush>
      <ol className="divide-y divide-line">
        {changed.map((change) => (
          <ChangedFile
            key={change.path}
            project={project.id}
            change={change}
            chosen={acts ? !left.has(change.path) : null}
            onChoose={() => toggle(change.path)}
            onDiscard={() => setDiscarding(change.path)}
          />
        ))}
      </ol>
      {acts && <CommitForm project={project.id} chosen={chosen} isAll={left.size === 0} />}
      <ConfirmDialog
        open={discarding !== null}
        onClose={() => setDiscarding(null)}
        title={t.discardTitle(discarding ?? '')}
        detail={t.discardDetail}
        submit={t.discard}
        onConfirm={async () => {
          await actOnGit(project.id, { act: 'discardGit', body: { paths: [discarding ?? ''] } })
          toastDone(t.discarded(discarding ?? ''))
        }}
      />
    </Panel>
  )
}

function ChangedFile({
  project,
  change,
  chosen,
  onChoose,
  onDiscard,
}: {
  project: string
  change: GitChange
  /** Null: nobody here may commit. */
  chosen: boolean | null
  onChoose: () => void
  onDiscard: () => void
}) {
  const [open, setOpen] = useState(false)
  const { path, from } = change
  return (
    <li className="px-4 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {chosen !== null && (
          <input
            type="checkbox"
            checked={chosen}
            onChange={onChoose}
            aria-label={t.choose(path)}
            className="size-4 shrink-0 accent-(--accent)"
          />
        )}
        <span className="min-w-0 flex-1 basis-40 font-mono text-sm break-all">
          {from === null ? path : `${from} → ${path}`}
        </span>
        <span className="text-sm text-ink-2">{kindOf(change)}</span>
        <span className="flex gap-1.5">
          <Button
            size="sm"
            aria-expanded={open}
            aria-label={open ? t.hideDiffOf(path) : t.showDiffOf(path)}
            onClick={() => setOpen(!open)}
          >
            {open ? t.hideDiff : t.showDiff}
          </Button>
          {chosen !== null && (
            <Button size="sm" icon={Undo2} aria-label={t.discardOne(path)} onClick={onDiscard}>
              {t.discard}
            </Button>
          )}
        </span>
      </div>
      {open && <Diff project={project} path={path} staged={change.unstaged === null && !change.conflict} />}
    </li>
  )
}

function kindOf({ staged, unstaged, conflict }: GitChange): string {
  if (conflict) return t.conflict
  if (unstaged !== null) return t.kinds[unstaged]
  return staged === null ? '' : t.staged(t.kinds[staged])
}

function Diff({ project, path, staged }: { project: string; path: string; staged: boolean }) {
  const query = useQuery(gitDiffQuery(project, path, staged))
  return (
    <div className="mt-2">
      <Loaded query={query} rows={2}>
        {({ patch, truncated }) => (
          <>
            <ScrollBox
              label={t.diffOf(path)}
              className="max-h-96 overflow-auto rounded-md border border-line bg-sunken p-2"
            >
              <pre className="w-fit min-w-full text-sm leading-5">
                {patch === ''
                  ? t.nothingDiffers
                  : linesOf(patch).map(({ key, line }) => (
                      <span key={key} className={`block ${colourOf(line)}`}>
                        {line === '' ? ' ' : line}
                      </span>
                    ))}
              </pre>
            </ScrollBox>
            {truncated && <p className="mt-1 text-sm text-ink-2">{t.truncated}</p>}
          </>
        )}
      </Loaded>
    </div>
  )
}

/** As many as a page bears. */
const mostLines = 3000

function linesOf(patch: string): readonly { readonly key: number; readonly line: string }[] {
  const lines = patch.replace(/\n$/, '').split('\n').slice(0, mostLines)
  return lines.map((line, key) => ({ key, line }))
}

function colourOf(line: string): string {
  if (/^(\+\+\+|---|diff |index )/.test(line)) return 'text-ink-2'
  if (line.startsWith('+')) return 'text-good'
  return line.startsWith('-') ? 'text-bad' : ''
}

function CommitForm({ project, chosen, isAll }: { project: string; chosen: readonly string[]; isAll: boolean }) {
  const [message, setMessage] = useState('')
  const { busy, error, run } = useSubmit()
  const submit = () =>
    run(async () => {
      const body = { message, ...(isAll ? {} : { paths: [...chosen] }) }
      const said = await actOnGit(project, { act: 'commitGit', body })
      setMessage('')
      toastDone(said ?? t.goesOn)
    })
  return (
    <Form onSubmit={submit} className="flex flex-col gap-3 border-t border-line p-4">
      <TextArea
        label={t.message}
        rows={2}
        maxLength={20_000}
        value={message}
        onChange={(event) => setMessage(event.target.value)}
      />
      {error !== null && <ErrorNote error={error} />}
      <div>
        <Button
          type="submit"
          look="primary"
          busy={busy}
          disabled={message.trim() === '' || chosen.length === 0 || chosen.length > 2000}
        >
          {t.commitFiles(chosen.length)}
        </Button>
      </div>
    </Form>
  )
}
