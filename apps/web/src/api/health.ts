import type { HealthCheckTry } from '@stackquay/contract'
import type { CheckPatch } from '../lib/health-form.ts'
import { client } from './client.ts'

export async function tryHealthCheck(project: string, check: CheckPatch): Promise<HealthCheckTry> {
  const input = { params: { id: project }, body: check }
  return client.call('tryHealthCheck', input, { idempotencyKey: crypto.randomUUID() })
}
