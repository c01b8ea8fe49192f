import { RUN_MARKER } from '../../native/process-table.ts'
import { createFrameReader } from '../wire/frames.ts'
import { ask, RefusedRequest, takeOver } from '../wire/request.ts'
import type { Target } from '../wire/target.ts'

/** Every shell, and what even the smallest images have beside it. */
const SCRIPT = `for file in /proc/[0-9]*/environ; do
  if tr '\\0' '\\n' <"$file" 2>/dev/null | grep -qxF "$1"; then
    pid=\${file#/proc/}; kill -s "$2" "\${pid%/environ}" 2>/dev/null && echo "\${pid%/environ}"
  fi
done`

/**
 * Sends a signal to everything in a container that carries the marker, whatever group it is in. Answers how many there
 * were; none when the container does not run, or has no shell to ask.
 */
export async function signalMarked(
  target: Target,
  where: { readonly container: string; readonly user: string; readonly marker: string },
  signal: string,
): Promise<number> {
  const body = {
    AttachStdout: true,
    Cmd: ['/bin/sh', '-c', SCRIPT, 'signal', `${RUN_MARKER}=${where.marker}`, signal.replace(/^SIG/, '')],
    User: where.user,
  }
  try {
    const { Id } = (await ask(target, 'POST', `/containers/${where.container}/exec`, { body })) as { Id: string }
    const stream = await takeOver(target, `/exec/${Id}/start`, { body: { Detach: false, Tty: false } })
    const frames = createFrameReader()
    let printed = ''
    for await (const bytes of stream)
      for (const chunk of frames(bytes as Buffer)) printed += chunk.bytes.toString('latin1')
    return printed.split('\n').filter((line) => /^\d+$/.test(line)).length
  } catch (error) {
    if (error instanceof RefusedRequest && (error.statusCode === 404 || error.statusCode === 409)) return 0
    throw error
  }
}
