import type { Domain, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Globe, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { isStatus } from '../api/client.ts'
import { addDomain, domainsQuery, removeDomain } from '../api/network.ts'
import { Button, IconButton } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone } from '../components/toast.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { formatDateTime } from '../lib/format.ts'
import { useMay } from '../modules/use-may.ts'
import { useSubmit } from '../modules/use-submit.ts'
import { WorkloadChoice } from '../modules/workload-choice.tsx'
import { texts } from '../texts/index.ts'

const t = texts.network.domains

export function NetworkDomains({ project }: { project: ProjectView }) {
  const query = useQuery(domainsQuery(project.id))
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Domain | null>(null)
  const mayChange = useMay()('operate')
  const domains = query.data ?? []
  return (
    <>
      <Panel
        title={t.title}
        detail={t.detail}
        flush
        actions={
          mayChange && (
            <Button icon={Plus} look="primary" onClick={() => setAdding(true)}>
              {t.add}
            </Button>
          )
        }
      >
        <Loaded query={query} rows={3} height="h-8">
          {() => (
            <Table
              label={t.title}
              head={[
                { title: t.columns.host },
                { title: t.columns.target },
                { title: t.columns.since },
                { title: t.columns.actions, hidden: true },
              ]}
            >
              {domains.map((domain) => (
                <DomainRow
                  key={domain.host}
                  domain={domain}
                  target={targetOf(domain, project)}
                  onRemove={mayChange && !domain.automatic ? () => setRemoving(domain) : null}
                />
              ))}
            </Table>
          )}
        </Loaded>
      </Panel>
      <Pointing domains={domains} />
      <Dialog open={adding} onClose={() => setAdding(false)} title={t.addTitle}>
        <AddForm project={project} onClose={() => setAdding(false)} />
      </Dialog>
      <ConfirmDialog
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={t.removeTitle(removing?.display ?? '')}
        detail={t.removeDetail}
        submit={t.removeSubmit}
        onConfirm={async () => {
          if (removing === null) return
          await removeDomain(project.id, removing.host)
          toastDone(t.removed(removing.display))
        }}
      />
    </>
  )
}

function DomainRow({ domain, target, onRemove }: { domain: Domain; target: string; onRemove: (() => void) | null }) {
  const { host, display, url, automatic, createdAt, redirectsUntil } = domain
  // A pattern is no address that one could open.
  const isPattern = host.startsWith('*.')
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="min-w-56">
        <span className="flex min-w-0 items-center gap-1">
          {isPattern ? (
            <code className="truncate font-medium">{display}</code>
          ) : (
            <ExternalLink href={url} className="font-medium">
              {display}
            </ExternalLink>
          )}
          <CopyButton text={isPattern ? display : url} label={t.copyOne(display)} />
        </span>
        {display !== host && <code className="block text-sm break-all text-ink-3">{host}</code>}
      </Cell>
      <Cell className="whitespace-nowrap text-ink-2">{target}</Cell>
      <Cell className="whitespace-nowrap text-ink-2">
        {automatic ? (
          <span className="inline-flex items-center rounded-full bg-idle-soft px-2 text-xs leading-5.5 text-ink-2">
            {t.automatic}
          </span>
        ) : redirectsUntil !== null ? (
          t.redirects(formatDateTime(redirectsUntil))
        ) : createdAt === null ? (
          '–'
        ) : (
          <TimeAgo time={createdAt} />
        )}
      </Cell>
      <ActionsCell>
        {onRemove !== null && <IconButton icon={Trash2} label={t.removeOne(display)} onClick={onRemove} />}
      </ActionsCell>
    </tr>
  )
}

/** What people do outside of Stackquay before a name of their own leads here. */
function Pointing({ domains }: { domains: readonly Domain[] }) {
  const own = domains.find(({ automatic }) => automatic)
  if (own === undefined) return null
  const { port, protocol } = new URL(own.url)
  const localhost = own.host === 'localhost' || own.host.endsWith('.localhost')
  return (
    <div className="flex items-start gap-2.5 px-1 text-sm text-ink-2">
      <Globe aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-3" />
      <p className="min-w-0">
        {t.pointing(port === '' ? (protocol === 'https:' ? '443' : '80') : port)}
        {localhost && ` ${t.localhost}`}
      </p>
    </div>
  )
}

function AddForm({ project, onClose }: { project: ProjectView; onClose: () => void }) {
  const [host, setHost] = useState('')
  const [workload, setWorkload] = useState('')
  const { busy, error, problem, clear, run } = useSubmit()
  // That it belongs to another is said of the name, though not as an error of a field.
  const taken = problem !== null && isStatus(error, 409)
  const submit = async () => {
    await run(async () => {
      const made = await addDomain(project.id, { host, ...(workload === '' ? {} : { workload }) })
      toastDone(t.added(made.display))
      onClose()
    })
  }
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.host}
        help={t.hostHelp}
        mono
        autoFocus
        required
        maxLength={300}
        autoCapitalize="none"
        spellCheck={false}
        value={host}
        onChange={(event) => {
          setHost(event.target.value)
          clear()
        }}
        error={taken ? `${problem.detail} ${problem.hint}`.trim() : errorsAt(problem?.errors, '/host')}
      />
      <WorkloadChoice
        project={project}
        label={t.target}
        value={workload}
        onChange={setWorkload}
        error={errorsAt(problem?.errors, '/workload')}
      />
      {problem !== null && !taken && <ErrorNote error={error} hideErrors={['/host', '/workload']} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.addSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}

function targetOf({ workload }: Domain, project: ProjectView): string {
  if (workload === null) return texts.network.front
  return project.status.workloads.find(({ name }) => name === workload)?.title ?? workload
}
