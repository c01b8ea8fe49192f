import type { TlsCertificate, TlsHost } from '@stackquay/contract'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { cx } from '../../components/class-names.ts'
import { Cell, Table } from '../../components/table.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.certificates

const most = 50

/** Which certificate each name of a project has. Those without come first. */
export function HostsTable({
  hosts,
  certificates,
}: {
  hosts: readonly TlsHost[]
  certificates: readonly TlsCertificate[]
}) {
  const [all, setAll] = useState(false)
  const sources = new Map(certificates.map(({ id, source }) => [id, t.sources[source]]))
  const ordered = hosts.toSorted((a, b) => Number(a.https) - Number(b.https))
  const shown = all ? ordered : ordered.slice(0, most)
  return (
    <>
      <Table
        label={t.hosts}
        head={[{ title: t.columns.host }, { title: t.columns.project }, { title: t.columns.certificate }]}
      >
        {shown.map(({ host, project, certificate, https }) => (
          <tr key={host} className="hover:bg-hover/60">
            <Cell className="min-w-40 font-mono text-sm break-all">{host}</Cell>
            <Cell className="text-ink-2 break-all">{project}</Cell>
            <Cell className={cx('min-w-28', https ? 'text-good' : 'text-ink-2')}>
              {https ? (sources.get(certificate ?? '') ?? t.onItsWay) : t.http}
            </Cell>
          </tr>
        ))}
      </Table>
      {ordered.length > shown.length && (
        <div className="border-t border-line p-3">
          <Button size="sm" onClick={() => setAll(true)}>
            {t.showAll(ordered.length)}
          </Button>
        </div>
      )}
    </>
  )
}
