import { refuse, send } from '@stackquay/client/transport'
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'

/** A mail as it arrived. */
export function mailSource(context: Context, project: string, mail: string): Promise<AsyncIterable<Uint8Array>> {
  return bytesAt(context, `${mailPath(project, mail)}/source`)
}

export function mailAttachment(
  context: Context,
  project: string,
  mail: string,
  index: number,
): Promise<AsyncIterable<Uint8Array>> {
  return bytesAt(context, `${mailPath(project, mail)}/attachments/${index}`)
}

function mailPath(project: string, mail: string): string {
  return `/projects/${encodeURIComponent(project)}/mail/${encodeURIComponent(mail)}`
}

async function bytesAt(context: Context, path: string): Promise<AsyncIterable<Uint8Array>> {
  const connection = await context.connection()
  const response = await send(connection, { method: 'GET', path }, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  return whole(response.body, context.signal)
}

async function* whole(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    signal.throwIfAborted()
    throw new CliError('The mail broke off before its end.', {
      exitCode: exitCodes.unreachable,
      hint: 'Check that the project runs, then try again.',
      cause: error,
    })
  }
}
