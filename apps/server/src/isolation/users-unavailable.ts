import { EngineError } from '@stackquay/engine-api'

/** Why a project cannot run: there is no user for it. */
export function usersUnavailable(message: string, hint: string): EngineError {
  return new EngineError('engine_unavailable', message, { hint })
}
