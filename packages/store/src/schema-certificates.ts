export interface CertificatesTable {
  id: string
  /** `own`, `acme`, `local`, or `authority`. */
  source: string
  /** What it is for: one of each source. */
  subject: string
  /** JSON. */
  names: string
  /** PEM, with its chain. The key is sealed apart. */
  certificate: string
  not_before: string
  not_after: string
  next_renewal: string | null
  /** JSON or null. */
  last_failure: string | null
  created_at: string
}
