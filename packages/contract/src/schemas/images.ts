import { z } from 'zod'
import { Time } from './common.ts'

export const ImageBuildView = z
  .object({
    id: z.string().describe('Identifies the build.'),
    digest: z.string().nullable().describe('The registry’s name for it, where the reference has it.'),
    since: Time.describe('When the workload last began to use it.'),
  })
  .meta({ id: 'ImageBuild' })
export type ImageBuildView = z.infer<typeof ImageBuildView>

export const WorkloadImages = z
  .object({
    workload: z.string(),
    title: z.string(),
    reference: z.string().describe('The image by its name and tag: `postgres:18`.'),
    pinned: z.boolean().describe('Whether it stays with this build, because a person chose it.'),
    current: ImageBuildView.nullable().describe('The build it runs, or ran last; null before its first start.'),
    previous: ImageBuildView.nullable().describe('The build of the same reference before that.'),
  })
  .meta({ id: 'WorkloadImages' })
export type WorkloadImages = z.infer<typeof WorkloadImages>
