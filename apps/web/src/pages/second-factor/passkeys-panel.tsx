import type { PasskeyView } from '@stackquay/contract'
import { Fingerprint } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../../components/table.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
import { makePasskey, passkeysHere } from '../../lib/passkeys.ts'
import { deviceOf } from '../../lib/user-agent.ts'
import { withPasskey } from '../../modules/problem-of-passkey.ts'
import { texts } from '../../texts/index.ts'
import { PasswordStep } from './password-step.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'

const t = texts.secondFactor

export function PasskeysPanel({
  passkeys,
  onChanged,
}: {
  passkeys: readonly PasskeyView[]
  onChanged: () => Promise<unknown>
}) {
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<PasskeyView | null>(null)
  const why = passkeysHere()
  return (
    <Panel title={t.passkeys}>
      <p className="mb-4 max-w-prose text-ink-2">{t.passkeysDetail}</p>
      {passkeys.length > 0 && <Passkeys passkeys={passkeys} onRemove={setRemoving} />}
      {why === null ? (
        <Button icon={Fingerprint} onClick={() => setAdding(true)}>
          {t.passkeyAdd}
        </Button>
      ) : (
        <p className="max-w-prose rounded-md bg-sunken px-3 py-2 text-ink-2">{t.passkeysNot[why](location.port)}</p>
      )}
      <Dialog open={adding} onClose={() => setAdding(false)} title={t.passkeyAddTitle} detail={t.passkeyAddDetail}>
        <AddPasskey onClose={() => setAdding(false)} onChanged={onChanged} />
      </Dialog>
      <Dialog
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={t.passkeyRemoveTitle(removing?.name ?? '')}
        detail={t.passkeyRemoveDetail}
      >
        <PasswordStep
          submit={t.passkeyRemove}
          danger
          onClose={() => setRemoving(null)}
          onPassword={async (password) => {
            if (removing === null) return
            await client.call('removePasskey', { params: { kid: removing.id }, body: { password } })
            await onChanged()
            setRemoving(null)
            toastDone(t.passkeyRemoved)
          }}
        />
      </Dialog>
    </Panel>
  )
}

function Passkeys({
  passkeys,
  onRemove,
}: {
  passkeys: readonly PasskeyView[]
  onRemove: (passkey: PasskeyView) => void
}) {
  const { columns } = t
  return (
    <div className="mb-4 rounded-lg border border-line">
      <Table
        label={t.passkeys}
        head={[
          { title: columns.name },
          { title: columns.host },
          { title: columns.used },
          { title: columns.added },
          { title: columns.actions, hidden: true },
        ]}
      >
        {passkeys.map((passkey) => (
          <tr key={passkey.id} className="hover:bg-hover/60">
            <Cell className="min-w-32 font-medium break-words">{passkey.name}</Cell>
            <Cell className="text-ink-2">{passkey.host}</Cell>
            <Cell className="text-ink-2">
              {passkey.lastUsedAt === null ? t.never : <TimeAgo time={passkey.lastUsedAt} />}
            </Cell>
            <Cell className="text-ink-2">
              <TimeAgo time={passkey.createdAt} />
            </Cell>
            <ActionsCell>
              <Button size="sm" aria-label={t.passkeyRemoveOne(passkey.name)} onClick={() => onRemove(passkey)}>
                {t.remove}
              </Button>
            </ActionsCell>
          </tr>
        ))}
      </Table>
    </div>
  )
}

function AddPasskey({ onClose, onChanged }: { onClose: () => void; onChanged: () => Promise<unknown> }) {
  const [name, setName] = useState(usualName)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const done = () => {
    onClose()
    toastDone(t.passkeyAdded)
  }
  if (codes !== null) return <RecoveryCodes codes={codes} onClose={done} />
  return (
    <PasswordStep
      submit={t.passkeyMake}
      onClose={onClose}
      fields={['/name']}
      onPassword={(password) =>
        withPasskey(async () => {
          const options = await client.call('beginPasskey', { body: { password } })
          const credential = await makePasskey(options)
          const { recoveryCodes } = await client.call('addPasskey', { body: { name: name.trim(), credential } })
          // It holds already, however this dialog is closed.
          void onChanged()
          if (recoveryCodes.length > 0) setCodes(recoveryCodes)
          else done()
        })
      }
    >
      {(errorAt) => (
        <TextField
          label={t.passkeyName}
          help={t.passkeyNameHelp}
          required
          autoFocus
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={errorAt('/name')}
        />
      )}
    </PasswordStep>
  )
}

function usualName(): string {
  const { program, system } = deviceOf(navigator.userAgent)
  return [program, system].filter(Boolean).join(', ').slice(0, 60)
}
