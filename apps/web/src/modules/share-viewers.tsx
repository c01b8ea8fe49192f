import { useQuery } from '@tanstack/react-query'
import { Eye } from 'lucide-react'
import { shareViewersQuery } from '../api/network.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { formatCount } from '../lib/traffic.ts'
import { deviceOf } from '../lib/user-agent.ts'
import { texts } from '../texts/index.ts'

const t = texts.network.share

/** Who opened the share. */
export function ShareViewers({ project, share }: { project: string; share: string }) {
  const query = useQuery(shareViewersQuery(project, share))
  return (
    <Panel title={t.viewersTitle} flush>
      {query.isPending ? (
        <SkeletonList rows={2} height="h-8" />
      ) : query.data === undefined ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : query.data.length === 0 ? (
        <EmptyState icon={Eye} title={t.noViewers} detail={t.noViewersDetail} />
      ) : (
        <Table
          label={t.viewersTitle}
          head={[
            { title: t.columns.device },
            { title: t.columns.address },
            { title: t.columns.requests, end: true },
            { title: t.columns.first },
            { title: t.columns.last },
          ]}
        >
          {query.data.map(({ time, address, userAgent, requests, lastSeenAt }) => {
            const { program, system } = deviceOf(userAgent)
            return (
              <tr key={`${address} ${userAgent} ${time}`} className="hover:bg-hover/60">
                <Cell className="max-w-72">
                  <span className="block truncate" title={userAgent ?? undefined}>
                    {texts.sessions.device(program, system) || texts.sessions.unknownDevice}
                  </span>
                </Cell>
                <Cell>
                  <code>{address}</code>
                </Cell>
                <Cell end className="numbers">
                  {formatCount(requests)}
                </Cell>
                <Cell className="text-ink-2">
                  <TimeAgo time={time} />
                </Cell>
                <Cell className="text-ink-2">
                  <TimeAgo time={lastSeenAt} />
                </Cell>
              </tr>
            )
          })}
        </Table>
      )}
    </Panel>
  )
}
