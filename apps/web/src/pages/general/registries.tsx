import type { InstanceSettings } from '@stackquay/contract'
import { useQueryClient } from '@tanstack/react-query'
import { Container, Plus } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { instanceSettingsQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Panel } from '../../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../../components/table.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt, pointerPart } from '../../lib/field-errors.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.instanceSettings

type Login = { username: string; password: string } | null

function useSetLogin() {
  const queries = useQueryClient()
  return async (host: string, login: Login) => {
    const saved = await client.call('updateSettings', { body: { registries: { [host]: login } } })
    queries.setQueryData(instanceSettingsQuery.queryKey, saved)
  }
}

/** Logins for pulling images. */
export function Registries({ registries }: Pick<InstanceSettings, 'registries'>) {
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<string | null>(null)
  const setLogin = useSetLogin()
  return (
    <Panel
      title={t.registries}
      detail={t.registriesDetail}
      flush
      actions={
        <Button icon={Plus} onClick={() => setAdding(true)}>
          {t.addRegistry}
        </Button>
      }
    >
      {registries.length === 0 ? (
        <EmptyState icon={Container} title={t.registriesEmptyTitle} detail={t.registriesEmptyDetail} />
      ) : (
        <Table
          label={t.registries}
          head={[{ title: t.columns.host }, { title: t.columns.username }, { title: t.columns.actions, hidden: true }]}
        >
          {registries.map(({ host, username }) => (
            <tr key={host} className="hover:bg-hover/60">
              <Cell className="min-w-32 font-mono text-sm break-all">{host}</Cell>
              <Cell className="text-ink-2 break-all">{username}</Cell>
              <ActionsCell>
                <Button size="sm" aria-label={t.removeOne(host)} onClick={() => setRemoving(host)}>
                  {t.remove}
                </Button>
              </ActionsCell>
            </tr>
          ))}
        </Table>
      )}
      <Dialog open={adding} onClose={() => setAdding(false)} title={t.addRegistry} detail={t.addRegistryDetail}>
        <AddRegistry onClose={() => setAdding(false)} />
      </Dialog>
      <ConfirmDialog
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={t.removeTitle(removing ?? '')}
        detail={t.removeDetail}
        submit={t.remove}
        onConfirm={async () => {
          if (removing === null) return
          await setLogin(removing, null)
          toastDone(t.removed)
        }}
      />
    </Panel>
  )
}

function AddRegistry({ onClose }: { onClose: () => void }) {
  const [host, setHost] = useState('')
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const setLogin = useSetLogin()
  const { busy, error, problem, run } = useSubmit()
  const name = host.trim()
  const at = `/registries/${pointerPart(name)}`
  const submit = () =>
    run(async () => {
      await setLogin(name, { username: username.trim(), password })
      toastDone(t.registryAdded)
      onClose()
    })
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.host}
        help={t.hostHelp}
        required
        autoFocus
        mono
        spellCheck={false}
        autoCapitalize="none"
        maxLength={260}
        value={host}
        onChange={(event) => setHost(event.target.value)}
        error={errorsAt(problem?.errors, at)}
      />
      <TextField
        label={t.username}
        required
        maxLength={200}
        value={username}
        onChange={(event) => setUsername(event.target.value)}
      />
      <TextField
        label={t.registryPassword}
        type="password"
        autoComplete="new-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {error !== null && <ErrorNote error={error} hideErrors={[at]} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.addRegistry}
        </Button>
      </DialogActions>
    </Form>
  )
}
