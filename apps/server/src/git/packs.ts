import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { failureOf, lastLines } from '../source/git-failure.ts'
import type { GitHome } from '../source/git-home.ts'
import { aloneSettings, asOptions, gitEnvironment, networkSettings } from '../source/git-settings.ts'
import { feed, localEnvironment, type Repository } from '../source/local-git.ts'
import { type GitCommand, readLines, startGit } from '../source/run-git.ts'

/** One of the two that hand objects to each other: neither can read the files of the other. */
export interface Side {
  readonly name: string
  command(args: readonly string[]): Omit<GitCommand, 'stdio'>
}

export function projectSide(repository: Repository): Side {
  return {
    name: 'the project',
    command: (args) => ({
      args: [...asOptions([...aloneSettings, ...repository.settings]), ...args],
      cwd: repository.path,
      account: repository.account,
      env: localEnvironment(repository.path),
      alone: true,
    }),
  }
}

export function mirrorSide(home: GitHome, mirror: string): Side {
  return {
    name: 'the mirror',
    command: (args) => ({
      args: [...asOptions(networkSettings), ...args],
      cwd: mirror,
      account: home.user,
      env: { ...gitEnvironment(), GIT_DIR: mirror },
    }),
  }
}

/** Answers what git says, and fails with its words. */
export async function answerOf(
  side: Side,
  args: readonly string[],
  { input, signal }: { readonly input?: string; readonly signal: AbortSignal },
): Promise<string> {
  const git = await startGit({
    ...side.command(args),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  if (input !== undefined) feed(git.child.stdin!, input)
  const words = lastLines()
  const stdout: string[] = []
  git.child.stdout!.setEncoding('utf8').on('data', (text: string) => stdout.push(text))
  readLines(git.child.stderr!, words.add)
  return untilEnded([git], signal, async () => {
    if ((await git.ended) === 0) return stdout.join('')
    throw failureOf(`git ${args[0]} failed in ${side.name}`, words)
  })
}

/**
 * Hands over what is reached from `revisions` (`^` before those that are there already). Nothing is started on the receiving side when
 * there is nothing to hand over; a few objects become single files, many a pack.
 */
export async function handOver(
  from: Side,
  to: Side,
  revisions: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const packer = await startGit({
    ...from.command(['pack-objects', '--revs', '--stdout', '--thin', '--delta-base-offset', '--quiet']),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // At once: what nobody reads when a program ends is thrown away.
  const pack = packer.child.stdout!.pipe(new PassThrough())
  feed(packer.child.stdin!, `${revisions.join('\n')}\n`)
  const packing = lastLines()
  readLines(packer.child.stderr!, packing.add)
  return untilEnded([packer], signal, async () => {
    const { head, objects } = await headOf(pack)
    const failed = () => failureOf(`git could not read the objects of ${from.name}`, packing)
    if (objects === null) {
      await packer.ended
      throw failed()
    }
    if (objects === 0) {
      pack.resume()
      return 0
    }
    const program = objects < fewObjects ? ['unpack-objects', '-q'] : ['index-pack', '--stdin', '--fix-thin']
    const taker = await startGit({ ...to.command(program), stdio: ['pipe', 'ignore', 'pipe'] })
    const taking = lastLines()
    readLines(taker.child.stderr!, taking.add)
    await untilEnded([taker], signal, async () => {
      const sending = async function* () {
        yield head
        yield* pack
      }
      // Who ends early is known by its exit code and words, not by a broken pipe.
      await pipeline(sending, taker.child.stdin!).catch(() => undefined)
      const [taken, packed] = await Promise.all([taker.ended, packer.ended])
      if (taken !== 0) throw failureOf(`git could not store the objects in ${to.name}`, taking)
      if (packed !== 0) throw failed()
    })
    return objects
  })
}

const fewObjects = 200

/** `PACK`, version, and how many objects; null where it ends before that. */
async function headOf(stream: Readable): Promise<{ readonly head: Buffer; readonly objects: number | null }> {
  for (;;) {
    const head = stream.read(12) as Buffer | null
    if (head !== null)
      return {
        head,
        objects: head.length === 12 && head.toString('latin1', 0, 4) === 'PACK' ? head.readUInt32BE(8) : null,
      }
    if (stream.readableEnded || stream.destroyed) return { head: Buffer.alloc(0), objects: null }
    await new Promise<void>((resolve) => {
      const done = () => {
        for (const name of ['readable', 'end', 'close']) stream.off(name, done)
        resolve()
      }
      for (const name of ['readable', 'end', 'close']) stream.on(name, done)
    })
  }
}

async function untilEnded<T>(
  programs: readonly { end(): void }[],
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  const end = () => {
    for (const program of programs) program.end()
  }
  signal.addEventListener('abort', end, { once: true })
  try {
    if (signal.aborted) end()
    return await act()
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}
