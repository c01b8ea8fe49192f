export { type AuthorityOptions, checkAuthority, type KnownAuthority, renewalWindow } from './authority.ts'
export { type Dns01Patience, dns01, usualDnsPatience } from './challenges/dns-01.ts'
export { type Http01Answers, http01 } from './challenges/http-01.ts'
export type { Proof, Solver } from './challenges/solver.ts'
export { type TlsAlpn01Answers, tlsAlpn01 } from './challenges/tls-alpn-01.ts'
export { dnsProviderOf, dnsProviders } from './dns/index.ts'
export type { DnsProvider, DnsProviderKind, ProviderOutside } from './dns/provider.ts'
export type { DnsView } from './dns/view.ts'
export { AcmeError, type AcmeFailure, type AcmeFailureCode } from './failure.ts'
export { type Obtained, type ObtainOptions, type OpenOrder, obtain } from './obtain.ts'
export type { AccountSettings } from './protocol/account.ts'
export { type ExternalAccount, newKey } from './protocol/jws.ts'
export {
  type Attempts,
  afterFailure,
  afterSuccess,
  askedByPerson,
  begun,
  nextAttempt,
  noAttempts,
} from './rules/attempts.ts'
export { directoryOf, knownAuthorities } from './rules/authorities.ts'
export {
  type ChallengeType,
  challengeRefusal,
  isPublicName,
  isWildcard,
  mostNames,
  normalNames,
  type ReachablePorts,
  type Refused,
} from './rules/names.ts'
export { type Lifetime, nextWindowQuestion, type RenewalWindow, renewalTime } from './rules/renewal.ts'
export {
  dueAt,
  mostFailuresPerHour,
  nextDue,
  type Scheduled,
  type Wanted,
  wantedCertificates,
} from './rules/schedule.ts'
