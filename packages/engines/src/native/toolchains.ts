import { realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Engine, Toolchain, ToolchainQuery } from '@stackquay/engine-api'
import { anyProject } from './accounts.ts'
import { readJson, writeJson } from './atomic-file.ts'
import { type BundledProgram, reachableProgram } from './bundled.ts'
import { abortedError } from './errors.ts'
import type { Machine } from './machine.ts'
import { may } from './reach.ts'
import { candidates } from './toolchain-places.ts'
import { askVersion, type VersionAnswer } from './toolchain-version.ts'

/** Programs are started to learn their version; few at a time, because this happens while the server boots. */
const AT_ONCE = 4

interface Candidate {
  readonly query: ToolchainQuery
  readonly program: string
  readonly bundled: boolean
}

/**
 * Finds the programs of this machine that match, each started once; what was learnt of an unchanged file is remembered
 * on disk. Of several with the same version the first usable one is answered; unusable ones say why.
 */
export function createToolchains(machine: Machine, bundled: readonly BundledProgram[]): Engine['toolchains'] {
  return async (queries, signal) => {
    const cache = await openCache(machine)
    const own = await Promise.all(
      bundled.map((program) => reachableProgram(machine, program).then((path) => ({ ...program, path }))),
    )
    const around = { helpers: own.map((program) => dirname(program.path)), mayEnter: askedOnce(machine) }
    const all = await Promise.all(queries.map((query) => candidatesOf(query, own)))
    const found = await mapFew(all.flat(), async (candidate) => {
      if (signal.aborted) throw abortedError()
      const answer = await cache.answer(candidate, () =>
        askVersion(machine, candidate.query, candidate.program, around, signal),
      )
      return toolchain(candidate, answer)
    })
    if (signal.aborted) throw abortedError()
    await cache.save()
    return queries.flatMap((query) => distinct(found.filter((one) => one.name === query.name)))
  }
}

/** Many programs lie below the same few folders, and each question is a process. */
function askedOnce(machine: Machine): (directory: string) => Promise<boolean> {
  const answers = new Map<string, Promise<boolean>>()
  return (directory) => {
    const answer = answers.get(directory) ?? may(directory, anyProject(machine.accounts), 1)
    answers.set(directory, answer)
    return answer
  }
}

async function candidatesOf(
  query: ToolchainQuery,
  own: readonly (BundledProgram & { path: string })[],
): Promise<Candidate[]> {
  const named = own.filter((program) => program.name === query.name)
  const shipped = named.map((program) => program.path)
  const real = new Set(await Promise.all(named.flatMap(({ path, program }) => [realpath(path), realpath(program)])))
  const others: string[] = []
  for (const program of await candidates(query)) if (!real.has(await realpath(program))) others.push(program)
  return [
    ...others.map((program) => ({ query, program, bundled: false })),
    ...shipped.map((program) => ({ query, program, bundled: true })),
  ]
}

function toolchain({ query, program, bundled }: Candidate, answer: VersionAnswer): Toolchain {
  const reason = 'reason' in answer ? answer.reason : null
  return {
    name: query.name,
    version: answer.version,
    program,
    directory: dirname(program),
    available: reason === null,
    reason,
    bundled,
  }
}

function distinct(found: readonly Toolchain[]): Toolchain[] {
  const versions = new Map<string, Toolchain>()
  for (const one of found) if (one.available && !versions.has(one.version)) versions.set(one.version, one)
  const known = new Set(versions.keys())
  const unusable = found.filter((one) => {
    if (one.available || known.has(one.version)) return false
    if (one.version !== '') known.add(one.version)
    return true
  })
  return [...versions.values(), ...unusable]
}

async function mapFew<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await act(items[at] as T)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker))
  return results
}

/** Answers by what the file is: path, real path, time of change and size. Failures are asked again: they may have been repaired. */
async function openCache(machine: Machine) {
  const file = join(machine.home.toolchains, 'cache.json')
  const known = await readJson(file)
  const before = new Map<string, unknown>(typeof known === 'object' && known !== null ? Object.entries(known) : [])
  const versions = new Map<string, string>()
  let changed = false
  return {
    async answer({ query, program }: Candidate, ask: () => Promise<VersionAnswer>): Promise<VersionAnswer> {
      const target = await realpath(program)
      const { mtimeMs, size } = await stat(target)
      const key = [
        query.versionArgs.join(' '),
        query.versionPattern,
        program,
        target,
        mtimeMs,
        size,
        anyProject(machine.accounts)?.uid ?? '',
      ].join('\n')
      const remembered = before.get(key)
      if (typeof remembered === 'string') {
        versions.set(key, remembered)
        return { version: remembered }
      }
      const answer = await ask()
      if (!('reason' in answer)) {
        versions.set(key, answer.version)
        changed = true
      }
      return answer
    },
    async save(): Promise<void> {
      if (changed) await writeJson(file, Object.fromEntries([...before, ...versions])).catch(() => {})
    },
  }
}
