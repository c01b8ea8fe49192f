import type { LookupFunction } from 'node:net'
import { z } from 'zod'
import { AcmeError, quoted } from '../failure.ts'
import { type HttpsCall, httpsRequest } from '../protocol/https-request.ts'
import { jsonOf } from '../protocol/problems.ts'

export interface TxtRecord {
  /** Fully qualified, without a dot at its end. */
  readonly name: string
  readonly value: string
}

/** Both acts may be done twice. Other values of the same name stay as they are: two proofs may share one. */
export interface DnsProvider {
  addTxt(record: TxtRecord, signal: AbortSignal): Promise<void>
  removeTxt(record: TxtRecord, signal: AbortSignal): Promise<void>
}

export interface ProviderOutside {
  /** In place of the system's, where not every address may be connected to. */
  readonly lookup?: LookupFunction | undefined
  readonly now: () => Date
}

/** Who hosts a zone, and how a record comes into it. Nobody outside its folder asks for a kind by its name. */
export interface DnsProviderKind<Schema extends z.ZodObject = z.ZodObject> {
  readonly name: string
  readonly label: string
  /** What is secret is `writeOnly`: sealed, and never answered. */
  readonly settings: Schema
  open(settings: z.infer<Schema>, outside: ProviderOutside): DnsProvider
}

/** Keeps the settings' types inside a kind. */
export function dnsProviderKind<Schema extends z.ZodObject>(kind: DnsProviderKind<Schema>): DnsProviderKind {
  return kind as unknown as DnsProviderKind
}

export function secretSetting(description: string, most = 500) {
  return z
    .string()
    .min(1)
    .max(most)
    .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces')
    .meta({ description, writeOnly: true })
}

export function textSetting(description: string, most = 255) {
  return z
    .string()
    .min(1)
    .max(most)
    .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces')
    .meta({ description })
}

/** Where the API of a provider is. Another one is for a compatible service, and for tests. */
export function endpointSetting(usual: string) {
  return z
    .url({ protocol: /^https?$/ })
    .max(500)
    .default(usual)
    .meta({ description: 'The API.' })
}

/** The names above a record, longest first: one of them is the zone. */
export function zonesAbove(name: string): readonly string[] {
  const labels = name.split('.')
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
}

/** The record's name in its zone, `@` for the zone itself. */
export function nameInZone(name: string, zone: string): string {
  return name === zone ? '@' : name.slice(0, -zone.length - 1)
}

export function providerFailed(who: string, why: unknown, cause?: unknown): AcmeError {
  return new AcmeError('dns_provider_failed', `${who}: ${quoted(why)}`, { cause })
}

export interface ProviderAnswer {
  readonly status: number
  readonly text: string
  readonly json: unknown
}

/** A call of a provider's API. What went wrong on the way is the provider's failure, and holds no secret. */
export async function callProvider(
  who: string,
  call: HttpsCall,
  { lookup }: ProviderOutside,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  try {
    const { status, body } = await httpsRequest(call, { lookup }, signal)
    return { status, text: body.toString(), json: jsonOf(body) }
  } catch (error) {
    if (error instanceof AcmeError) throw providerFailed(who, error.message, error)
    throw error
  }
}
