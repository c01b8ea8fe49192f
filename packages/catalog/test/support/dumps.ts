import { text } from 'node:stream/consumers'
import type { DatabaseInput, DumpMethod, DumpMode, DumpNote } from '@stackquay/catalog'
import { begin } from './backups.ts'
import type { Machine } from './run-workload.ts'

/** Exports and imports as the service does: its programs beside the running server, as the user of the project. */
export function dumpsOf(method: DumpMethod<DatabaseInput>, input: DatabaseInput, machine: Machine) {
  const run = async (program: ReturnType<typeof method.look>, pieces: Iterable<Buffer> | null = null) => {
    const running = await begin(program, machine, pieces !== null)
    if (pieces !== null) void feed(running.child.stdin!, pieces)
    const [printed] = await Promise.all([text(running.child.stdout!), running.succeeded()])
    return printed
  }
  const key = 'K3y'
  return {
    run,
    look: async () => JSON.parse(await run(method.look(input))) as { readonly isEmpty: boolean },
    write: (format = 'sql') => run(method.write(input, format)),
    /** Answers what was left out. */
    async load(dump: string | Buffer, mode: DumpMode): Promise<readonly DumpNote[]> {
      const reader = method.reader({ mode, key })
      const pieces = [...reader.read(Buffer.from(dump)), ...reader.end()]
      await run(method.load(input, { format: 'sql', mode, key }), pieces)
      return reader.notes()
    },
    /** As it is, without the reader in front of the server. */
    loadRaw: (dump: string | Buffer, mode: DumpMode, { format = 'sql', ending = `\n\\unrestrict ${key}\n` } = {}) =>
      run(method.load(input, { format, mode, key }), [Buffer.from(dump), Buffer.from(format === 'sql' ? ending : '')]),
    clean: async (empties = false) => {
      const program = method.clean(input, empties)
      if (program !== null) await run(program)
    },
  }
}

async function feed(stdin: NodeJS.WritableStream, pieces: Iterable<Buffer>): Promise<void> {
  stdin.on('error', () => {})
  for (const piece of pieces) stdin.write(piece)
  stdin.end()
}
