import { apiPrefix } from '@stackquay/client'
import type { Tls } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { client } from '../../api/client.ts'
import { instanceSettingsQuery } from '../../api/queries.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Facts } from '../../components/facts.tsx'
import { Switch } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { formatDateTime } from '../../lib/format.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.certificates

/** Certificates for this machine, and what lets browsers take them. */
export function LocalAuthority({ authority, onChanged }: Pick<Tls, 'authority'> & { onChanged: () => void }) {
  const queries = useQueryClient()
  const setting = useQuery(instanceSettingsQuery).data?.items.find(({ key }) => key === 'tlsLocal')
  const { busy, error, run } = useSubmit()
  const isOn = setting?.value === 'on'
  const change = (on: boolean) =>
    run(async () => {
      const body = { settings: { tlsLocal: on ? 'on' : 'off' } }
      queries.setQueryData(instanceSettingsQuery.queryKey, await client.call('updateSettings', { body }))
      onChanged()
      toastDone(on ? t.localOn : t.localOff)
    })
  return (
    <Panel title={t.local} detail={t.localDetail}>
      <div className="flex flex-col gap-4">
        <Switch
          label={t.localSwitch}
          checked={isOn}
          disabled={busy || setting === undefined || setting.source === 'environment'}
          onChange={(on) => void change(on)}
          {...(setting?.source === 'environment' && {
            help: texts.instanceSettings.environment(setting.variable),
          })}
        />
        {error !== null && <ErrorNote error={error} />}
        {isOn && authority !== null && (
          <>
            <div className="flex max-w-prose flex-col gap-2">
              <h3 className="font-medium">{t.trust}</h3>
              <p className="text-ink-2">{t.trustDetail}</p>
              <CodeBlock code={t.trustCommand} label={t.trust} />
              <p className="text-ink-2">{t.trustByHand}</p>
              <a
                href={`${apiPrefix}/settings/tls/ca.crt`}
                download="stackquay-ca.crt"
                className="inline-flex h-8 w-fit items-center gap-2 rounded-md border border-line bg-surface px-3 hover:bg-hover"
              >
                <Download aria-hidden className="size-4 text-ink-3" />
                {t.download}
              </a>
            </div>
            <Facts
              items={[
                [t.limitedTo, authority.names.join(', ')],
                [t.fingerprint, <code key="fingerprint">{authority.fingerprint}</code>],
                [t.columns.until, formatDateTime(authority.notAfter)],
              ]}
            />
          </>
        )}
      </div>
    </Panel>
  )
}
