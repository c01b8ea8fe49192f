import type { SshKeyView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { sshKeysQuery } from '../api/ssh.ts'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextArea, TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone } from '../components/toast.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { useSubmit } from '../modules/use-submit.ts'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

const t = texts.sshKeys

export function SshKeysPage() {
  useTitle(t.title)
  const query = useQuery(sshKeysQuery)
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<SshKeyView | null>(null)
  const add = (
    <Button icon={Plus} look="primary" onClick={() => setAdding(true)}>
      {t.add}
    </Button>
  )
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail} actions={add} />
      <Panel flush>
        <Loaded query={query} rows={3} height="h-9">
          {(keys) =>
            keys.length === 0 ? (
              <EmptyState icon={KeyRound} title={t.emptyTitle} detail={t.emptyDetail}>
                <CodeBlock code={t.makeCommand} label={t.makeLabel} />
              </EmptyState>
            ) : (
              <Keys keys={keys} onRemove={setRemoving} />
            )
          }
        </Loaded>
      </Panel>
      <Dialog open={adding} onClose={() => setAdding(false)} title={t.addTitle} detail={t.addDetail}>
        <AddKey
          onClose={() => setAdding(false)}
          onAdded={async () => {
            await query.refetch()
            setAdding(false)
            toastDone(t.added)
          }}
        />
      </Dialog>
      <ConfirmDialog
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={t.removeTitle(removing?.name ?? '')}
        detail={t.removeDetail}
        submit={t.removeSubmit}
        onConfirm={async () => {
          if (removing === null) return
          await client.call('removeSshKey', { params: { kid: removing.id } })
          await query.refetch()
          toastDone(t.removed)
        }}
      />
    </div>
  )
}

function Keys({ keys, onRemove }: { keys: readonly SshKeyView[]; onRemove: (key: SshKeyView) => void }) {
  const { columns } = t
  return (
    <Table
      label={t.title}
      head={[
        { title: columns.name },
        { title: columns.fingerprint },
        { title: columns.used },
        { title: columns.added },
        { title: columns.actions, hidden: true },
      ]}
    >
      {keys.map((key) => (
        <tr key={key.id} className="hover:bg-hover/60">
          <Cell className="min-w-32 font-medium break-words">{key.name}</Cell>
          <Cell className="min-w-56 text-ink-2">
            <span className="block text-xs">{key.type}</span>
            <span className="font-mono text-sm break-all">{key.fingerprint}</span>
          </Cell>
          <Cell className="text-ink-2">{key.lastUsedAt === null ? t.never : <TimeAgo time={key.lastUsedAt} />}</Cell>
          <Cell className="text-ink-2">
            <TimeAgo time={key.createdAt} />
          </Cell>
          <ActionsCell>
            <Button size="sm" aria-label={t.removeOne(key.name)} onClick={() => onRemove(key)}>
              {t.remove}
            </Button>
          </ActionsCell>
        </tr>
      ))}
    </Table>
  )
}

function AddKey({ onClose, onAdded }: { onClose: () => void; onAdded: () => Promise<void> }) {
  const [publicKey, setPublicKey] = useState('')
  const [name, setName] = useState('')
  const { busy, error, problem, run } = useSubmit()
  const submit = () =>
    run(async () => {
      const body = { publicKey, ...(name.trim() === '' ? {} : { name }) }
      await client.call('addSshKey', { body })
      await onAdded()
    })
  return (
    <Form onSubmit={submit}>
      <TextArea
        label={t.publicKey}
        help={t.publicKeyHelp}
        required
        autoFocus
        mono
        rows={4}
        maxLength={12_000}
        value={publicKey}
        onChange={(event) => setPublicKey(event.target.value)}
        error={errorsAt(problem?.errors, '/publicKey')}
      />
      <TextField
        label={t.name}
        help={t.nameHelp}
        optional
        maxLength={60}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={errorsAt(problem?.errors, '/name')}
      />
      {problem !== null && <ErrorNote error={error} hideErrors={['/publicKey', '/name']} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.add}
        </Button>
      </DialogActions>
    </Form>
  )
}
