import { operation } from '../operation.ts'
import { HealthCheckPatch, HealthCheckTry } from '../schemas/health-checks.ts'
import { id, operate } from './of-project.ts'

export const tryHealthCheck = operation({
  id: 'tryHealthCheck',
  method: 'POST',
  path: '/projects/{id}/health-check/try',
  tag: 'Projects',
  summary: 'Try a health check now, without saving it',
  description: 'What is absent is as saved. Asks the server of the project alone, follows no redirect.',
  access: operate,
  params: id,
  body: HealthCheckPatch,
  results: { 200: HealthCheckTry },
  problems: ['validation_failed', 'not_running'],
})
