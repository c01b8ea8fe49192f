import type { DeviceView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { devicesQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../../components/table.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
import { deviceOf } from '../../lib/user-agent.ts'
import { texts } from '../../texts/index.ts'

const t = texts.sessions.devices

/** The browsers that are known of one, whether or not a session is open in them. */
export function DevicesPanel() {
  const query = useQuery(devicesQuery)
  const [forgetting, setForgetting] = useState<DeviceView | null>(null)
  const devices = (query.data ?? []).toSorted((one, other) => other.lastUsedAt.localeCompare(one.lastUsedAt))
  return (
    <>
      <Panel title={t.title} detail={t.detail} flush>
        <Loaded query={query} rows={2} height="h-9">
          {() =>
            devices.length === 0 ? (
              <p className="px-4 py-3 text-ink-2">{t.empty}</p>
            ) : (
              <Table
                label={t.title}
                head={[
                  { title: t.columns.device },
                  { title: t.columns.address },
                  { title: t.columns.used },
                  { title: t.columns.known },
                  { title: t.columns.actions, hidden: true },
                ]}
              >
                {devices.map((device) => (
                  <tr key={device.id} className="hover:bg-hover/60">
                    <Cell className="min-w-40">
                      <span className="font-medium" title={device.userAgent ?? undefined}>
                        {nameOf(device)}
                      </span>
                    </Cell>
                    <Cell className="numbers whitespace-nowrap text-ink-2">{device.ip ?? '–'}</Cell>
                    <Cell className="text-ink-2">
                      <TimeAgo time={device.lastUsedAt} />
                    </Cell>
                    <Cell className="text-ink-2">
                      <TimeAgo time={device.createdAt} />
                    </Cell>
                    <ActionsCell>
                      <Button size="sm" aria-label={t.forgetOne(nameOf(device))} onClick={() => setForgetting(device)}>
                        {t.forget}
                      </Button>
                    </ActionsCell>
                  </tr>
                ))}
              </Table>
            )
          }
        </Loaded>
      </Panel>
      <ConfirmDialog
        open={forgetting !== null}
        onClose={() => setForgetting(null)}
        title={t.forgetTitle}
        detail={forgetting === null ? '' : t.forgetDetail(nameOf(forgetting))}
        submit={t.forgetSubmit}
        onConfirm={async () => {
          if (forgetting === null) return
          await client.call('forgetDevice', { params: { did: forgetting.id } })
          await query.refetch()
          toastDone(t.forgotten)
        }}
      />
    </>
  )
}

function nameOf({ userAgent }: DeviceView): string {
  const { program, system } = deviceOf(userAgent)
  return texts.sessions.device(program, system) || texts.sessions.unknownDevice
}
