import type { Run, RunFrame } from '@stackquay/contract'
import { fillPath, queryString } from './address.ts'
import type { ErrorFrame } from './connection.ts'
import { type FollowOptions, follow } from './follow.ts'
import { routes } from './routes.ts'
import { type ClientOptions, request } from './transport.ts'

export type RunStep = Exclude<RunFrame, ErrorFrame>

export interface FollowRunOptions extends FollowOptions {
  /** Go on after this position; from the beginning unless given. */
  readonly after?: number
  /**
   * Output comes once and in order. `start`, `status` and `result` say how things stand and may come again after the
   * connection was lost. The next frame waits for a promise.
   */
  readonly onFrame: (frame: RunStep) => void | Promise<void>
}

/** Follows a run to its end, whatever happens to the connection. Resolves with the run, or null when the signal aborted first. */
export async function followRun(
  client: ClientOptions,
  project: string,
  run: string,
  options: FollowRunOptions,
): Promise<Run | null> {
  const params = { id: project, run }
  let after = options.after ?? 0
  let last: Run | null = null
  await follow<RunFrame>(
    client,
    {
      path: () => fillPath(routes.watchRun.path, params) + queryString({ after: after === 0 ? undefined : after }),
      onFrame: (frame) => {
        // Moved on when the frame was taken: what was not would be missing after the next connection.
        const move = () => {
          if (frame.type === 'output' || frame.type === 'gap') after = frame.seq
          if (frame.type === 'exit') last = frame.run
        }
        const taken = options.onFrame(frame)
        return taken === undefined ? move() : taken.then(move)
      },
      hasEnded: () => last !== null,
      explain: (signal) =>
        request(client, { ...routes.getRun, path: fillPath(routes.getRun.path, params) }, { signal }),
    },
    options,
  )
  return last
}
