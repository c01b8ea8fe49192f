import { z } from 'zod'

export const branchDatabases = ['clone', 'empty'] as const

export const BranchesSettings = z
  .strictObject({
    secrets: z
      .enum(['none', 'inherit'])
      .describe('Whether they get the secret variables, and may push with the credentials, of the project.'),
    databases: z.enum(branchDatabases).describe('What they begin with: a clone of its data, or none.'),
    max: z.int().min(0).max(50).describe('At most so many. Default: 5.'),
    keepDays: z.int().min(0).max(365).describe('Days until one goes whose branch is gone at the remote. Default: 7.'),
    pullRequests: z.boolean().describe('Whether pull requests get one.'),
  })
  .meta({ id: 'BranchesSettings' })
export const BranchesPatch = BranchesSettings.partial().meta({ id: 'BranchesPatch' })
