import { execFile } from 'node:child_process'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { Backup } from '@stackquay/contract'
import { atLeast, type Benchmark, type Table } from './benchmark.ts'
import { root } from './command.ts'
import { exportTo, importFrom } from './copies-acts.ts'
import { id, openWorld, type World } from './copies-world.ts'
import { median, medianRatio } from './numbers.ts'

const run = promisify(execFile)

export const benchmark: Benchmark = {
  title: 'Speed of backups and dumps',
  about: `A backup of files that cannot be compressed, one of a PostgreSQL that runs, and dumps out and in over HTTP; beside each, on the same data and in rounds that
alternate, what people would type. Ours with all that makes it one: checksums, what is counted in it before and after, the disk told to keep it. With the program \`zstd\`
on the PATH of the service, and without it. Medians; ratios are taken round by round. Needs the client programs of PostgreSQL 15, and \`zstd\`.`,
  async measure({ quick }) {
    const rounds = quick ? 1 : 3
    await using world = await openWorld(root, quick ? small : large)
    const found = new Map<string, Round[]>()
    for (const withZstd of [true, false]) {
      world.env.PATH = withZstd ? (process.env.PATH ?? '') : await pathWithoutZstd(world)
      await world.service.stop()
      await world.service.start()
      for (let round = 0; round < rounds; round += 1)
        for (const { what, peer, ours, theirs, usesZstd } of await peersOf(world)) {
          if (!usesZstd && !withZstd) continue
          const name = usesZstd ? `${what}, ${withZstd ? 'with zstd' : 'without zstd'}` : what
          const [own, other] = [await timed(ours), await timed(theirs)]
          found.set(name, [...(found.get(name) ?? []), { own, other, peer }])
          console.error(`  ${name}: ${seconds(own)} against ${seconds(other)}`)
        }
    }
    return { tables: [tableOf(found)], bars: [...found].map(barOf) }
  },
}

const small = { fileBytes: 32 << 20, rows: 20_000 }
/** The table is about 0.6 GB on the disk. */
const large = { fileBytes: 512 << 20, rows: 500_000 }

interface Round {
  readonly own: number
  readonly other: number
  readonly peer: string
}

interface Peer {
  readonly what: string
  readonly peer: string
  readonly usesZstd: boolean
  ours(): Promise<unknown>
  theirs(): Promise<unknown>
}

async function peersOf(world: World): Promise<readonly Peer[]> {
  const url = await world.urlOf('main')
  const [file, dump] = [join(world.folder, 'by-hand'), join(world.folder, 'dump.sql.gz')]
  const typed = (line: string) => () =>
    run('/bin/bash', ['-o', 'pipefail', '-c', `${line}; sync "$3"`, 'sh', world.path, url, file])
  const empty = async (database: string) => {
    const connection = await world.connect(database)
    await connection.query('DROP TABLE IF EXISTS book')
    await connection.end()
  }
  const database = () => backUp(world, 'database:main')
  return [
    {
      ...{ what: 'files', peer: 'tar | zstd -3', usesZstd: true },
      ours: () => backUp(world, 'files'),
      theirs: typed('tar -C "$1" -c . | zstd -3 -q -f -o "$3"'),
    },
    {
      what: 'PostgreSQL (dump)',
      peer: 'pg_dump -Fc',
      usesZstd: true,
      ours: database,
      theirs: typed('pg_dump -Fc -f "$3" "$2"'),
    },
    {
      ...{ what: 'PostgreSQL (copy)', peer: 'pg_basebackup | zstd -3', usesZstd: true },
      ours: database,
      theirs: typed('pg_basebackup -D - -Ft -X fetch -c fast -d "$2" | zstd -3 -q -f -o "$3"'),
    },
    {
      ...{ what: 'export', peer: 'pg_dump | gzip', usesZstd: false },
      ours: () => exportTo(world, dump),
      theirs: typed('pg_dump "$2" | gzip > "$3"'),
    },
    {
      ...{ what: 'import', peer: 'gunzip | psql', usesZstd: false },
      ours: async () => {
        await empty('second')
        await importFrom(world, dump, 'second', '')
      },
      theirs: async () => {
        await empty('second')
        const second = await world.urlOf('second')
        const line = 'gunzip -c "$1" | psql -q -v ON_ERROR_STOP=1 -1 "$2" > /dev/null'
        await run('/bin/bash', ['-o', 'pipefail', '-c', line, 'sh', dump, second])
      },
    },
  ]
}

async function backUp({ client }: World, part: string): Promise<void> {
  const query = { wait: 290 } as const
  const made = (await client.call('createBackup', { params: { id }, body: { parts: [part] }, query })) as Backup
  if (made.parts === undefined) throw new Error(JSON.stringify(made))
  await client.call('deleteBackup', { params: { id, backup: made.id } })
}

/** Links to all programs but one. */
async function pathWithoutZstd({ folder }: World): Promise<string> {
  const bin = join(folder, 'bin')
  await mkdir(bin, { recursive: true })
  for (const from of (process.env.PATH ?? '').split(delimiter))
    for (const name of await readdir(from).catch(() => []))
      if (name !== 'zstd') await symlink(join(from, name), join(bin, name)).catch(() => undefined)
  return bin
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await act()
  return performance.now() - begun
}

function tableOf(found: ReadonlyMap<string, readonly Round[]>): Table {
  const rows = [...found].map(([what, rounds]) => [
    what,
    seconds(median(rounds.map(({ own }) => own))),
    `\`${rounds[0]!.peer}\``,
    seconds(median(rounds.map(({ other }) => other))),
  ])
  return [['', 'Stackquay', 'by hand', ''], ...rows]
}

function barOf([what, rounds]: [string, readonly Round[]]) {
  const ratio = medianRatio(
    rounds.map(({ other }) => other),
    rounds.map(({ own }) => own),
  )
  return atLeast(`${what}, speed against ${rounds[0]!.peer}`, ratio, what.endsWith('without zstd') ? 0.6 : 0.9)
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(2)} s`
}
