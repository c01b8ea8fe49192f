import { checkedArchive } from './checked-archive.ts'
import type { CopyDataOptions, DataCopied, DataRef } from './copy-data.ts'
import type { Aside } from './engine.ts'
import { EngineError } from './errors.ts'
import type { FakeMachine } from './fake-machine.ts'
import { aborted, rejectOnAbort } from './fake-waits.ts'
import { encodeEntry, textOf } from './tar-blocks.ts'

export function dataOf(machine: FakeMachine, project: string): readonly { name: string; sizeBytes: number }[] {
  return [...machine.data]
    .filter(([key]) => key.startsWith(`${project}/`))
    .map(([key, sizeBytes]) => ({ name: key.slice(project.length + 1), sizeBytes }))
}

export async function copyData(
  machine: FakeMachine,
  from: DataRef,
  to: DataRef,
  { live, onBytes }: CopyDataOptions,
  signal: AbortSignal,
): Promise<DataCopied> {
  const { data, archives } = machine
  const [source, target] = [`${from.project}/${from.name}`, `${to.project}/${to.name}`]
  const size = data.get(source)
  if (size === undefined || data.has(target)) {
    throw new EngineError('engine_cannot', `The data "${from.name}" cannot be copied.`, {
      hint: 'Check both projects.',
    })
  }
  if (live === undefined) refuseWhileUsed(machine, from.project, from.name, 'copied')
  // As it is now, like a copy of files: what is written while it goes on is not in it.
  const archive = archives.get(source) ?? archiveOf(source)
  await live?.between()
  if (signal.aborted) throw aborted()
  onBytes?.(size)
  data.set(target, size)
  archives.set(target, archive)
  return { method: machine.copyMethod, bytes: size }
}

/** What was written; of data that a workload made, an archive with one file that names it. */
export async function* readData(
  machine: FakeMachine,
  project: string,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  refuseWhileUsed(machine, project, name, 'read')
  const key = `${project}/${name}`
  if (!machine.data.has(key))
    throw new EngineError('engine_cannot', `There is no data named "${name}" to read.`, { hint: 'Start the project.' })
  const archive = machine.archives.get(key) ?? archiveOf(key)
  for (let at = 0; at < archive.length; at += chunkBytes) {
    if (signal.aborted) throw aborted()
    yield archive.subarray(at, at + chunkBytes)
  }
}

const chunkBytes = 64 << 10

export async function writeData(
  machine: FakeMachine,
  project: string,
  name: string,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  refuseWhileUsed(machine, project, name, 'replaced')
  const key = `${project}/${name}`
  if (machine.data.has(key))
    throw new EngineError('engine_cannot', `The project already has data named "${name}".`, {
      hint: 'Delete it first.',
    })
  const bytes = Buffer.concat(await Promise.race([Array.fromAsync(checkedArchive(archive)), rejectOnAbort(signal)]))
  machine.archives.set(key, bytes)
  machine.data.set(key, bytes.length)
}

export function deleteData(machine: FakeMachine, project: string, name: string): void {
  refuseWhileUsed(machine, project, name, 'deleted')
  machine.data.delete(`${project}/${name}`)
  machine.archives.delete(`${project}/${name}`)
}

export function asidesOf({ asides }: FakeMachine, project: string): readonly Aside[] {
  return [...asides.keys()]
    .filter((id) => id.startsWith(`${project}/`))
    .map((id) => {
      const [name = '', key = ''] = id.slice(project.length + 1).split('@')
      return { name, key }
    })
}

export function setDataAside(machine: FakeMachine, project: string, { name, key }: Aside): void {
  if (![name, key].every((text) => /^[\w-]{1,120}$/.test(text)))
    throw new EngineError('engine_cannot', 'That cannot be used as a file name.', { hint: 'Use another.' })
  refuseWhileUsed(machine, project, name, 'set aside')
  const { data, archives, asides } = machine
  const [place, aside] = [`${project}/${name}`, `${project}/${name}@${key}`]
  const sizeBytes = data.get(place)
  if (asides.has(aside) || sizeBytes === undefined) return
  asides.set(aside, { sizeBytes, archive: archives.get(place) })
  data.delete(place)
  archives.delete(place)
}

export function putDataBack({ data, archives, asides }: FakeMachine, project: string, { name, key }: Aside): void {
  const [place, id] = [`${project}/${name}`, `${project}/${name}@${key}`]
  const aside = asides.get(id)
  if (aside === undefined && data.has(place)) return
  if (aside === undefined || data.has(place))
    throw new EngineError('engine_cannot', `The data "${name}" cannot be put back.`, { hint: 'See what is there.' })
  data.set(place, aside.sizeBytes)
  if (aside.archive !== undefined) archives.set(place, aside.archive)
  asides.delete(id)
}

export function removeAside({ asides }: FakeMachine, project: string, { name, key }: Aside): void {
  asides.delete(`${project}/${name}@${key}`)
}

function refuseWhileUsed(machine: FakeMachine, project: string, name: string, verb: string): void {
  for (const { workload, state } of machine.workloads.values()) {
    const isUser = workload.ref.project === project && workload.data.some((mount) => mount.name === name)
    if (!isUser || state !== 'running') continue
    throw new EngineError('engine_cannot', `The data "${name}" is in use by ${workload.title} and cannot be ${verb}.`, {
      hint: 'Stop it first.',
      retryable: true,
    })
  }
}

function archiveOf(text: string): Buffer {
  const content = Buffer.alloc(Math.ceil(text.length / 512) * 512)
  content.write(text, 'latin1')
  const about = { link: '', uid: 0, gid: 0, modified: textOf('00000000000\0'), sparse: null }
  return Buffer.concat([
    encodeEntry({ ...about, name: './', kind: 'directory', mode: 0o700, size: 0 }),
    encodeEntry({ ...about, name: './data', kind: 'file', mode: 0o600, size: text.length }),
    content,
    Buffer.alloc(1024),
  ])
}
