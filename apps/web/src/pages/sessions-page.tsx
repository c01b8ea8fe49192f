import type { SessionView } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { LogOut } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { devicesQuery, sessionsQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone } from '../components/toast.tsx'
import { deviceOf } from '../lib/user-agent.ts'
import { texts } from '../texts/index.ts'
import { LinkProvider } from './login-provider.tsx'
import { DevicesPanel } from './sessions/devices-panel.tsx'
import { useTitle } from './use-title.ts'

const t = texts.sessions

export function SessionsPage() {
  useTitle(t.title)
  const query = useQuery(sessionsQuery)
  const queries = useQueryClient()
  const [ending, setEnding] = useState<SessionView | null>(null)
  const [endingOthers, setEndingOthers] = useState(false)
  const sessions = query.data ?? []
  const others = sessions.filter(({ current }) => !current).length
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.title}
        detail={t.detail}
        actions={
          others > 0 && (
            <Button icon={LogOut} onClick={() => setEndingOthers(true)}>
              {t.endOthers}
            </Button>
          )
        }
      />
      <Panel flush>
        <Loaded query={query} rows={3} height="h-9">
          {() => (
            <Table
              label={t.title}
              head={[
                { title: t.columns.device },
                { title: t.columns.address },
                { title: t.columns.seen },
                { title: t.columns.began },
                { title: t.columns.ends },
                { title: t.columns.actions, hidden: true },
              ]}
            >
              {byUse(sessions).map((session) => (
                <SessionRow key={session.id} session={session} onEnd={() => setEnding(session)} />
              ))}
            </Table>
          )}
        </Loaded>
      </Panel>
      {query.data !== undefined && <p className="text-sm text-ink-2">{others === 0 ? t.onlyThis : t.suspicious}</p>}
      <LinkProvider />
      <DevicesPanel />
      <ConfirmDialog
        open={ending !== null}
        onClose={() => setEnding(null)}
        title={t.endTitle}
        detail={ending === null ? '' : t.endDetail(nameOf(ending), ending.ip ?? '')}
        submit={t.endSubmit}
        onConfirm={async () => {
          if (ending === null) return
          await client.call('endSession', { params: { sid: ending.id } })
          await query.refetch()
          toastDone(t.ended)
        }}
      />
      <ConfirmDialog
        open={endingOthers}
        onClose={() => setEndingOthers(false)}
        title={t.endOthersTitle}
        detail={t.endOthersDetail}
        submit={t.endOthersSubmit}
        onConfirm={async () => {
          const { ended } = await client.call('endOtherSessions')
          await Promise.all([query.refetch(), queries.invalidateQueries({ queryKey: devicesQuery.queryKey })])
          toastDone(t.othersEnded(ended))
        }}
      />
    </div>
  )
}

function SessionRow({ session, onEnd }: { session: SessionView; onEnd: () => void }) {
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="min-w-40">
        <span className="font-medium" title={session.userAgent ?? undefined}>
          {nameOf(session)}
        </span>
      </Cell>
      <Cell className="numbers whitespace-nowrap text-ink-2">{session.ip ?? '–'}</Cell>
      <Cell className="text-ink-2">
        <TimeAgo time={session.lastSeenAt} />
      </Cell>
      <Cell className="text-ink-2">
        <TimeAgo time={session.createdAt} />
      </Cell>
      <Cell className="text-ink-2">
        <TimeAgo time={session.expiresAt} />
      </Cell>
      <ActionsCell>
        {session.current ? (
          <span className="rounded-full bg-good-soft px-2 py-0.75 text-xs font-medium text-good">{t.current}</span>
        ) : (
          <Button size="sm" aria-label={t.endOne(nameOf(session))} onClick={onEnd}>
            {t.end}
          </Button>
        )}
      </ActionsCell>
    </tr>
  )
}

/** This one first, then the last used. */
function byUse(sessions: readonly SessionView[]): readonly SessionView[] {
  return sessions.toSorted(
    (one, other) => Number(other.current) - Number(one.current) || other.lastSeenAt.localeCompare(one.lastSeenAt),
  )
}

function nameOf({ userAgent }: SessionView): string {
  const { program, system } = deviceOf(userAgent)
  return t.device(program, system) || t.unknownDevice
}
