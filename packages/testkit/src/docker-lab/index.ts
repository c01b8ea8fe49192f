import { join } from 'node:path'
import { type Daemon, socketOf, startDaemon } from './daemon.ts'
import { type ImageName, images, type LabImage, referenceOf } from './images.ts'
import { clearPlace, type Place, takePlace } from './place.ts'
import { mustRun, type Result, runProgram } from './program.ts'
import { discardImages, ensureImages, provide, publishedNow } from './store.ts'

export { type BuiltImage, type ImageName, imageNames, images, type LabImage } from './images.ts'
export { ensureImages } from './store.ts'

export interface DockerLabOptions {
  /** Images that must be there. Those of other tests may be there too. Default: the bare Debian. */
  readonly images?: readonly LabImage[]
  /** More options for `dockerd`, such as "--live-restore". */
  readonly daemonArgs?: readonly string[]
}

/** A Docker of its own: daemon, containerd, images, networks with addresses of its own. It needs root. */
export interface DockerLab extends AsyncDisposable {
  /** For DOCKER_HOST: "unix:///…". */
  readonly host: string
  readonly socketPath: string
  /** Holds all of it but the images' layers. The daemon's log is `dockerd.log` in it. */
  readonly folder: string
  /** Beginning of all container addresses: "10.83.". */
  readonly addressPrefix: string
  /** Pid of the daemon that runs now, or ran last. */
  pid(): number
  /** Runs `docker ARGS` with this daemon and answers the output without the last line break. Failing is an error. */
  docker(args: readonly string[], input?: string): Promise<string>
  /** The same, but failing is an answer. */
  try(args: readonly string[], input?: string): Promise<Result>
  /** The reference by which a stored image is known, such as "redis:7.0". No registry is ever asked. */
  image(name: ImageName): string
  /** SIGKILL to the daemon and its containerd. Containers run on, as they do when the daemon of a machine crashes. */
  kill(): Promise<void>
  /** Starts it again after `kill`; without `kill` before, it is killed first. */
  restart(): Promise<void>
  /** Ends every container and every process, and removes networks, mounts, control groups and the folder. */
  close(): Promise<void>
}

/** `await using lab = await dockerLab({ images: ['redis'] })`. Up in about two seconds when the images are stored. */
export async function dockerLab(options: DockerLabOptions = {}): Promise<DockerLab> {
  const wanted = [...new Set<LabImage>(['debian', ...(options.images ?? [])])]
  await ensureImages(wanted)
  const seen = await publishedNow()
  try {
    return await start(options, wanted)
  } catch (error) {
    if (!(error instanceof BrokenStore)) throw error
    await discardImages(seen)
    await ensureImages(wanted)
    return start(options, wanted)
  }
}

class BrokenStore extends Error {}

async function start(options: DockerLabOptions, wanted: readonly LabImage[]): Promise<DockerLab> {
  const place = takePlace()
  const close = atExit(place)
  try {
    const dataRoot = join(place.folder, 'data')
    await provide(dataRoot).catch((error) => {
      throw new BrokenStore('The stored images cannot be read.', { cause: error })
    })
    const run = () => startDaemon({ ...place, dataRoot, args: options.daemonArgs ?? [] })
    const lab = labOf(place, await run(), run, close)
    for (const name of wanted)
      if ((await lab.try(['image', 'inspect', referenceOf(name)])).code !== 0)
        throw new BrokenStore(`${referenceOf(name)} is missing.`)
    return lab
  } catch (error) {
    close()
    throw error
  }
}

/** A test that throws or is interrupted must leave nothing to the machine. After SIGKILL the next lab clears up. */
function atExit(place: Place): () => void {
  const clear = () => clearPlace(place)
  process.on('exit', clear)
  return () => {
    process.off('exit', clear)
    clear()
  }
}

function labOf(place: Place, first: Daemon, run: () => Promise<Daemon>, close: () => void): DockerLab {
  let daemon: Daemon | undefined = first
  let pid = first.pid
  const host = `unix://${socketOf(place.folder)}`
  const kill = async () => {
    await daemon?.kill()
    daemon = undefined
  }
  return {
    host,
    socketPath: socketOf(place.folder),
    folder: place.folder,
    addressPrefix: `${place.prefix}.`,
    pid: () => pid,
    docker: async (args, input) => (await mustRun('docker', ['--host', host, ...args], input)).replace(/\n$/, ''),
    try: (args, input) => runProgram('docker', ['--host', host, ...args], input),
    image: (name) => images[name],
    kill,
    async restart() {
      await kill()
      daemon = await run()
      pid = daemon.pid
    },
    close: async () => close(),
    [Symbol.asyncDispose]: async () => close(),
  }
}
