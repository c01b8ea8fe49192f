import { connect } from 'node:net'
import { join } from 'node:path'
import type { ZodError } from 'zod'
import type { RescueAnswer, RescueRequest, RescueResult } from './request.ts'
import { RescueError } from './rescue.ts'

/** Asks the service that runs on a home. */
export async function askService(home: string, request: RescueRequest): Promise<RescueResult> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const peer = connect(join(home, 'server.sock'))
  let text = ''
  peer.setEncoding('utf8').setTimeout(60_000, () => peer.destroy(new Error('it does not answer')))
  peer.on('data', (chunk: string) => {
    text += chunk
  })
  peer.once('error', reject).once('end', () => resolve(text))
  peer.write(`${JSON.stringify(request)}\n`)
  const line = await promise.catch((error: Error) => {
    throw new RescueError(
      `The service that runs on ${home} could not be asked: ${error.message}. Run this as root or as the user of the service, or stop the service and try again.`,
    )
  })
  const answer = read(line)
  if (answer === null)
    throw new RescueError(
      'The service that runs is of a version that cannot do this. Restart it, or stop it and try again.',
    )
  if (!answer.ok) throw new RescueError(answer.detail)
  return answer.result
}

function read(line: string): RescueAnswer | null {
  try {
    return JSON.parse(line) as RescueAnswer
  } catch {
    return null
  }
}

/** The first thing that is wrong with what was typed. */
export function faultOf(error: ZodError): string {
  const issue = error.issues[0]
  return `The ${issue?.path.join('.') || 'command'} ${issue?.message ?? 'is not valid'}`
}
