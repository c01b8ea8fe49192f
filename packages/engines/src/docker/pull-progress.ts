export interface ProgressMessage {
  readonly stream?: string
  readonly status?: string
  readonly id?: string
  readonly progressDetail?: { readonly current?: number; readonly total?: number }
  readonly error?: string
}

/** One line in so many ms, however many layers report. */
const EVERY_MS = 1000

/** Progress of a pull for people: how many of its layers are there, and how much of what is known to come. */
export async function* pullProgress(
  image: string,
  messages: AsyncIterable<ProgressMessage>,
  now: () => number = () => performance.now(),
): AsyncGenerator<string> {
  const layers = new Map<string, { done: boolean; current: number; total: number }>()
  yield `Getting ${image}\n`
  let toldAt = now()
  for await (const { id, status, progressDetail } of messages) {
    if (id === undefined || status === undefined || /^Pulling from/.test(status)) continue
    const layer = layers.get(id) ?? { done: false, current: 0, total: 0 }
    layers.set(id, layer)
    if (status === 'Downloading') Object.assign(layer, progressDetail)
    if (status === 'Download complete') layer.current = layer.total
    if (status === 'Pull complete' || status === 'Already exists') layer.done = true
    if (now() - toldAt < EVERY_MS) continue
    toldAt = now()
    yield line([...layers.values()])
  }
  yield `Got ${image}\n`
}

function line(layers: readonly { done: boolean; current: number; total: number }[]): string {
  const done = layers.filter((layer) => layer.done).length
  const current = layers.reduce((sum, layer) => sum + layer.current, 0)
  const total = layers.reduce((sum, layer) => sum + layer.total, 0)
  return `${done} of ${layers.length} layers, ${megabytes(current)} of ${megabytes(total)} MB\n`
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1)
