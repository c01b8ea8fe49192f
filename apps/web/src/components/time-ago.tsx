import { formatDateTime, formatRelative } from '../lib/format.ts'
import { useNow } from './use-now.ts'

export function TimeAgo({ time }: { time: string }) {
  const now = useNow()
  return (
    <time dateTime={time} title={formatDateTime(time)} className="numbers whitespace-nowrap">
      {formatRelative(time, now)}
    </time>
  )
}
