import type { SourceFiles } from '@stackquay/catalog'
import { FilesError, type ProjectFiles } from '@stackquay/engines'
import { type FilesOf, isThere, type SourcePlace } from './files-of.ts'
import type { createSourceMemory } from './source-memory.ts'

/**
 * Where a look at a source comes from. `now`: read, by a process that acts as the project's user. `handedOver`: what a request read a
 * moment ago, else now. `remembered`: what was read the last time, where that is known, else now: quick, and enough where nothing
 * depends on the source, as at the start of the service.
 */
export type SourceRead = 'now' | 'handedOver' | 'remembered'

/** Of all files of one look together; what is beyond counts as there, without its content. */
const mostSourceBytes = 1024 * 1024
/** From a request to the operation that it began. */
const momentMs = 250

/** The ways in which what runtimes want to know of a source is had. */
export function createReadings(memory: ReturnType<typeof createSourceMemory>, filesOf: FilesOf) {
  /** Null where there is no folder: it is still to come, or it is gone. */
  const readThere = async (project: SourcePlace, files: readonly string[]) =>
    (await isThere(project.path)) ? readSource(await filesOf(project), project.path, files) : null
  const readNow = async (project: SourcePlace, files: readonly string[]) => (await readThere(project, files)) ?? {}
  const lately = new Map<string, Read>()
  const keepForMoment = (project: string, read: Read) => {
    lately.set(project, read)
    setTimeout(() => lately.get(project) === read && lately.delete(project), momentMs).unref()
  }
  const templates = new Map<string, Promise<SourceFiles>>()
  /** Once: what came with the installation stays as it is while the service runs. */
  const readTemplate = (place: SourcePlace, files: readonly string[]): Promise<SourceFiles> => {
    const copied = files.filter((name) => !name.split('/').includes('node_modules'))
    const key = [place.path, ...copied].join('\n')
    const known = templates.get(key)
    if (known !== undefined) return known
    const reading = readNow(place, copied)
    templates.set(key, reading)
    reading.catch(() => templates.delete(key))
    return reading
  }
  const readForMoment = async (project: SourcePlace, files: readonly string[]) => {
    lately.delete(project.id)
    const source = await readThere(project, files)
    keepForMoment(project.id, { files, source: source ?? {}, handed: 0 })
    return source
  }
  const readAndRemember = async (project: SourcePlace, files: readonly string[]) => {
    const source = await readForMoment(project, files)
    if (source === null) await memory.forget(project.id)
    else await memory.remember(project.id, files, source)
    return source ?? {}
  }
  const goOnOrRead = async (project: SourcePlace, files: readonly string[]) => {
    const read = lately.get(project.id)
    if (read === undefined || read.handed === 0 || !files.every((name) => read.files.includes(name)))
      return readAndRemember(project, files)
    read.handed -= 1
    const source = Object.fromEntries(Object.entries(read.source).filter(([name]) => files.includes(name)))
    await memory.remember(project.id, files, source)
    return source
  }
  const recallOrRead = async (project: SourcePlace, files: readonly string[]) =>
    (await memory.recall(project.id, files)) ?? readAndRemember(project, files)
  const readings = { now: readAndRemember, handedOver: goOnOrRead, remembered: recallOrRead } as const
  return {
    readings,
    readNow,
    readForMoment: async (project: SourcePlace, files: readonly string[]) =>
      (await readForMoment(project, files)) ?? {},
    /** So many who ask next for `handedOver` go on with what was just read. */
    handOver: (project: string, times: number) => {
      const read = lately.get(project)
      if (read !== undefined) read.handed = times
    },
    /** The project was just made of what lies there: who asks next for `handedOver` goes on with that. */
    handOverFrom: async (place: SourcePlace, project: string, files: readonly string[]) => {
      keepForMoment(project, { files, source: await readTemplate(place, files), handed: 1 })
    },
  }
}

/** What was read of a source a moment ago, and how many may still go on with it. */
interface Read {
  readonly files: readonly string[]
  readonly source: SourceFiles
  handed: number
}

/**
 * What is there of the files that were asked for. A path that leads out of the folder, by a link too, is not there. A folder that
 * cannot be read has none of them: what is missing then is said by what is needed.
 */
export async function readSource(files: ProjectFiles, root: string, names: readonly string[]): Promise<SourceFiles> {
  if (names.length === 0) return {}
  const paths = [...new Set(names)]
  const found = await files
    .readMany({ root, paths, maxBytesEach: mostSourceBytes, maxBytes: mostSourceBytes })
    .catch((error: unknown) => {
      if (error instanceof FilesError && error.code !== 'broken' && error.code !== 'timeout')
        return new Map<string, true>()
      throw error
    })
  return Object.fromEntries([...found].map(([name, content]) => [name, textOf(content)]))
}

function textOf(content: Buffer | true): string | true {
  return content === true || content.includes(0) ? true : content.toString('utf8')
}
