import { z } from 'zod'
import { operation } from '../operation.ts'
import { Flag, ProjectRef, Wait } from '../schemas/common.ts'
import { envNamePattern } from '../schemas/names.ts'
import { EnvSettings, EnvView, Project } from '../schemas/project.ts'
import { id, operate, read } from './of-project.ts'

const variable = z.object({ id: ProjectRef, name: z.string().regex(envNamePattern).describe('Name of the variable.') })

export const getProjectEnv = operation({
  id: 'getProjectEnv',
  method: 'GET',
  path: '/projects/{id}/env',
  tag: 'Environment',
  summary: 'Environment variables; values of secrets are null',
  description: 'Also names the variables that services and databases add.',
  access: read,
  params: id,
  results: {
    200: z
      .object({ env: z.record(z.string(), EnvView), injected: z.array(z.string()) })
      .meta({ id: 'ProjectVariables' }),
  },
  problems: [],
})

export const getProjectEnvValue = operation({
  id: 'getProjectEnvValue',
  method: 'GET',
  path: '/projects/{id}/env/{name}',
  tag: 'Environment',
  summary: 'One environment variable; with `reveal` the value of a secret too, which is recorded by its name',
  description: 'Without `reveal` a secret has the value null.',
  access: operate,
  params: variable,
  query: z.strictObject({ reveal: Flag.optional().describe('Answer the value of a secret; without it, it is null.') }),
  results: { 200: EnvView.extend({ name: z.string() }).meta({ id: 'EnvValue' }) },
  problems: ['not_found'],
  audit: 'project.env.read',
})

export const putProjectEnv = operation({
  id: 'putProjectEnv',
  method: 'PUT',
  path: '/projects/{id}/env/{name}',
  tag: 'Environment',
  summary: 'Set one environment variable',
  description: 'Workloads that use it restart.',
  access: operate,
  params: variable,
  query: z.strictObject({ wait: Wait }),
  body: EnvSettings.extend({ value: z.string().max(65_536) }).meta({ id: 'EnvPut' }),
  results: { 200: Project },
  problems: ['busy', 'validation_failed'],
  audit: 'project.env.set',
})

export const deleteProjectEnv = operation({
  id: 'deleteProjectEnv',
  method: 'DELETE',
  path: '/projects/{id}/env/{name}',
  tag: 'Environment',
  summary: 'Remove one environment variable',
  description: 'Workloads that use it restart.',
  access: operate,
  params: variable,
  query: z.strictObject({ wait: Wait }),
  results: { 200: Project },
  problems: ['busy'],
  audit: 'project.env.delete',
  removes: 'record',
})
