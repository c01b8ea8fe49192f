import { z } from 'zod'
import { Time } from './common.ts'
import { LogLine, logLevels } from './observe.ts'

export const LogStats = z
  .object({
    from: Time.describe('Where the first step begins.'),
    stepSeconds: z.int(),
    countedFrom: Time.describe('What is older was not counted.'),
    partial: z.boolean().describe('Whether time ran out.'),
    levels: z
      .record(z.enum([...logLevels, 'none']), z.array(z.int()))
      .describe('Lines in each step; `none` tells no level.'),
    topErrors: z
      .array(
        z
          .object({
            pattern: z.string().describe('Numbers, ids and times are `<n>`, `<id>`, `<time>`.'),
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
