import { type FieldError, ProblemError, type PullDatabase, type PullSource } from '@stackquay/contract'
import { pullPlace, pullSecrets, shellLine } from '@stackquay/domain'
import type { ProjectRow, Store } from '@stackquay/store'
import { openS3Remote, openSshRemote, type Remote, readHostKey } from '@stackquay/targets'
import { remoteLookup, requireAddress } from './addresses.ts'
import { stackquayRemote } from './stackquay-remote.ts'
import { walkedArchive } from './walked-archive.ts'

/** Where databases and files are pulled from. Nothing is ever written there. Its texts and bytes may be anybody's. */
export interface PullRemote {
  /** What it is called there, and its size where that can be known. Throws when it is not there. */
  look(from: PullDatabase, signal: AbortSignal): Promise<Looked>
  /** A dump. Ends when it is whole, and throws otherwise. */
  read(from: PullDatabase, signal: AbortSignal): AsyncIterable<Uint8Array>
  lookFiles(folder: string, signal: AbortSignal): Promise<Looked>
  /** A folder as a tar archive, which is not checked yet. `leftOut` hears what is neither file nor folder. */
  archive(folder: string, leftOut: (path: string) => void, signal: AbortSignal): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

export interface Looked {
  readonly name: string
  readonly bytes: number | null
}

/** Files and folders of one pulled folder. */
const mostEntries = 200_000
/** Of those, how many are looked at for a plan, and how long. */
const mostLooked = 20_000
const lookMs = 10_000

/** Throws `TargetError`, or a problem that names the field of the settings. */
export async function openPullRemote(
  row: ProjectRow,
  name: string,
  source: PullSource,
  store: Pick<Store, 'secrets'>,
): Promise<PullRemote> {
  const place = pullPlace(source.from)
  if (place === null) throw new ProblemError('remote_refused', `${source.from} is no address of a source.`)
  const texts = await textsOf(row, name, source, store)
  switch (place.kind) {
    case 'stackquay':
      requireAddress(place.host)
      return stackquayRemote({ origin: place.origin, project: source.project ?? '', token: texts.token ?? '' })
    case 'ssh': {
      const { user, host, port } = place
      requireAddress(host)
      const settings = { user, host, port, lookup: remoteLookup }
      if (source.hostKey === undefined) throw await unknownHostKey(name, settings)
      const credentials = {
        ...(texts.password === undefined ? {} : { password: texts.password }),
        ...(texts.key === undefined ? {} : { privateKey: withEnd(texts.key) }),
        ...(texts.passphrase === undefined ? {} : { privateKeyPassphrase: texts.passphrase }),
      }
      return walked(await openSshRemote({ ...settings, hostKey: source.hostKey }, credentials))
    }
    case 's3': {
      const { bucket, prefix } = place
      const endpoint = source.endpoint ?? null
      if (endpoint !== null) requireAddress(new URL(endpoint).hostname.replace(/^\[|\]$/g, ''))
      const region = source.region ?? 'us-east-1'
      const settings = { endpoint, region, bucket, prefix, pathStyle: endpoint !== null, lookup: remoteLookup }
      const credentials = { accessKeyId: texts.accessKeyId ?? '', secretAccessKey: texts.secretAccessKey ?? '' }
      return walked(await openS3Remote(settings, credentials))
    }
    default:
      return place satisfies never
  }
}

/** A key that was pasted without its last line end is none to the library. */
function withEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}

/** Nothing is said to a machine whose key nobody has looked at. */
async function unknownHostKey(name: string, settings: Parameters<typeof readHostKey>[0]): Promise<ProblemError> {
  const shown = await readHostKey(settings)
  const detail = `${settings.host} shows the key ${shown}. Compare it with what whoever runs the machine says, and write it into the settings: hostKey: "${shown}".`
  return new ProblemError('validation_failed', detail, {
    errors: [{ pointer: `/pull/${name}/hostKey`, code: 'host_key_unknown', detail }],
  })
}

async function textsOf(
  { spec }: ProjectRow,
  name: string,
  source: PullSource,
  { secrets }: Pick<Store, 'secrets'>,
): Promise<Readonly<Record<string, string | undefined>>> {
  const texts: Record<string, string> = {}
  const errors: FieldError[] = []
  for (const [field, variable] of Object.entries(pullSecrets(source))) {
    const known = Object.hasOwn(spec.env, variable) ? spec.env[variable] : undefined
    if (known?.secret === true) texts[field] = (await secrets.reveal(known.ref.secret, known.ref.version)).expose()
    else {
      const what = known === undefined ? 'has no variable' : 'has no secret in the variable'
      const detail = `The project ${what} "${variable}". Set it with "secret: true".`
      errors.push({ pointer: `/pull/${name}/${field}`, code: 'secret_missing', detail })
    }
  }
  const first = errors[0]
  if (first !== undefined) throw new ProblemError('validation_failed', first.detail, { errors })
  return texts
}

function walked(remote: Remote): PullRemote {
  const plain = ({ command, path, newest }: PullDatabase) => ({
    ...{ path, newest },
    command: command === undefined ? undefined : shellLine(command),
  })
  return {
    look: (from, signal) => remote.look(plain(from), signal),
    read: (from, signal) => remote.read(plain(from), signal),
    lookFiles: async (folder, signal) => {
      let bytes = 0
      let entries = 0
      const until = Date.now() + lookMs
      // Whether it is there shows at once. How large a large one is would take as long as fetching it.
      for await (const entry of remote.walk(folder, mostEntries, signal)) {
        entries += 1
        if (entries > mostLooked || Date.now() > until) return { name: folder, bytes: null }
        if (entry.kind === 'file') bytes += entry.size
      }
      return { name: folder, bytes }
    },
    archive: (folder, leftOut, signal) => walkedArchive(remote.walk(folder, mostEntries, signal), leftOut, signal),
    close: () => remote.close(),
  }
}
