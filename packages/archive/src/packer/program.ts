import { withPrefix } from '../tar-prefix.ts'
import { treeContents } from '../tree-contents.ts'
import { compressInto } from './compressor.ts'
import type { FromPacker, Packed, Purpose } from './messages.ts'
import { outcomeOf } from './outcome.ts'
import { piecesOf } from './pieces.ts'

/*
 * The process that makes one part of a backup: it counts, compresses and hashes what comes in, so that the service sees numbers alone. It ends
 * with whoever started it.
 */

const input = 0
const file = 4
const tellEveryMs = 250

async function pack({ zstd, countsTree, prefix }: Purpose): Promise<Packed> {
  const tree = countsTree ? treeContents() : null
  const compressor = compressInto(file, zstd)
  const outcome = outcomeOf(file)
  let contentBytes = 0
  let told = Date.now()
  const packing = async () => {
    for await (const piece of prefix === undefined ? piecesOf(input) : withPrefix(piecesOf(input), prefix)) {
      const added = compressor.add(piece)
      added.catch(() => undefined)
      tree?.look(piece)
      await added
      outcome.look()
      contentBytes += piece.length
      if (Date.now() - told < tellEveryMs) continue
      told = Date.now()
      tell({ is: 'bytes', contentBytes })
    }
  }
  await Promise.race([packing(), compressor.failed])
  await compressor.end()
  return { ...(await outcome.end()), contentBytes, tree: tree?.found() ?? null }
}

function tell(message: FromPacker): void {
  if (process.connected) process.send!(message)
}

process.once('disconnect', () => process.exit(1))
try {
  tell({ is: 'packed', packed: await pack(JSON.parse(process.argv[2] ?? '') as Purpose) })
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  tell({ is: 'failed', code: String(code ?? ''), message })
}
