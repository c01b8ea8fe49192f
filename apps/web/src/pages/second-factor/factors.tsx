import { useQuery, useQueryClient } from '@tanstack/react-query'
import { LifeBuoy } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import { secondFactorQuery } from '../../api/second-factor.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { texts } from '../../texts/index.ts'
import { PasskeysPanel } from './passkeys-panel.tsx'
import { PasswordStep } from './password-step.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { TotpPanel } from './totp-panel.tsx'

const t = texts.secondFactor

/** All that one has besides the password. */
export function Factors() {
  const query = useQuery(secondFactorQuery)
  const queries = useQueryClient()
  const changed = async () => {
    await query.refetch()
    await queries.invalidateQueries({ queryKey: meQuery.queryKey })
  }
  return (
    <Loaded query={query} rows={4} height="h-16">
      {({ totp, passkeys, recoveryCodesLeft, required }) => {
        const has = totp !== null || passkeys.length > 0
        return (
          <div className="flex flex-col gap-4">
            {required && has && <p className="text-sm text-ink-2">{t.requiredNote}</p>}
            <TotpPanel totp={totp} onChanged={changed} />
            <PasskeysPanel passkeys={passkeys} onChanged={changed} />
            {has && <RecoveryPanel left={recoveryCodesLeft} onChanged={changed} />}
          </div>
        )
      }}
    </Loaded>
  )
}

function RecoveryPanel({ left, onChanged }: { left: number; onChanged: () => Promise<unknown> }) {
  const [open, setOpen] = useState(false)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const close = () => {
    setOpen(false)
    setCodes(null)
  }
  return (
    <Panel title={t.codes}>
      <p className="mb-3 max-w-prose text-ink-2">{t.recoveryDetail}</p>
      <p className={left < 3 ? 'mb-4 max-w-prose rounded-md bg-warn-soft px-3 py-2' : 'mb-4 font-medium'}>
        {t.codesLeft(left)}
      </p>
      <Button icon={LifeBuoy} onClick={() => setOpen(true)}>
        {t.codesNew}
      </Button>
      <Dialog
        open={open}
        onClose={close}
        title={t.codesNewTitle}
        detail={codes === null ? t.codesNewDetail : undefined}
      >
        {codes === null ? (
          <PasswordStep
            submit={t.codesNew}
            onClose={close}
            onPassword={async (password) => {
              setCodes((await client.call('replaceRecoveryCodes', { body: { password } })).recoveryCodes)
              await onChanged()
            }}
          />
        ) : (
          <RecoveryCodes codes={codes} onClose={close} />
        )}
      </Dialog>
    </Panel>
  )
}
