import type { FakeEngine } from '@stackquay/engine-api/fake-engine'

/** What the programs of a database with an archive print: the log has its first three pieces, and the server writes the third. */
export interface ArchiveServer {
  pieces: readonly (readonly [first: string, last: string])[]
  newest: string | null
  waitingSince: string | null
  /** What recovering prints; null: it fails. */
  recovered: object | null
  readonly asked: { readonly act: string; readonly words: readonly string[]; readonly data: readonly string[] }[]
}

/** From now on these programs answer so on this machine, and a copy of data is held; others are what they were. */
export function serveArchives(engine: FakeEngine): ArchiveServer {
  const server: ArchiveServer = {
    pieces: [['A1', 'A3']],
    newest: 'A3',
    waitingSince: null,
    recovered: { lastTransactionAt: '2026-11-26T10:00:00.123456Z' },
    asked: [],
  }
  const { exec } = engine.commands
  engine.commands.exec = async (program, io, context) => {
    const { argv, data } = program
    const act = (argv[0] === '/bin/sh' ? argv[3] : argv[2]) ?? ''
    const endsAt = new Date().toISOString()
    const runs = server.pieces.map(([first, last]) => ({ first, last, endsAt }))
    const { newest, waitingSince, recovered } = server
    const answers: Readonly<Record<string, string>> = {
      mark: JSON.stringify({ piece: server.pieces.at(-1)?.[1] }),
      look: JSON.stringify({ runs, newest, waiting: waitingSince === null ? 0 : 2, waitingSince }),
      recover: JSON.stringify(recovered),
      prune: '',
      hold: 'ready\n{}',
    }
    const answer = answers[act]
    if (answer === undefined) return exec(program, io, context)
    server.asked.push({ act, words: argv.slice(4), data: data.map(({ name }) => name) })
    if (act === 'recover' && recovered === null) {
      await io.output('stderr', Buffer.from('The log of changes ends before that moment.\n'))
      return { code: 1, signal: null, at: endsAt }
    }
    await io.output('stdout', Buffer.from(`${answer}\n`))
    return { code: 0, signal: null, at: endsAt }
  }
  return server
}
