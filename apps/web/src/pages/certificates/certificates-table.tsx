import type { TlsCertificate } from '@stackquay/contract'
import { Button } from '../../components/button.tsx'
import { ActionsCell, Cell, Table } from '../../components/table.tsx'
import { formatDateTime } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'

const t = texts.certificates

const shownNames = 4

export function CertificatesTable({
  certificates,
  onRemove,
}: {
  certificates: readonly TlsCertificate[]
  onRemove: (certificate: TlsCertificate) => void
}) {
  const { columns } = t
  return (
    <Table
      label={t.title}
      head={[
        { title: columns.names },
        { title: columns.until },
        { title: columns.source },
        { title: columns.actions, hidden: true },
      ]}
    >
      {certificates.map((one) => (
        <tr key={one.id} className="hover:bg-hover/60">
          <Cell className="min-w-36">
            <Names names={one.names} />
            {[...one.warnings, ...(one.lastFailure === null ? [] : [one.lastFailure.detail])].map((text) => (
              <span key={text} className="mt-1 block text-sm break-words text-warn">
                {text}
              </span>
            ))}
          </Cell>
          <Cell className="min-w-32 text-ink-2">
            <span className="numbers block">{formatDateTime(one.notAfter)}</span>
            <span className="block text-xs">
              {one.nextRenewal === null ? t.noRenewal : t.renewal(formatDateTime(one.nextRenewal))}
            </span>
          </Cell>
          <Cell className="min-w-32 text-ink-2">
            <span className="block">{t.sources[one.source]}</span>
            <span className="block text-xs break-words">{one.issuer}</span>
          </Cell>
          <ActionsCell>
            {one.source !== 'local' && (
              <Button size="sm" aria-label={t.removeOne(one.names[0] ?? one.id)} onClick={() => onRemove(one)}>
                {t.remove}
              </Button>
            )}
          </ActionsCell>
        </tr>
      ))}
    </Table>
  )
}

function Names({ names }: { names: readonly string[] }) {
  const more = names.length - shownNames
  return (
    <>
      {names.slice(0, shownNames).map((name) => (
        <span key={name} className="block font-mono text-sm break-all">
          {name}
        </span>
      ))}
      {more > 0 && <span className="block text-xs text-ink-2">{t.moreNames(more)}</span>}
    </>
  )
}
