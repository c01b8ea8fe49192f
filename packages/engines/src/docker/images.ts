import { type ApplyContext, EngineError, type ImageBuild, type Step, type WorkloadRef } from '@stackquay/engine-api'
import { throwIfAborted } from '../native/errors.ts'
import { findImage } from './create-container.ts'
import type { Daemon } from './daemon.ts'
import { asDockerError, isUnreachable, messageOf, orAbsent } from './errors.ts'
import { findContainer } from './find.ts'
import type { DockerMachine } from './machine.ts'
import { type ProgressMessage, pullProgress } from './pull-progress.ts'
import { type ImageChoice, readChoice, writeChoice } from './record.ts'

/** Makes the image be there, and settles which build of it the workload uses. */
export async function pullStep(
  machine: DockerMachine,
  step: Pick<Step & { do: 'pull' }, 'ref' | 'image' | 'build' | 'newer'>,
  context: ApplyContext,
): Promise<void> {
  const { daemon } = machine
  const { image, newer } = step
  if (!newer && (await chosenImage(daemon, step.ref, image)) !== null) return
  await getImage(machine, step, context)
  await writeChoice(daemon.home, step.ref, { reference: image, id: (await findImage(daemon, image)).Id })
}

/** Makes an image be there, for a workload or for a program that is no workload. */
export async function getImage(
  machine: DockerMachine,
  { image, build, newer }: Pick<Step & { do: 'pull' }, 'image' | 'build' | 'newer'>,
  context: Pick<ApplyContext, 'signal' | 'output'>,
): Promise<void> {
  const { daemon } = machine
  const isThere = async (reference: string) => (await orAbsent(daemon.docker.getImage(reference).inspect())) !== null
  const get = async (reference: string) => {
    const there = await isThere(reference)
    if (!there || (newer && !isImageId(reference))) await pullImage(machine, reference, there, context)
  }
  if (build === null) await get(image)
  else if (newer || !(await isThere(image))) {
    await get(build.base)
    await buildImage(machine, image, build, context)
  }
}

/**
 * The build of an image that the workload has, by its last `pull` or else by its container; null when it has none that is
 * still there, or is to use another image.
 */
export async function chosenImage(daemon: Daemon, ref: WorkloadRef, reference: string): Promise<string | null> {
  const choice = (await readChoice(daemon.home, ref)) ?? (await choiceOfContainer(daemon, ref))
  if (choice?.reference !== reference) return null
  return (await orAbsent(daemon.docker.getImage(choice.id).inspect()))?.Id ?? null
}

async function choiceOfContainer(daemon: Daemon, ref: WorkloadRef): Promise<ImageChoice | null> {
  const found = await findContainer(daemon, ref)
  return found?.description == null ? null : { reference: found.description.image, id: found.info.Image }
}

/** `isThere`: another build of it, or the same, is on this Docker already, and will do when no registry has one. */
async function pullImage(
  { daemon, credentials }: DockerMachine,
  image: string,
  isThere: boolean,
  context: Pick<ApplyContext, 'signal' | 'output'>,
): Promise<void> {
  if (isImageId(image)) throw buildIsGone(image)
  const auth = await credentials(registryOf(image))
  try {
    const progress = await daemon.docker.pull(image, {
      ...(auth === null ? {} : { authconfig: { ...auth, serveraddress: registryOf(image) } }),
      abortSignal: context.signal,
    })
    for await (const text of pullProgress(image, messages(progress))) context.output({ stream: 'stdout', text })
  } catch (error) {
    const failure = pullFailed(image, error, context.signal)
    if (!isThere || !isNowhereElse(failure)) throw failure
    const text = `${failure.message}\nThe build that is on this Docker is taken.\n`
    context.output({ stream: 'stderr', text })
  }
  throwIfAborted(context.signal)
}

/** Offline, and with images that were made here: of those a registry says that it has none. Being refused is another matter. */
function isNowhereElse({ code, retryable }: EngineError): boolean {
  return code === 'image_not_found' || (code === 'image_unavailable' && retryable)
}

async function buildImage(
  { daemon }: DockerMachine,
  image: string,
  build: ImageBuild,
  context: Pick<ApplyContext, 'signal' | 'output'>,
): Promise<void> {
  // Of these Docker knows itself, without a word in the Dockerfile, and it keeps them out of the image.
  const proxies = Object.entries(daemon.network.registries).filter(([name]) => /_proxy$/i.test(name))
  const output = await daemon.docker.buildImage(
    { context: build.folder, src: ['.'] },
    {
      t: image,
      buildargs: { ...Object.fromEntries(proxies), BASE: build.base },
      rm: true,
      forcerm: true,
      abortSignal: context.signal,
    },
  )
  const tail: string[] = []
  try {
    for await (const message of messages(output)) {
      const text = message.stream ?? ''
      if (text === '') continue
      tail.push(...text.split('\n').filter((line) => line.trim() !== ''))
      tail.splice(0, Math.max(0, tail.length - 20))
      context.output({ stream: 'stdout', text })
    }
  } catch (error) {
    throwIfAborted(context.signal)
    if (isUnreachable(error)) throw error
    throw new EngineError('job_failed', `The image ${image} could not be built: ${messageOf(error)}.`, {
      hint: 'Its last output says why; correct that and try again.',
      logTail: tail,
      cause: error,
    })
  }
  throwIfAborted(context.signal)
}

/** Docker's JSON lines. What it reports as failed is thrown: the answer's status was sent long before. */
async function* messages(stream: NodeJS.ReadableStream): AsyncGenerator<ProgressMessage> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk as unknown as Uint8Array, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') yield checked(JSON.parse(line) as ProgressMessage)
  }
  if (rest.trim() !== '') yield checked(JSON.parse(rest) as ProgressMessage)
}

function checked(message: ProgressMessage): ProgressMessage {
  if (message.error !== undefined) throw new Error(message.error)
  return message
}

export function isImageId(image: string): boolean {
  return /^(sha256:)?[0-9a-f]{64}$/.test(image) || /^[0-9a-f]{12}$/.test(image)
}

/** The first part of a name is a registry when it looks like a host. */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? first : 'docker.io'
}

function pullFailed(image: string, error: unknown, signal: AbortSignal): EngineError {
  const known = asDockerError(error, signal)
  if (known.code === 'aborted' || known.code === 'engine_unavailable' || known.code === 'disk_full') return known
  const message = messageOf(error)
  if (/manifest unknown|not found|does not exist|invalid reference|no matching manifest/i.test(message))
    return imageNotFound(image, message, error)
  const isDenied = /denied|unauthorized|authentication required/i.test(message)
  return new EngineError('image_unavailable', `The image ${image} could not be had: ${message}.`, {
    hint: isDenied
      ? 'Give the credentials of its registry.'
      : 'Check that the registry is reached from where Docker runs, then try again.',
    retryable: !isDenied,
    cause: error,
  })
}

/** Builds are named by their ids when a workload is to stay with one. */
function buildIsGone(id: string): EngineError {
  const name = id.replace(/^sha256:/, '').slice(0, 12)
  return new EngineError('image_not_found', `The build ${name} of the image is not on this Docker any more.`, {
    hint: 'Take the latest build instead: a registry knows names and digests, and no ids of Docker’s.',
  })
}

function imageNotFound(image: string, message: string, cause?: unknown): EngineError {
  return new EngineError('image_not_found', `There is no image ${image}. ${message}`, {
    hint: 'Check its name and tag, and whether it may be read without credentials.',
    cause,
  })
}
