import { z } from 'zod'
import { ProblemSchema } from './schemas/common.ts'
import { LogLine, WorkloadStats } from './schemas/observe.ts'
import { EventRecord } from './schemas/system.ts'

/** Frames of our WebSocket streams: JSON text, one object each, all with a growing `seq`. */
export const LogFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int() }),
  /** Lines come in batches: 64 KB or 8 ms, whichever is first. */
  z.object({ type: z.literal('lines'), seq: z.int(), items: z.array(LogLine) }),
  z.object({ type: z.literal('error'), seq: z.int(), problem: ProblemSchema }),
])
export type LogFrame = z.infer<typeof LogFrame>

export const StatsFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int() }),
  z.object({ type: z.literal('stats'), seq: z.int(), items: z.array(WorkloadStats) }),
  z.object({ type: z.literal('error'), seq: z.int(), problem: ProblemSchema }),
])
export type StatsFrame = z.infer<typeof StatsFrame>

export const EventFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int() }),
  z.object({ type: z.literal('event'), seq: z.int(), event: EventRecord }),
  z.object({ type: z.literal('error'), seq: z.int(), problem: ProblemSchema }),
])
export type EventFrame = z.infer<typeof EventFrame>
