import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { Client, type Connection, type Submittable } from 'pg'
import { pack } from 'tar-stream'

/**
 * Writes a base backup of the cluster that the environment names, as a tar of its folder, by the replication protocol, as
 * `pg_basebackup --format=tar --wal-method=fetch` does it. With the log up to its end inside, a server starts from it as
 * after a crash, and has every transaction that was committed before it ended.
 */
export async function writeBaseBackup(output: Writable): Promise<void> {
  const client = new Client({ replication: 'true' } as ConstructorParameters<typeof Client>[0])
  client.on('error', () => {})
  client.on('notice', ({ message }) => process.stderr.write(`${message}\n`))
  await client.connect()
  try {
    // Gone with this connection. Until then the server keeps the log that a backup of a busy cluster has in it at the end.
    await client.query(`CREATE_REPLICATION_SLOT "stackquay_backup_${process.pid}" TEMPORARY PHYSICAL RESERVE_WAL`)
    const archive = new BaseBackup(output)
    client.query(archive)
    const manifest = await archive.whole
    await writeLastEntry(output, 'backup_manifest', manifest)
  } finally {
    await client.end()
  }
}

const command = `BASE_BACKUP ( LABEL 'Stackquay', CHECKPOINT 'fast', WAL true, WAIT false, MANIFEST 'yes' )`

/** Two blocks of zeroes end an archive. */
const trailerBytes = 1024

/**
 * What the server answers to that command: two results, then one stream whose messages say with their first byte what they are
 * (https://www.postgresql.org/docs/current/protocol-replication.html, BASE_BACKUP), then one result. `pg` hands the messages of
 * a command to the object that submitted it.
 */
class BaseBackup implements Submittable {
  /** The manifest, once all of the archive but the end of it is written. */
  readonly whole: Promise<Buffer>
  private readonly output: Writable
  private readonly settle: PromiseWithResolvers<Buffer>
  private readonly manifest: Buffer[] = []
  private into: 'archive' | 'manifest' = 'archive'
  private tail: Buffer = Buffer.alloc(0)
  private failure: Error | null = null

  constructor(output: Writable) {
    this.output = output
    this.settle = Promise.withResolvers()
    this.whole = this.settle.promise
  }

  submit(connection: Connection): void {
    connection.query(command)
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }, connection: Connection): void {
    if (this.failure !== null) return
    const body = chunk.subarray(1)
    switch (String.fromCharCode(chunk[0] ?? 0)) {
      case 'n':
        this.begin(body.subarray(0, body.indexOf(0)).toString())
        break
      case 'm':
        this.into = 'manifest'
        break
      case 'd':
        // `pg` may write over the message when the next one comes.
        if (this.into === 'manifest') this.manifest.push(Buffer.from(body))
        else this.write(body, connection)
        break
      case 'p':
        break
      default:
        this.failure = new Error('The server sent a message that this program does not know.')
    }
    if (this.failure !== null) connection.stream.destroy(this.failure)
  }

  handleReadyForQuery(): void {
    if (this.tail.length !== trailerBytes || this.tail.some((byte) => byte !== 0)) {
      this.settle.reject(new Error('The server sent no whole archive.'))
    } else this.settle.resolve(Buffer.concat(this.manifest))
  }

  handleError(error: Error): void {
    this.settle.reject(this.failure ?? error)
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}

  /** Tablespaces have archives of their own, which come first. */
  private begin(archive: string): void {
    if (archive === 'base.tar') return
    this.failure = new Error(
      'The cluster has tablespaces outside its folder, which a backup cannot hold. Move what is in them to pg_default, then drop them.',
    )
  }

  /** All but the last two blocks, for another entry follows. */
  private write(body: Buffer, connection: Connection): void {
    const known = Buffer.concat([this.tail, body])
    const end = Math.max(known.length - trailerBytes, 0)
    this.tail = known.subarray(end)
    if (end === 0 || this.output.write(known.subarray(0, end))) return
    connection.stream.pause()
    this.output.once('drain', () => connection.stream.resume())
  }
}

/** And the end of the archive. */
async function writeLastEntry(output: Writable, name: string, content: Buffer): Promise<void> {
  const last = pack()
  last.entry({ name, mode: 0o600 }, content)
  last.finalize()
  for await (const chunk of last) if (!output.write(chunk)) await once(output, 'drain')
}
