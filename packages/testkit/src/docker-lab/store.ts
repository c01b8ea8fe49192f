import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { access, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildBase, buildImage, buildOn } from './build.ts'
import { startDaemon } from './daemon.ts'
import { baseName, type LabImage, recipeOf, referenceOf } from './images.ts'
import { clearPlace, type Place, takePlace, unmountAll } from './place.ts'

/**
 * Images are built once, by a daemon whose data stay here: ignored by git, and outside node_modules, which `npm ci` deletes.
 * What a daemon knows of its images is published in a folder of its own after each build, so that it is never read half
 * written. Layers are never changed nor deleted, and every test's daemon uses them where they are.
 */
const store = fileURLToPath(new URL('../../../../.cache/docker-lab/', import.meta.url))
const builderRoot = join(store, 'root')
const currentFile = join(store, 'current.json')

interface Published {
  /** Folder below the store. */
  readonly folder: string
  /** By reference. */
  readonly recipes: Readonly<Record<string, string>>
}

/** Builds what is missing or has another recipe now. One process at a time builds; others wait and find it done. */
export async function ensureImages(
  names: readonly LabImage[],
  report: (line: string) => void = () => {},
): Promise<void> {
  if ((await missingImages(names)).length === 0) return
  await using _lock = await lockStore()
  const missing = await missingImages(names)
  if (missing.length > 0) await buildAll(missing, report)
}

/** Deletes all that was built when it is still what `seen` says: it is of no use, and the next caller builds it anew. */
export async function discardImages(seen: string | undefined): Promise<void> {
  await using _lock = await lockStore()
  if ((await readPublished())?.folder === seen) await discardAll()
}

async function discardAll(): Promise<void> {
  unmountAll(builderRoot)
  await rm(store, { recursive: true, force: true })
}

/** Names the images as they are published now. */
export async function publishedNow(): Promise<string | undefined> {
  return (await readPublished())?.folder
}

/** Gives a data-root that does not exist yet all published images. Layers are linked: this takes milliseconds. */
export async function provide(dataRoot: string): Promise<void> {
  const published = await readPublished()
  if (published === undefined) throw new Error('No images are published.')
  await mkdir(join(dataRoot, 'overlay2/l'), { recursive: true, mode: 0o710 })
  await cp(join(store, published.folder), join(dataRoot, 'image'), { recursive: true, preserveTimestamps: true })
  // What containers of builds that went on just then had written.
  for (const name of ['mounts', 'tmp'])
    await rm(join(dataRoot, 'image/overlay2/layerdb', name), { recursive: true, force: true })
  const layers = join(dataRoot, 'image/overlay2/layerdb/sha256')
  await Promise.all((await readdir(layers)).map((layer) => link(join(layers, layer), dataRoot)))
}

async function link(layer: string, dataRoot: string): Promise<void> {
  const id = await readFile(join(layer, 'cache-id'), 'utf8')
  const from = join(builderRoot, 'overlay2', id)
  const to = join(dataRoot, 'overlay2', id)
  await mkdir(to, { mode: 0o710 })
  const short = await readFile(join(from, 'link'), 'utf8')
  for (const name of ['link', 'lower', 'committed'])
    if (existsSync(join(from, name))) await cp(join(from, name), join(to, name))
  if (existsSync(join(from, 'lower'))) await mkdir(join(to, 'work'))
  await access(join(from, 'diff'))
  await symlink(join(from, 'diff'), join(to, 'diff'))
  await symlink(`../${id}/diff`, join(dataRoot, 'overlay2/l', short))
}

/** Which of these `ensureImages` would build. */
export async function missingImages(names: readonly LabImage[]): Promise<readonly LabImage[]> {
  const published = await readPublished()
  return names.filter((name) => published?.recipes[referenceOf(name)] !== recipeOf(name))
}

async function readPublished(): Promise<Published | undefined> {
  try {
    const published = JSON.parse(await readFile(currentFile, 'utf8')) as Published
    return existsSync(join(store, published.folder)) ? published : undefined
  } catch {
    return undefined
  }
}

async function buildAll(names: readonly LabImage[], report: (line: string) => void): Promise<void> {
  const place = takePlace()
  try {
    await startBuilder(place)
    if ((await missingImages([baseName])).length > 0) await buildOne(place, baseName, report)
    // Those that are made on others come after them.
    const bases = names.flatMap((name) => (typeof name === 'string' ? [] : [name.base]))
    const first = [...names.filter((name) => typeof name === 'string'), ...(await missingImages(bases))]
    await buildEach(
      place,
      [...new Set(first)].filter((name) => name !== baseName),
      report,
    )
    await buildEach(
      place,
      names.filter((name) => typeof name !== 'string'),
      report,
    )
  } finally {
    clearPlace(place)
    unmountAll(builderRoot)
  }
}

async function buildEach(place: Place, names: readonly LabImage[], report: (line: string) => void): Promise<void> {
  const queue = [...names]
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await buildOne(place, name, report)
  }
  // Builds wait for the network and for the disk in turns.
  const ends = await Promise.allSettled([worker(), worker()])
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

async function buildOne(place: Place, name: LabImage, report: (line: string) => void): Promise<void> {
  const start = performance.now()
  if (name === baseName) await buildBase(place.folder)
  else if (typeof name !== 'string') await buildOn(place.folder, name)
  else await buildImage(place.folder, name)
  await publish(name)
  report(`  ${referenceOf(name)} in ${((performance.now() - start) / 1000).toFixed(0)} s`)
}

/** A builder that was killed at a bad moment may have left data with which no daemon starts. */
async function startBuilder(place: Place): Promise<void> {
  unmountAll(builderRoot)
  try {
    await startDaemon({ ...place, dataRoot: builderRoot })
  } catch {
    await discardAll()
    await mkdir(store)
    await startDaemon({ ...place, dataRoot: builderRoot })
  }
}

let publishing: Promise<void> = Promise.resolve()

/** One after the other, or the later would forget the earlier. */
function publish(name: LabImage): Promise<void> {
  publishing = publishing.catch(() => {}).then(() => publishNext(name))
  return publishing
}

async function publishNext(name: LabImage): Promise<void> {
  const before = await readPublished()
  const folder = `published-${Date.now()}`
  await cp(join(builderRoot, 'image'), join(store, folder), { recursive: true, preserveTimestamps: true })
  const next: Published = { folder, recipes: { ...before?.recipes, [referenceOf(name)]: recipeOf(name) } }
  await writeFile(`${currentFile}.next`, JSON.stringify(next, null, 2))
  await rename(`${currentFile}.next`, currentFile)
  await removeOld(folder, before?.folder)
}

/** The one before stays: another process may just be reading it. */
async function removeOld(...keep: readonly (string | undefined)[]): Promise<void> {
  const old = (await readdir(store)).filter((name) => name.startsWith('published-') && !keep.includes(name))
  for (const name of old) await rm(join(store, name), { recursive: true, force: true })
}

/** Held by a program that ends with its input, so with this process, however this ends. */
async function lockStore(): Promise<AsyncDisposable> {
  await mkdir(store, { recursive: true })
  const child = spawn('flock', [`${store.replace(/\/$/, '')}.lock`, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const [held] = await Promise.race([once(child.stdout, 'data'), ended.then(() => [undefined])])
  if (held === undefined) throw new Error('The lock of the image store could not be taken ("flock", of util-linux).')
  return {
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}
