import { z } from 'zod'
import { operation } from '../operation.ts'
import { Plan } from '../schemas/operations.ts'
import { Project } from '../schemas/project.ts'
import { admin, change, id, read } from './of-project.ts'

export const getManifestSchema = operation({
  id: 'getManifestSchema',
  method: 'GET',
  path: '/stackquay.schema.json',
  tag: 'Project file',
  summary: 'JSON Schema of a stackquay.yml, for editors',
  description: 'Editors complete and check the file with it.',
  access: { kind: 'public' },
  results: { 200: z.record(z.string(), z.unknown()).meta({ id: 'ManifestSchema' }) },
  problems: [],
})

export const getManifest = operation({
  id: 'getManifest',
  method: 'GET',
  path: '/projects/{id}/manifest',
  tag: 'Project file',
  summary: 'The project as a stackquay.yml; secrets by name only',
  description: 'Applying the answer changes nothing.',
  access: read,
  params: id,
  results: { 200: z.object({ manifest: z.string() }).meta({ id: 'Manifest' }) },
  problems: [],
})

const manifest = z
  .strictObject({
    manifest: z.string().max(200_000),
    prune: z
      .boolean()
      .optional()
      .describe('Also remove what the file does not name. Data and databases stay. Default: false.'),
  })
  .meta({ id: 'ManifestChange' })

export const planManifest = operation({
  id: 'planManifest',
  method: 'POST',
  path: '/projects/{id}/manifest/plan',
  tag: 'Project file',
  summary: 'Plan of applying a stackquay.yml',
  description: 'Writes nothing.',
  access: read,
  params: id,
  body: manifest,
  results: { 200: Plan },
  problems: ['manifest_invalid', 'validation_failed', 'unavailable_here'],
})

export const applyManifest = operation({
  id: 'applyManifest',
  method: 'POST',
  path: '/projects/{id}/manifest/apply',
  tag: 'Project file',
  summary: 'Apply a stackquay.yml; without `prune`, settings that it does not name stay',
  description: 'Answers the project; `dryRun` answers the plan.',
  access: admin,
  params: id,
  query: change,
  body: manifest,
  results: { 200: Project },
  problems: ['manifest_invalid', 'validation_failed', 'busy', 'unavailable_here'],
  audit: 'project.manifest.apply',
  dryRun: true,
})
