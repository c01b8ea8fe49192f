export interface AcmeAttemptsTable {
  subject: string
  /** JSON. */
  attempts: string
  chance: number
  /** JSON or null. */
  renewal: string | null
}
