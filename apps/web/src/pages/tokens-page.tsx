import type { CallResult, Scope, TokenView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { CircleHelp, KeyRound, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { client, problemFrom } from '../api/client.ts'
import { meQuery, projectsQuery, tokensQuery } from '../api/queries.ts'
import { Button, IconButton } from '../components/button.tsx'
import { Choices } from '../components/choices.tsx'
import { cx } from '../components/class-names.ts'
import { CodeBlock } from '../components/code-block.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { Check, Segments, SelectField, TextField } from '../components/field.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone } from '../components/toast.tsx'
import { useNow } from '../components/use-now.ts'
import { errorsAt } from '../lib/field-errors.ts'
import { includes } from '../lib/token-powers.ts'
import { TokenPowers } from '../modules/token-powers-view.tsx'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

const t = texts.tokens
type TokenCreated = CallResult<'createToken'>

export function TokensPage() {
  useTitle(t.title)
  const query = useQuery(tokensQuery)
  const [creating, setCreating] = useState(false)
  const [created, setCreated] = useState<TokenCreated | null>(null)
  const [revoking, setRevoking] = useState<TokenView | null>(null)
  const [explained, setExplained] = useState<TokenView | null>(null)
  const nameOf = useProjectNames()
  const tokens = query.data ?? []
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.title}
        detail={t.detail}
        actions={
          <Button icon={Plus} look="primary" onClick={() => setCreating(true)}>
            {t.create}
          </Button>
        }
      />
      <Panel flush>
        <Loaded query={query} rows={3} height="h-9">
          {() =>
            tokens.length === 0 ? (
              <EmptyState icon={KeyRound} title={t.emptyTitle} detail={t.emptyDetail} />
            ) : (
              <Table
                label={t.title}
                head={[
                  { title: t.columns.name },
                  { title: t.columns.scope },
                  { title: t.columns.projects },
                  { title: t.columns.lastUsed },
                  { title: t.columns.expires },
                  { title: t.columns.created },
                  { title: t.columns.actions, hidden: true },
                ]}
              >
                {tokens.map((token) => (
                  <TokenRow
                    key={token.id}
                    token={token}
                    onRevoke={() => setRevoking(token)}
                    onExplain={() => setExplained(token)}
                  />
                ))}
              </Table>
            )
          }
        </Loaded>
      </Panel>
      <Dialog open={creating} onClose={() => setCreating(false)} title={t.createTitle} wide>
        <CreateForm
          onClose={() => setCreating(false)}
          onCreated={(token) => {
            setCreating(false)
            setCreated(token)
            void query.refetch()
          }}
        />
      </Dialog>
      <Dialog
        open={created !== null}
        onClose={() => setCreated(null)}
        title={t.createdTitle}
        detail={t.createdDetail}
        wide
      >
        {created !== null && <Created token={created} onClose={() => setCreated(null)} />}
      </Dialog>
      <Dialog open={explained !== null} onClose={() => setExplained(null)} title={t.whatItMay(explained?.name ?? '')}>
        {explained !== null && (
          <TokenPowers
            scope={explained.scope}
            projects={explained.projects.length === 0 ? null : explained.projects.map(nameOf)}
          />
        )}
      </Dialog>
      <ConfirmDialog
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        title={t.revokeTitle(revoking?.name ?? '')}
        detail={t.revokeDetail}
        submit={t.revoke}
        onConfirm={async () => {
          if (revoking === null) return
          await client.call('revokeToken', { params: { tid: revoking.id } })
          await query.refetch()
          toastDone(t.revoked(revoking.name))
        }}
      />
    </div>
  )
}

function TokenRow({ token, onRevoke, onExplain }: { token: TokenView; onRevoke: () => void; onExplain: () => void }) {
  const nameOf = useProjectNames()
  const now = useNow()
  const expired = token.expiresAt !== null && Date.parse(token.expiresAt) <= now
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="min-w-40">
        <span className="block font-medium">{token.name}</span>
        <code className="block text-ink-3">{token.prefix}…</code>
      </Cell>
      <Cell>
        <button
          type="button"
          onClick={onExplain}
          className="inline-flex min-h-6 items-center gap-1 rounded hover:underline"
        >
          {t.scopes[token.scope].label}
          <span className="sr-only">: {t.whatItMay(token.name)}</span>
          <CircleHelp aria-hidden className="size-3.5 text-ink-3" />
        </button>
      </Cell>
      <Cell className="max-w-64">
        {token.projects.length === 0 ? t.allProjects : token.projects.map(nameOf).join(', ')}
      </Cell>
      <Cell className="text-ink-2">
        {token.lastUsedAt === null ? texts.common.never : <TimeAgo time={token.lastUsedAt} />}
      </Cell>
      <Cell className={cx(expired ? 'text-bad' : 'text-ink-2')}>
        {token.expiresAt === null ? texts.common.never : expired ? t.expired : <TimeAgo time={token.expiresAt} />}
      </Cell>
      <Cell className="text-ink-2">
        <TimeAgo time={token.createdAt} />
      </Cell>
      <Cell end className="py-1">
        <IconButton icon={Trash2} label={t.revokeOne(token.name)} onClick={onRevoke} />
      </Cell>
    </tr>
  )
}

