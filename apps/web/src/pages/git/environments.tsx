import type { BranchEnvironment, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteEnvironment, environmentsQuery, makeEnvironment } from '../../api/environments.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, TextField } from '../../components/field.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'

const t = texts.environments

/** Projects of their own for branches of this one, and pull requests of forks that wait for one. */
export function Environments({ project }: { project: ProjectView }) {
  const may = useMay()
  const follow = useFollow()
  const query = useQuery(environmentsQuery(project.id))
  const [chosen, setChosen] = useState<{ act: 'approve' | 'remove'; one: BranchEnvironment } | null>(null)
  const branch = chosen?.one.branch ?? ''
  const head = chosen?.one.pullRequest?.waiting ?? ''
  return (
    <Panel title={t.title} flush>
      <Loaded query={query} rows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="px-4 py-3 text-sm text-ink-2">{t.none}</p>
          ) : (
            <ul className="divide-y divide-line">
              {items.map((one) => (
                <Row key={one.branch} one={one} onChoose={(act) => setChosen({ act, one })} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {may('operate') && <Make project={project} />}
      <ConfirmDialog
        open={chosen?.act === 'approve'}
        onClose={() => setChosen(null)}
        title={t.approveTitle(branch)}
        detail={t.approveDetail(head)}
        submit={t.approveSubmit}
        onConfirm={async () => {
          await follow(await makeEnvironment(project.id, { branch, head }))
        }}
      />
      <ConfirmDialog
        open={chosen?.act === 'remove'}
        onClose={() => setChosen(null)}
        title={t.removeTitle(branch)}
        detail={t.removeDetail}
        word={branch}
        submit={t.removeSubmit}
        onConfirm={async () => {
          await deleteEnvironment(project.id, branch)
          toastDone(t.removed(branch))
        }}
      />
    </Panel>
  )
}

function Row({ one, onChoose }: { one: BranchEnvironment; onChoose: (act: 'approve' | 'remove') => void }) {
  const may = useMay()
  const { branch, url, pullRequest, missingSecrets, ahead, behind, removeAt } = one
  const facts = [
    t.state(one.state),
    one.commit?.slice(0, 10),
    ahead === null || behind === null ? undefined : t.distance(ahead, behind),
    pullRequest === null ? undefined : t.request(pullRequest.number, pullRequest.fork),
    one.actor,
  ].filter((fact) => fact !== undefined)
  const notes = [
    ...(missingSecrets.length === 0 ? [] : [t.missing(missingSecrets.join(', '))]),
    ...(one.warning === null ? [] : [one.warning]),
    ...(removeAt === null || one.warning !== null ? [] : [t.gone(removeAt.slice(0, 10))]),
  ]
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-mono text-sm break-all">{branch}</p>
        {url !== null && (
          <p className="text-sm break-all">
            <a className="text-accent-ink underline" href={url} target="_blank" rel="noreferrer">
              {url}
            </a>
          </p>
        )}
        <p className="text-sm break-words text-ink-2">{facts.join(' · ')}</p>
        {notes.map((note) => (
          <p key={note} className="text-sm break-words text-ink-2">
            {note}
          </p>
        ))}
      </div>
      {may('operate') && pullRequest !== null && pullRequest.waiting !== null && (
        <Button size="sm" aria-label={t.approveOne(branch)} onClick={() => onChoose('approve')}>
          {t.approve}
        </Button>
      )}
      {may('admin') && (
        <Button size="sm" aria-label={t.removeOne(branch)} onClick={() => onChoose('remove')}>
          {t.remove}
        </Button>
      )}
    </li>
  )
}

/** What may fail only there, a branch that is nowhere or a database that does not clone, is told by its operation. */
function useFollow() {
  const navigate = useNavigate()
  return ({ id }: { readonly id: string }) => navigate({ to: '/operations/$operation', params: { operation: id } })
}

function Make({ project }: { project: ProjectView }) {
  const follow = useFollow()
  const [branch, setBranch] = useState('')
  const [create, setCreate] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const make = async () => {
    setBusy(true)
    setError(null)
    try {
      await follow(await makeEnvironment(project.id, { branch: branch.trim(), ...(create ? { create } : {}) }))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="flex flex-col gap-3 border-t border-line px-4 py-3"
      onSubmit={(event) => {
        event.preventDefault()
        void make()
      }}
    >
      <TextField
        label={t.branch}
        help={t.branchHelp}
        mono
        spellCheck={false}
        value={branch}
        onChange={(event) => setBranch(event.target.value)}
      />
      <Check label={t.create} checked={create} onChange={setCreate} />
      {error !== null && <ErrorNote error={error} />}
      <div>
        <Button type="submit" busy={busy} disabled={branch.trim() === ''}>
          {t.make}
        </Button>
      </div>
    </form>
  )
}
