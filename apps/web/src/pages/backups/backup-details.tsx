import type { Backup } from '@stackquay/contract'
import { CircleCheck, CircleX, TriangleAlert } from 'lucide-react'
import { Cell, Table } from '../../components/table.tsx'
import { formatBytes, formatDateTime, formatElapsed } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backups

/** Its parts, how each was taken, and what the drill looked at. */
export function BackupDetails({ backup }: { backup: Backup }) {
  const warnings = backup.parts.flatMap((part) => part.warnings.map((text) => `${part.title}: ${text}`))
  return (
    <div className="mt-3 flex flex-col gap-3 sm:pl-5">
      <div className="rounded-lg border border-line">
        <Table
          label={t.partsTitle}
          head={[
            { title: t.columns.part },
            { title: t.columns.taken },
            { title: t.columns.moment },
            { title: t.columns.stored, end: true },
            { title: t.columns.content, end: true },
          ]}
        >
          {backup.parts.map((part) => (
            <tr key={part.id}>
              <Cell>
                <span className="block">
                  {part.title} {part.version}
                </span>
                <span className="block font-mono text-sm text-ink-3">{part.id}</span>
              </Cell>
              <Cell className="whitespace-nowrap">{t.methods[part.method]}</Cell>
              <Cell className="numbers whitespace-nowrap">{formatDateTime(part.takenAt)}</Cell>
              <Cell end className="numbers whitespace-nowrap">
                {formatBytes(part.bytes)}
              </Cell>
              <Cell end className="numbers whitespace-nowrap">
                {formatBytes(part.contentBytes)}
              </Cell>
            </tr>
          ))}
        </Table>
      </div>
      {warnings.length > 0 && (
        <ul aria-label={texts.plan.warnings} className="flex flex-col gap-1 rounded-lg bg-warn-soft px-3 py-2">
          {warnings.map((text) => (
            <li key={text} className="flex gap-2">
              <TriangleAlert aria-hidden className="mt-1 size-3.5 shrink-0 text-warn" />
              <span className="min-w-0 break-words">{text}</span>
            </li>
          ))}
        </ul>
      )}
      <Checks backup={backup} />
    </div>
  )
}

function Checks({ backup: { verified } }: { backup: Backup }) {
  if (verified === null) return <p className="text-sm text-ink-2">{t.neverVerifiedDetail}</p>
  return (
    <section aria-label={t.checksTitle}>
      <p className="text-sm text-ink-2">
        {t.checked(formatDateTime(verified.at), formatElapsed(verified.seconds * 1000))}
      </p>
      <ul className="mt-1 flex flex-col gap-1">
        {verified.checks.map(({ part, check, ok, detail }) => (
          <li key={`${part} ${check}`} className="flex gap-2">
            {ok ? (
              <CircleCheck aria-label={t.checkOk} className="mt-0.5 size-4 shrink-0 text-good" />
            ) : (
              <CircleX aria-label={t.checkFault} className="mt-0.5 size-4 shrink-0 text-bad" />
            )}
            <span className="min-w-0 break-words">
              <span className="font-mono text-sm">{part}</span> {check}: {detail}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