function useProjectNames(): (ref: string) => string {
  const projects = useQuery(projectsQuery).data ?? []
  return (ref) => projects.find((project) => project.id === ref || project.slug === ref)?.name ?? ref
}

const expiryDays = { never: null, days7: 7, days30: 30, days90: 90, year: 365 } as const
type Expiry = keyof typeof expiryDays
const scopeOrder = ['read', 'operate', 'admin'] as const satisfies readonly Scope[]

function CreateForm({ onClose, onCreated }: { onClose: () => void; onCreated: (token: TokenCreated) => void }) {
  const projects = useQuery(projectsQuery).data ?? []
  const role = useQuery(meQuery).data?.role ?? 'operate'
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Scope>(role === 'read' ? 'read' : 'operate')
  const [restricted, setRestricted] = useState<'all' | 'some'>('all')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [expiry, setExpiry] = useState<Expiry>('days90')
  const [tried, setTried] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const problem = error === null ? null : problemFrom(error)
  const noneChosen = restricted === 'some' && chosen.length === 0

  const submit = async () => {
    setTried(true)
    if (noneChosen) return
    setBusy(true)
    setError(null)
    const days = expiryDays[expiry]
    try {
      onCreated(
        await client.call('createToken', {
          body: {
            name,
            scope,
            projects: restricted === 'all' ? [] : [...chosen],
            expiresAt: days === null ? null : new Date(Date.now() + days * 86_400_000).toISOString(),
          },
        }),
      )
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
        <div className="flex min-w-0 flex-col gap-4">
          <TextField
            label={t.name}
            help={t.nameHelp}
            required
            autoFocus
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={errorsAt(problem?.errors, '/name')}
          />
          <Choices
            label={t.scope}
            value={scope}
            onChange={setScope}
            options={scopeOrder
              .filter((option) => includes(role, option))
              .map((value) => ({ value, label: t.scopes[value].label, help: t.scopes[value].help }))}
          />
          <div className="flex flex-col gap-2">
            <p className="text-sm font-medium">{t.projects}</p>
            <Segments
              label={t.projects}
              value={restricted}
              onChange={setRestricted}
              options={[
                { value: 'all', label: t.allProjects },
                { value: 'some', label: t.someProjects },
              ]}
            />
            {restricted === 'some' && (
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
            {tried && noneChosen && <p className="text-sm text-bad">{t.chooseOne}</p>}
          </div>
          <SelectField
            label={t.expiry}
            value={expiry}
            onChange={(event) => setExpiry(event.target.value as Expiry)}
            error={errorsAt(problem?.errors, '/expiresAt')}
          >
            {(Object.keys(expiryDays) as Expiry[]).map((option) => (
              <option key={option} value={option}>
                {t.expiries[option]}
              </option>
            ))}
          </SelectField>
        </div>
        <TokenPowers
          scope={scope}
          projects={
            restricted === 'all'
              ? null
              : projects.filter((project) => chosen.includes(project.id)).map((project) => project.name)
          }
        />
      </div>
      {problem !== null && <ErrorNote error={error} hideErrors={['/name', '/expiresAt']} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.submit}
        </Button>
      </DialogActions>
    </form>
  )
}

function Created({ token, onClose }: { token: TokenCreated; onClose: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="mb-1 text-sm font-medium">{t.value}</p>
        <CodeBlock code={token.value} label={t.value} wrap />
      </div>
      <div>
        <p className="mb-1 text-sm font-medium">{t.tryIt}</p>
        <CodeBlock
          code={`curl -H "Authorization: Bearer ${token.value}" ${window.location.origin}/api/v1/projects`}
          label={t.tryIt}
          wrap
        />
      </div>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {t.done}
        </Button>
      </DialogActions>
    </div>
  )
}
