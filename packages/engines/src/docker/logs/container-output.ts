import type { Socket } from 'node:net'
import { FRAME_HEADER, STDERR } from '../wire/frames.ts'
import { ask, open, RefusedRequest, send } from '../wire/request.ts'
import type { Target } from '../wire/target.ts'
import type { CollectorState, StreamState } from './collector-state.ts'
import { TIME } from './message-reader.ts'

/**
 * Times of the two streams are taken apart from each other and not in the order in which messages are kept: so far back, nothing
 * is in doubt any more.
 */
const MARGIN_SECONDS = 5

type Reached = Pick<CollectorState, 'stdout' | 'stderr'>

/** All output from shortly before what is stored, and what comes, until the container ends. */
export function followOutput(target: Target, container: string, { stdout, stderr }: Reached): Promise<Socket> {
  const latest = [stdout.time, stderr.time].sort()[1] ?? ''
  const since = latest === '' ? '' : `&since=${Math.floor(Date.parse(latest) / 1000) - MARGIN_SECONDS}`
  return open(target, 'GET', `/containers/${container}/logs?follow=1&stdout=1&stderr=1&timestamps=1${since}`)
}

/** Whether the newest message that Docker holds is stored. It is read from the end: that costs little. */
export async function hasLastMessage(target: Target, container: string, reached: Reached): Promise<boolean> {
  const path = `/containers/${container}/logs?stdout=1&stderr=1&timestamps=1&tail=1`
  const { body } = await send(target, 'GET', path)
  if (body.length < FRAME_HEADER + TIME) return true
  const stored: StreamState = body[0] === STDERR ? reached.stderr : reached.stdout
  return body.toString('latin1', FRAME_HEADER, FRAME_HEADER + TIME) <= stored.time
}

const OVER = new Set(['exited', 'dead', 'created'])

/**
 * `gone`: removed, with all that it printed. One that was made and never started, by a process that was killed in between, has
 * printed all that it ever will: waiting for its last message would last forever.
 */
export async function phaseOf(target: Target, container: string): Promise<'runs' | 'ended' | 'gone'> {
  try {
    const { State } = (await ask(target, 'GET', `/containers/${container}/json`)) as { State: { Status: string } }
    return OVER.has(State.Status) ? 'ended' : 'runs'
  } catch (error) {
    if (error instanceof RefusedRequest && error.statusCode === 404) return 'gone'
    throw error
  }
}

/** A moment before its last start, ms since 1970: all that it has printed since then is later. Null when it is gone. */
export async function timeBeforeStart(target: Target, container: string): Promise<number | null> {
  try {
    return momentBeforeStart((await ask(target, 'GET', `/containers/${container}/json`)) as StartedContainer)
  } catch (error) {
    if (error instanceof RefusedRequest && error.statusCode === 404) return null
    throw error
  }
}

export interface StartedContainer {
  readonly Created: string
  readonly State: { readonly Running: boolean; readonly FinishedAt: string }
}

/**
 * The end of the run before, or when it was made. The time of its start does not help: Docker notes that a moment after the program has
 * begun to print, and of a quick one even after it has ended. So only while it runs its end is surely that of the run before.
 */
export function momentBeforeStart({ Created, State }: StartedContainer): number {
  const created = Date.parse(Created)
  const finished = Date.parse(State.FinishedAt)
  return State.Running && finished > created ? finished : created
}
