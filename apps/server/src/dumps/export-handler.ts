import type { DumpFormat } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import type { DatabaseDump } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import type { Awake } from '../sleep/fall-asleep-and-wake.ts'
import { type ProjectUses, whileUsed } from '../sleep/uses.ts'
import { type Compression, compressed } from './compression.ts'
import { type DumpDeps, findDump, outputOfDump } from './find-dump.ts'

export function exportHandlers(
  deps: DumpDeps & { readonly store: Store; readonly awake: Awake; readonly uses: Pick<ProjectUses, 'begin'> },
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, 'exportDatabase'> {
  return {
    exportDatabase: async ({ params, query }, context) => {
      const row = await deps.awake(await find(params.id), context)
      refuseUnready(row)
      const dump = await findDump(row, params.db, deps, context.signal)
      const format = formatOf(dump, query.format ?? 'sql')
      const compression = query.compress ?? 'none'
      const written = outputOfDump(dump, dump.write(format.name), { act: 'The export' }, deps, context.signal)
      // What keeps it from beginning is still told with a status of its own.
      const begun = await begin(written)
      if (query.check === true) {
        await begun.return(undefined)
        return { status: 204 }
      }
      await deps.store.transaction((tx) =>
        tx.audit.append(
          context.audit({
            action: 'database.export',
            target: `${row.slug}/${params.db}`,
            project: row.id,
            changes: { format: format.name, compress: compression },
          }),
        ),
      )
      const name = `${row.slug}-${params.db}-${timeText(new Date())}.${format.extension}${suffixes[compression]}`
      return {
        status: 200,
        headers: {
          'content-type': typeOf(format, compression),
          'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '-')}"`,
        },
        stream: whileUsed(row.id, compressed(begun, compression), deps.uses),
      }
    },
  }
}

function formatOf({ formats, workload }: DatabaseDump, wanted: string): DumpFormat {
  const found = formats.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  const detail = `${workload.title} is exported as ${formats.map(({ name }) => name).join(' or ')}.`
  throw new ProblemError('engine_cannot', detail, { hint: 'Choose another format.' })
}

const suffixes: Readonly<Record<Compression, string>> = { none: '', gzip: '.gz', zstd: '.zst' }

function typeOf({ magic }: DumpFormat, compression: Compression): string {
  if (compression !== 'none') return `application/${compression}`
  return magic === undefined ? 'application/sql' : 'application/octet-stream'
}

function timeText(now: Date): string {
  return now.toISOString().slice(0, 16).replaceAll(':', '').replace('T', '-')
}

/** The same from its first bytes on. Throws what comes instead of them. */
async function begin(content: AsyncGenerator<Buffer>): Promise<AsyncGenerator<Buffer>> {
  const first = await content.next()
  return (async function* () {
    try {
      if (first.done !== true) yield first.value
      yield* content
    } finally {
      await content.return(undefined)
    }
  })()
}
