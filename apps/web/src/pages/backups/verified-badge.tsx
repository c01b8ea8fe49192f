import type { Backup } from '@stackquay/contract'
import { ShieldAlert, ShieldCheck, ShieldQuestion, ShieldX } from 'lucide-react'
import { cx } from '../../components/class-names.ts'
import { useNow } from '../../components/use-now.ts'
import { formatDateTime, formatRelative } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backups

const looks = {
  whole: { icon: ShieldCheck, className: 'bg-good-soft text-good' },
  faulty: { icon: ShieldX, className: 'bg-bad-soft text-bad' },
  failed: { icon: ShieldAlert, className: 'bg-warn-soft text-warn' },
  never: { icon: ShieldQuestion, className: 'bg-idle-soft text-ink-2' },
} as const

/** Whether it was restored, when, and what was found: shape and words, not colour alone. */
export function VerifiedBadge({ backup: { verified } }: { backup: Backup }) {
  const now = useNow()
  const { icon: Icon, className } = looks[verified?.outcome ?? 'never']
  return (
    <span
      title={verified === null ? t.neverVerified : formatDateTime(verified.at)}
      className={cx('inline-flex h-6 items-center gap-1.5 rounded-full px-2 text-sm whitespace-nowrap', className)}
    >
      <Icon aria-hidden className="size-3.5" />
      {verified === null ? t.neverVerified : t.outcomes[verified.outcome](formatRelative(verified.at, now))}
    </span>
  )
}
