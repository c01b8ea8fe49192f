import { z } from 'zod'
import { Time } from './common.ts'
import { LogLine } from './observe.ts'

const perStep = (text: string) => z.array(z.int()).describe(text)

export const LogStats = z
  .object({
    from: Time.describe('Where the first step begins.'),
    stepSeconds: z.int(),
    countedFrom: Time.describe('Later than `from` when time ran out: what is older is not counted.'),
    partial: z.boolean().describe('Whether time ran out.'),
    levels: z
      .object({
        error: perStep('Lines in each step.'),
        warning: perStep('Warnings.'),
        info: perStep('Information.'),
        debug: perStep('For developers.'),
        none: perStep('Lines that tell no level.'),
      })
      .meta({ id: 'LogLevelCounts' }),
    topErrors: z
      .array(
        z
          .object({
            pattern: z.string().describe('With numbers, ids and times as `<n>`, `<id>`, `<time>`.'),
            search: z.string().describe('Text for `q` that finds them.'),
            text: z.string().describe('The newest of them.'),
            workload: z.string(),
            count: z.int(),
            firstAt: Time.describe('The oldest.'),
            lastAt: Time.describe('The newest.'),
          })
          .meta({ id: 'LogError' }),
      )
      .describe('Most frequent first, at most 20.'),
  })
  .meta({ id: 'LogStats' })
export type LogStats = z.infer<typeof LogStats>

export const FoundLine = LogLine.extend({
  project: z.string().describe('Slug of its project.'),
}).meta({ id: 'FoundLogLine' })
export type FoundLine = z.infer<typeof FoundLine>
export const LogSearch = z
  .object({
    items: z.array(FoundLine).describe('Newest first.'),
    nextCursor: z.string().nullable(),
    partial: z.boolean().describe('Whether time ran out: lines may be missing.'),
    searchedFrom: Time.nullable().describe('How far back; null: all.'),
  })
  .meta({ id: 'LogSearch' })
export type LogSearch = z.infer<typeof LogSearch>
